"""Scale-out: users join a system at its limit, and it adds instances by itself.

Source: ETSI GS NFV-PER 001 clause C.1.2.1.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import computed_field

from nodrop.analysis.phase_counts import PhaseCounts, compute_phase_counts
from nodrop.model.base import Value
from nodrop.model.procedure import ScaleOutPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.units import format_count, format_pps, format_ratio, format_seconds

BASELINE = "baseline"
"""Variant of the run that searches the load of the existing users."""
BASELINE_GOAL = "SLA"
SECOND_S = 1.0
"""The SLA is judged in whole seconds from the growth."""
LOWER_RATIO = 0.98
"""Load of the next attempt after one whose existing users alone missed the SLA."""
SIMILAR_RATIO = 0.001
"""Largest difference between the loss ratios of new and existing users that counts as similar."""
DEGRADATION_MAX = 0.05
"""Largest increase of the response of existing users that counts as unaffected."""
HOLD_MIN_S, SETTLE_MIN_S = 600.0, 60.0
"""Times of clause C.1.2.1."""


class UserService(Value):
    """What a group of users was served in a phase of a trial."""

    user_count: int
    offered_count: int
    lost_count: int
    response_ns: float | None
    """Mean latency, of both directions together where users send in both; None if no frame arrived."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def success_ratio(self) -> float:
        """Share of the frames that arrived."""
        return 1 - self.lost_count / self.offered_count if self.offered_count else 0.0


class ScaleOutStep(Value):
    """One growth: the existing users before it, existing and new ones during it."""

    run_id: str
    growth_ratio: float
    user_rate_pps: float
    """Load of a user in each direction."""
    before: UserService
    existing: UserService
    new: UserService
    lost_count: int
    """Frames lost from the growth until the new users left."""
    detected_s: float | None
    """Time from the growth until an instance was started; None if none was, or if that is not known."""
    restored_s: float | None
    """Time from the growth until the end of the last second that missed the SLA; 0: none did; None: the last did."""
    is_overload: bool = False
    """Whether an instance was started before the growth."""
    is_lost_known: bool = True
    """Whether every lost frame has a place in the timeline; if not, counts of lost frames are lower bounds."""
    is_relapse: bool = False
    """Whether a second met the SLA between two that missed it."""
    is_suspect: bool = False
    """Whether tester or host may have affected the run."""
    instance_count: int | None
    """Instances at the end of the growth; None if unknown."""
    added_count: int
    """Instances added by then and still in service."""
    scale_in_s: float | None
    """Time from the departure of the new users until the first instance went out of service; None if none did."""
    return_lost_count: int
    """Frames lost after the departure."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def degradation_ratio(self) -> float | None:
        """Increase of the response of existing users; None if unknown."""
        before, after = self.before.response_ns, self.existing.response_ns
        return (after - before) / before if before and after is not None else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def efficacy(self) -> float | None:
        """Users added within the SLA for each added instance, in units of the existing ones; 1: as many as these."""
        if not self.added_count:
            return None
        return self.new.user_count / self.added_count / self.before.user_count if self.restored_s is not None else 0.0


class ScaleOutReport(Value):
    """What a scale-out procedure found."""

    plan: ScaleOutPlan
    user_rate_pps: float | None
    """Load of a user in each direction; None before the baseline is known."""
    steps: tuple[ScaleOutStep, ...]
    overloads: tuple[ScaleOutStep, ...] = ()
    """Runs that do not count: their existing users alone were too many before the growth."""
    undecided: tuple[ScaleOutStep, ...] = ()
    """Runs that do not count: tester or host may be why a restored SLA was missed again."""
    latest_unused_count: int = 0
    """Runs since the last one that counts."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        if not self.steps:
            return "No growth was measured."
        users = format_count(self.plan.user_count, "user")
        missed = [step for step in self.steps if step.restored_s is None]
        hold = f"within {format_seconds(self.plan.hold_s)}"
        if len(missed) == len(self.steps):
            return f"With {_list_growths(missed)} more than {users}, the SLA was not restored {hold}."
        served = [step for step in self.steps if step.restored_s is not None]
        restored_s = max(step.restored_s or 0.0 for step in served)
        outcome = f"restored after at most {format_seconds(restored_s)}" if restored_s else "met in every second"
        others = f"; with {_list_growths(missed)}, it was not restored {hold}" if missed else ""
        return f"With {_list_growths(served)} more than {users}, the SLA was {outcome}{others}."


class ScaleOutProcedure(Procedure):
    """Finds the load of the existing users, then lets more of them join in each run."""

    plan: ScaleOutPlan

    def __init__(self, plan: ScaleOutPlan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the baseline, then a run for each growth; None at the end."""
        report = build_scale_out_report(self.plan, results)
        if report.latest_unused_count > RETRY_MAX:
            return None
        if report.user_rate_pps is None:
            return RunRequest(make_baseline_settings(self.plan), BASELINE, 1, 1)
        done = {step.growth_ratio for step in report.steps}
        remaining = [ratio for ratio in self.plan.growth_ratios if ratio not in done]
        if not remaining:
            return None
        settings = make_growth_settings(self.plan, report.user_rate_pps, remaining[0])
        return RunRequest(settings, name_step(remaining[0]), 1, 1)

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why a growth was not measured."""
        report = build_scale_out_report(self.plan, results)
        if len(report.steps) == len(self.plan.growth_ratios):
            return None
        if report.user_rate_pps is None:
            return "the search found no load that the existing users may have; write scale_out.user_rate"
        last_id = results[-1].run_id if results else ""
        if report.overloads and report.overloads[-1].run_id == last_id:
            rate = format_pps(report.overloads[-1].user_rate_pps)
            return (
                f"the existing users alone lose too much at {rate} each, so that no growth can be measured; write a "
                "lower scale_out.user_rate"
            )
        runs = format_count(report.latest_unused_count, "run")
        if report.undecided and report.undecided[-1].run_id == last_id:
            return (
                f"{runs} in a row do not count, as the tester or other work may be why a restored SLA was missed "
                "again; stop other work, or raise scale_out.loss"
            )
        return f"{runs} in a row did not measure a growth; 'nodrop show' has their reasons"

    def list_samples(self) -> Sequence[RunRequest]:
        """Return a run of each kind."""
        first = self.request_run(())
        ratio = self.plan.growth_ratios[0]
        growth = RunRequest(make_growth_settings(self.plan, self.plan.user_rate_pps or 1.0, ratio), "", 1, 1)
        return [growth] if first is None else [first, growth]

    def describe_extent(self) -> str:
        """Return the runs."""
        plan = self.plan
        runs = f"{format_count(len(plan.growth_ratios), 'run')} of {format_seconds(compute_trial_s(plan))}"
        search = "a search, then " if plan.user_rate_pps is None else ""
        growths = ", ".join(format_ratio(ratio) for ratio in plan.growth_ratios)
        return f"{search}{runs}: {format_count(plan.user_count, 'user')}, joined by {growths}"


def name_step(growth_ratio: float) -> str:
    """Return the variant of the run of a growth."""
    return f"+{format_ratio(growth_ratio)} users"


def compute_trial_s(plan: ScaleOutPlan) -> float:
    """Return the duration of the trial of a growth."""
    return plan.settle_s + plan.hold_s + plan.return_s


def make_baseline_settings(plan: ScaleOutPlan) -> dict[str, Any]:
    """Return the configuration keys of the search for the load of the existing users, without scaling."""
    return {
        "goals": {BASELINE_GOAL: plan.loss_ratio_max},
        "rate": "ndr_pdr",
        "traffic.streams": plan.user_count,
        "flow_count": plan.user_count * plan.direction_count,
        "search.final_trial_duration": plan.settle_s,
        "pool.scale_out_loss": None,
        "pool.scale_in_rate": None,
    }


def make_growth_settings(plan: ScaleOutPlan, user_rate_pps: float, growth_ratio: float) -> dict[str, Any]:
    """Return the configuration keys of the run of a growth."""
    user_count = plan.user_count + plan.count_new_users(growth_ratio)
    load_pps = user_rate_pps * plan.direction_count
    settings: dict[str, Any] = {
        "rate": f"{user_count * load_pps / 1e3:.9g}kpps",
        "duration": compute_trial_s(plan),
        "traffic.streams": user_count,
        "flow_count": user_count * plan.direction_count,
        "trial_events": [
            f"0s streams {plan.user_count}",
            f"{plan.settle_s:.9g}s streams {user_count}",
            f"{plan.settle_s + plan.hold_s:.9g}s streams {plan.user_count}",
        ],
    }
    if plan.scales_in_pool:
        settings["pool.scale_in_rate"] = load_pps * (plan.user_count + (user_count - plan.user_count) / 2)
    return settings


def build_scale_out_report(plan: ScaleOutPlan, results: Sequence[RunResult]) -> ScaleOutReport:
    """Evaluate the runs of a procedure so far; those that failed, or missed the SLA before the growth, do not count."""
    user_rate_pps, unused_count = plan.user_rate_pps, 0
    steps: list[ScaleOutStep] = []
    overloads: list[ScaleOutStep] = []
    undecided: list[ScaleOutStep] = []
    for result in results:
        is_used = False
        if result.plan.variant == BASELINE:
            user_rate_pps = _find_user_rate(plan, result)
            is_used = user_rate_pps is not None
        elif step := _evaluate_run(plan, result):
            if step.is_overload or not _meets(plan, step.before):
                overloads.append(step)
                if user_rate_pps and plan.user_rate_pps is None:
                    user_rate_pps *= LOWER_RATIO
            elif step.is_relapse and step.is_suspect:
                undecided.append(step)
            else:
                steps.append(step)
                is_used = True
        unused_count = 0 if is_used else unused_count + 1
    return ScaleOutReport(
        plan=plan,
        user_rate_pps=user_rate_pps,
        steps=tuple(steps),
        overloads=tuple(overloads),
        undecided=tuple(undecided),
        latest_unused_count=unused_count,
    )


def list_cautions(report: ScaleOutReport) -> Iterator[str]:
    """Yield what speaks against the figures, and growths that did not serve all users alike."""
    if report.overloads:
        runs = format_count(len(report.overloads), "run does", "runs do")
        yield f"{runs} not count: the existing users alone lost too much before the growth, or started an instance"
    if report.undecided:
        runs = format_count(len(report.undecided), "run does", "runs do")
        yield f"{runs} not count: the tester or other work may be why a restored SLA was missed again there"
    for step in report.steps:
        growth = format_ratio(step.growth_ratio)
        difference = abs(step.new.success_ratio - step.existing.success_ratio)
        if difference > SIMILAR_RATIO:
            existing, new = (format_ratio(1 - each.success_ratio) for each in (step.existing, step.new))
            yield f"+{growth}: existing users lost {existing} of their frames, new ones {new}"
        if not step.is_lost_known:
            yield f"+{growth}: more gaps than the tester records; counts of lost frames are lower limits"
        if step.added_count and step.scale_in_s is None:
            yield f"+{growth}: the added instances stayed in service after the users had left"


def list_deviations(report: ScaleOutReport, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the runs deviate from the clause, each with its code."""
    plan = report.plan
    suts = find_local_suts(results)
    if suts:
        yield ISOLATION_DEVIATION
    if "pool" in suts:
        yield "V-STAND-IN: instances of nodrop's layer 2 forwarder and its load balancer stand in for the system"
    yield "V-STAND-IN: a stream of frames stands for the transactions of a user"
    if plan.hold_s < HOLD_MIN_S or plan.settle_s < SETTLE_MIN_S:
        yield (
            f"V-WAIT: {format_seconds(plan.settle_s)} before a growth and {format_seconds(plan.hold_s)} after it, "
            f"less than {format_seconds(SETTLE_MIN_S)} and {format_seconds(HOLD_MIN_S)}"
        )


def _list_growths(steps: Sequence[ScaleOutStep]) -> str:
    *before, last = [format_ratio(step.growth_ratio) for step in steps]
    return f"{', '.join(before)} and {last}" if before else last


def _meets(plan: ScaleOutPlan, service: UserService) -> bool:
    return service.lost_count <= plan.loss_ratio_max * service.offered_count


def _find_user_rate(plan: ScaleOutPlan, result: RunResult) -> float | None:
    """Return the load of a user at the lower bound of the search, for each direction."""
    goal = next((each for each in result.goals if each.goal.label == BASELINE_GOAL), None)
    if goal is None or goal.lower is None or not goal.is_resolved or result.status is not Status.COMPLETE:
        return None
    return goal.lower.load_pps / plan.user_count / plan.direction_count


def _evaluate_run(plan: ScaleOutPlan, result: RunResult) -> ScaleOutStep | None:
    trial = result.fixed_trial
    if trial is None or result.status is not Status.COMPLETE:
        return None
    phases = compute_phase_counts(trial)
    if len(phases) != len(("before", "existing", "new", "after")):
        return None
    before, existing, new, after = phases
    growth_s, departure_s = existing.begin_s, after.begin_s
    outs, ins = (
        [event for event in trial.events if event.name.startswith(action)] for action in ("scale-out", "scale-in")
    )
    added_count = sum(event.end_s < departure_s for event in outs) - sum(event.end_s < departure_s for event in ins)
    new_count = new.stream_count // plan.direction_count
    growth_ratio = next(ratio for ratio in plan.growth_ratios if plan.count_new_users(ratio) == new_count)
    misses = _list_misses(plan, trial, growth_s, departure_s)
    return ScaleOutStep(
        run_id=result.run_id,
        growth_ratio=growth_ratio,
        user_rate_pps=trial.trial.load_phases[0].loads_pps[0],
        before=_build_service(plan, before),
        existing=_build_service(plan, existing),
        new=_build_service(plan, new),
        lost_count=existing.lost_count + new.lost_count,
        detected_s=next((event.begin_s - growth_s for event in outs if event.begin_s >= growth_s), None),
        restored_s=_compute_restored_s(misses),
        is_overload=any(event.begin_s < growth_s for event in outs),
        is_lost_known=all(phase.is_lost_known for phase in phases),
        is_relapse=_has_relapse(misses),
        is_suspect=trial.validity.verdict is not ValidityStatus.VALID,
        instance_count=_count_running(result, added_count),
        added_count=added_count,
        scale_in_s=next((event.begin_s - departure_s for event in ins if event.begin_s >= departure_s), None),
        return_lost_count=after.lost_count,
    )


def _count_running(result: RunResult, added_count: int) -> int | None:
    balancer = result.plan.lab.balancer
    return balancer.running_count + added_count if balancer else None


def _build_service(plan: ScaleOutPlan, counts: PhaseCounts) -> UserService:
    return UserService(
        user_count=counts.stream_count // plan.direction_count,
        offered_count=counts.offered_count,
        lost_count=counts.lost_count,
        response_ns=counts.latency.mean_ns * plan.direction_count if counts.latency else None,
    )


def _list_misses(plan: ScaleOutPlan, trial: TrialResult, begin_s: float, end_s: float) -> list[bool]:
    """Return for each second from the growth to the departure whether too many of the frames sent in it were lost."""
    lost_counts = [0.0] * max(1, math.ceil((end_s - begin_s) / SECOND_S))
    for stream in trial.streams:
        for run in stream.loss_timeline:
            # Frames without one before or after them were lost from the begin of the stream, or to its end.
            first_s = run.before.sent_ns / 1e9 if run.before else (begin_s if stream.change_sequences[0] == 0 else 0.0)
            last_s = run.after.sent_ns / 1e9 if run.after else trial.duration_s
            for number in range(run.count):
                sent_s = first_s + (last_s - first_s) * (number + 1) / (run.count + 1)
                if begin_s <= sent_s < end_s:
                    lost_counts[int((sent_s - begin_s) / SECOND_S)] += 1
    load_pps = sum(trial.trial.load_phases[1].loads_pps)
    return [lost_count > plan.loss_ratio_max * load_pps * SECOND_S for lost_count in lost_counts]


def _compute_restored_s(misses: Sequence[bool]) -> float | None:
    """Return the end of the last second that missed the SLA; 0 if none did, None if the last one did."""
    if True not in misses:
        return 0.0
    return None if misses[-1] else (len(misses) - misses[::-1].index(True)) * SECOND_S


def _has_relapse(misses: Sequence[bool]) -> bool:
    """Return whether a second met the SLA between two that missed it."""
    return sum(misses) > 0 and False in misses[misses.index(True) : len(misses) - misses[::-1].index(True)]
