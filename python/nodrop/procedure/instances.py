"""The most instances of a VNF that forward at once within an SLA, the figure that compares hypervisors.

Source: ETSI GS NFV-PER 001 clause C.3.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import computed_field

from nodrop.model.base import Value
from nodrop.model.chain_counts import ChainCounts, count_by_chain
from nodrop.model.procedure import InstancesPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.units import format_count, format_pps, format_ratio, format_seconds, format_time_limit

LATENCY_PERCENTILE = 99.0
CONFIRMATION = "confirmation"
OFFERED_RATIO_MIN = 0.99
"""Least share of the load that a run must send to count."""
CONFIRMATION_MIN_S = 60.0
"""Duration of a confirmation without a deviation."""


class InstancesStep(Value):
    """A run with a number of instances, each with its own chain of the path."""

    run_id: str
    instance_count: int
    is_confirmation: bool
    duration_s: float
    offered_count: int
    lost_count: int
    loss_ratio: float
    """Largest loss ratio of an instance."""
    latency_ns: float | None
    """Largest 99th percentile of the latency of an instance, in either direction; None if unknown."""
    miss_count: int
    """Instances that miss the SLA."""
    is_suspect: bool
    """Whether tester or host may be why the SLA is missed."""
    is_invalid: bool
    """Whether the counts do not represent the system, for example as the tester sent less than the load."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def meets_sla(self) -> bool:
        """Whether all instances meet the SLA."""
        return not self.miss_count

    @property
    def is_undecided(self) -> bool:
        """Whether tester or host may be why the SLA is missed, or met."""
        return self.is_invalid or (self.is_suspect and not self.meets_sla)


class InstancesReport(Value):
    """What a procedure of instances found."""

    plan: InstancesPlan
    steps: tuple[InstancesStep, ...]
    """Runs that count, in order."""
    undecided: tuple[InstancesStep, ...] = ()
    """Runs that do not count: tester or host may be why the SLA is missed, or met."""
    latest_unused_count: int = 0
    """Runs since the last one that counts: failed or undecided."""

    @property
    def lower_count(self) -> int:
        """The most instances that meet the SLA in every run; 0: not even one does."""
        upper_count = self.upper_count
        return max(
            (step.instance_count for step in self.steps if not upper_count or step.instance_count < upper_count),
            default=0,
        )

    @property
    def upper_count(self) -> int | None:
        """The fewest instances that miss the SLA in a run; None if none did."""
        return min((step.instance_count for step in self.steps if not step.meets_sla), default=None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def instances_within_sla(self) -> int | None:
        """The most instances that meet the SLA, confirmed; None if the procedure has not found them."""
        if self.upper_count == 1:
            return 0
        confirmed = {step.instance_count for step in self.steps if step.is_confirmation and step.meets_sla}
        is_final = self.lower_count == self.plan.instance_count_max or self.upper_count == self.lower_count + 1
        return self.lower_count if is_final and self.lower_count in confirmed else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        load = describe_load(self.plan)
        count, upper_count = self.instances_within_sla, self.upper_count
        if count is None:
            if not self.steps:
                return "No number of instances was measured."
            known = f"{format_count(self.lower_count, 'instance')} met the SLA" if self.lower_count else ""
            missed = f"{format_count(upper_count, 'instance')} missed it" if upper_count else ""
            return f"The search is incomplete: with {load}, {' and '.join(filter(None, (known, missed)))}."
        if not count:
            return f"One instance with {load} misses the SLA."
        limit = f"; {upper_count} do not" if upper_count else ", the most that instances.max allows"
        verb = "meets" if count == 1 else "meet"
        return f"{format_count(count, 'instance')} with {load} {verb} the SLA{limit}."


class InstancesProcedure(Procedure):
    """Doubles the instances while they meet the SLA, bisects, and confirms the result in a longer run."""

    plan: InstancesPlan

    def __init__(self, plan: InstancesPlan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the next number of instances; None at the end."""
        report = build_instances_report(self.plan, results)
        if report.latest_unused_count > RETRY_MAX or report.instances_within_sla is not None:
            return None
        count, is_confirmation = _choose_count(report)
        settings = make_settings(self.plan, count, is_confirmation=is_confirmation)
        return RunRequest(settings, name_step(count, is_confirmation=is_confirmation), 1, 1)

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why the most instances are unknown."""
        report = build_instances_report(self.plan, results)
        if report.instances_within_sla is not None:
            return None
        return (
            f"{format_count(report.latest_unused_count, 'run')} in a row do not count, as the tester or other work on "
            "this machine may be why the SLA is missed; stop other work, write a lower instances.rate, or raise "
            "instances.latency"
        )

    def describe_extent(self) -> str:
        """Return the runs."""
        plan = self.plan
        instances = format_count(plan.instance_count_max, "instance")
        duration, confirmation = format_seconds(plan.duration_s), format_seconds(plan.confirmation_s)
        return (
            f"runs of {duration} with 1 to {instances}, {describe_load(plan)}, and one of {confirmation} with the most "
            f"that meet the SLA: {describe_sla(plan)}"
        )


def describe_load(plan: InstancesPlan) -> str:
    """Return the load of an instance: `10.00 kpps each way`, `10.00 kpps`."""
    return format_pps(plan.load_pps) + (" each way" if plan.direction_count == 2 else "")


def describe_sla(plan: InstancesPlan) -> str:
    """Return the limits of the SLA: `loss up to 0.1 %, p99 latency up to 10 ms`."""
    latency = format_time_limit(plan.latency_max_s)
    return f"loss up to {format_ratio(plan.loss_ratio_max)}, p99 latency up to {latency}"


def name_step(instance_count: int, *, is_confirmation: bool) -> str:
    """Return the variant of a run."""
    return format_count(instance_count, "instance") + (f", {CONFIRMATION}" if is_confirmation else "")


def make_settings(plan: InstancesPlan, instance_count: int, *, is_confirmation: bool) -> dict[str, Any]:
    """Return the configuration keys of a run."""
    return {
        "chains": instance_count,
        "rate": f"{instance_count * plan.load_pps * plan.direction_count / 1e3:.9g}kpps",
        "duration": plan.confirmation_s if is_confirmation else plan.duration_s,
    }


def build_instances_report(plan: InstancesPlan, results: Sequence[RunResult]) -> InstancesReport:
    """Evaluate the runs of a procedure so far; those that failed or are undecided do not count."""
    steps, undecided, unused_count = [], [], 0
    for result in results:
        step = _evaluate_run(plan, result)
        if step and not step.is_undecided:
            steps.append(step)
            unused_count = 0
        else:
            undecided += [step] if step else []
            unused_count += 1
    return InstancesReport(plan=plan, steps=tuple(steps), undecided=tuple(undecided), latest_unused_count=unused_count)


def list_cautions(report: InstancesReport) -> Iterator[str]:
    """Yield what speaks against the figure."""
    if report.undecided:
        runs = format_count(len(report.undecided), "run does", "runs do")
        yield f"{runs} not count: the tester or other work may be why the SLA is missed there"
    if any(step.meets_sla and step.latency_ns is None for step in report.steps):
        yield "the latency of the instances was not measured, so that the SLA covers lost frames only"
    if report.instances_within_sla is not None and not report.upper_count:
        yield "no number of instances misses the SLA; write a higher instances.max or instances.rate"


def list_deviations(report: InstancesReport, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the runs deviate from the clause, each with its code."""
    suts = find_local_suts(results)
    if suts:
        yield ISOLATION_DEVIATION
        yield "V-STAND-IN: processes stand for VMs, and the kernel's scheduler for the hypervisor"
    if report.plan.confirmation_s < CONFIRMATION_MIN_S:
        yield (
            f"V-DUR: the confirmation takes {format_seconds(report.plan.confirmation_s)}, less than "
            f"{format_seconds(CONFIRMATION_MIN_S)}"
        )


class _NextCount(NamedTuple):
    """Instances of the next run."""

    instance_count: int
    is_confirmation: bool


def _choose_count(report: InstancesReport) -> _NextCount:
    lower_count, upper_count = report.lower_count, report.upper_count
    if upper_count is None:
        if lower_count == report.plan.instance_count_max:
            return _NextCount(lower_count, True)
        return _NextCount(min(max(2 * lower_count, 1), report.plan.instance_count_max), False)
    if upper_count == lower_count + 1:
        return _NextCount(lower_count, True)
    return _NextCount((lower_count + upper_count) // 2, False)


class _Service(NamedTuple):
    """The frames of an instance, in both directions."""

    offered_count: int
    lost_count: int
    latency_ns: float | None
    """Largest 99th percentile of a direction; None if it was not measured, or no frame arrived."""

    @property
    def loss_ratio(self) -> float:
        """Share of frames lost; 1 if none was sent."""
        return self.lost_count / self.offered_count if self.offered_count else 1.0

    def meets(self, plan: InstancesPlan) -> bool:
        """Return whether the frames meet the SLA."""
        return self.loss_ratio <= plan.loss_ratio_max and (self.latency_ns or 0.0) <= plan.latency_max_s * 1e9


def _evaluate_run(plan: InstancesPlan, result: RunResult) -> InstancesStep | None:
    trial = result.fixed_trial
    if trial is None or result.status is not Status.COMPLETE:
        return None
    counts_by_chain: dict[int, list[ChainCounts]] = {}
    for counts in count_by_chain(result.plan.traffic, trial, (LATENCY_PERCENTILE,)):
        counts_by_chain.setdefault(counts.chain, []).append(counts)
    services = [_sum_directions(counts) for counts in counts_by_chain.values()]
    return InstancesStep(
        run_id=result.run_id,
        instance_count=result.plan.lab.chain_count,
        is_confirmation=result.plan.variant.endswith(CONFIRMATION),
        duration_s=trial.duration_s,
        offered_count=sum(service.offered_count for service in services),
        lost_count=sum(service.lost_count for service in services),
        loss_ratio=max(service.loss_ratio for service in services),
        latency_ns=max((each.latency_ns for each in services if each.latency_ns is not None), default=None),
        miss_count=sum(not service.meets(plan) for service in services),
        is_suspect=trial.validity.verdict is not ValidityStatus.VALID and not _loses_undisturbed(plan, trial),
        is_invalid=trial.validity.verdict is ValidityStatus.INVALID or _is_short(plan, result, trial),
    )


def _is_short(plan: InstancesPlan, result: RunResult, trial: TrialResult) -> bool:
    """Return whether the tester sent less than the load."""
    load_pps = result.plan.lab.chain_count * plan.load_pps * plan.direction_count
    offered_count = sum(stream.offered_count for stream in trial.streams)
    return offered_count < OFFERED_RATIO_MIN * load_pps * trial.duration_s


def _loses_undisturbed(plan: InstancesPlan, trial: TrialResult) -> bool:
    """Return whether the loss ratio is too large also without the time that other work disturbed."""
    counts = trial.undisturbed_counts
    return counts is not None and counts.sut_loss_ratio > plan.loss_ratio_max


def _sum_directions(counts: Sequence[ChainCounts]) -> _Service:
    percentiles_ns = (each.latency.percentiles_ns.get(LATENCY_PERCENTILE) for each in counts if each.latency)
    return _Service(
        sum(each.offered_count for each in counts),
        sum(each.lost_count for each in counts),
        max((latency_ns for latency_ns in percentiles_ns if latency_ns is not None), default=None),
    )
