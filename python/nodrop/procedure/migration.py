"""Migration: how long the traffic of a VM is interrupted and impaired while it moves to another server.

Source: ETSI GS NFV-PER 001 clause C.1.2.3.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from pydantic import computed_field

from nodrop.analysis.event_effects import EventEffect, compute_event_effects
from nodrop.model.base import Value
from nodrop.model.procedure import MigrationPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.procedure.two_way_trial import TwoWayTrial, schedule_two_ways
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

BEFORE, AFTER, MIGRATION = "before", "after", "migration"
"""Variants of the runs."""
IMPAIRED_LATENCY_RATIO = 2.0
"""Mean latency of a window, relative to that before the migration, above which the traffic is impaired."""
PAUSE_RATIO_MAX = 0.05
"""Longest pause of the tester, relative to a gap, that leaves it trustworthy."""
REPEAT_MIN = 5


class MigrationLeg(Value):
    """One migration, there or back. Times in seconds."""

    run_id: str
    is_back: bool
    duration_s: float
    """From the begin of the first event to the end of the last: for a program, until it returned."""
    guest_pause_s: float | None = None
    """Time for which the hypervisors paused the guest; None if not known."""
    is_recovered: bool
    """Whether every stream arrived again."""
    gap_s: float
    """Longest time of a stream between two arrivals around lost frames, or between their departures, or without an
    arrival, in whole windows; 0 without any."""
    gap_count: int
    """Most gaps of a stream."""
    lost_count: int
    loss_s: float
    """Time in which as many frames are sent as were lost."""
    impaired_s: float
    """From the begin of the first to the end of the last gap, or window whose mean latency was more than twice that
    before and above that of any window before."""
    pause_s: float
    """Longest pause of the tester's senders; gaps may be longer by it."""


class GoalChange(Value):
    """The rate that meets a goal before and after the migrations."""

    goal: str
    before_pps: float
    after_pps: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change_ratio(self) -> float:
        """Increase, relative to the rate before."""
        return (self.after_pps - self.before_pps) / self.before_pps


class MigrationReport(Value):
    """What a migration procedure found."""

    plan: MigrationPlan
    load_pps: float | None
    """Load during the migrations, over all directions; None before the search that finds it."""
    legs: tuple[MigrationLeg, ...]
    changes: tuple[GoalChange, ...] = ()
    """Empty until the search after the migrations."""
    latest_unused_count: int = 0
    """Runs since the last one that counts."""

    @property
    def there(self) -> tuple[MigrationLeg, ...]:
        """Migrations to the other server."""
        return tuple(leg for leg in self.legs if not leg.is_back)

    @property
    def back(self) -> tuple[MigrationLeg, ...]:
        """Migrations on the way back."""
        return tuple(leg for leg in self.legs if leg.is_back)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        if not self.legs:
            return "No migration was measured."
        stuck = [leg for leg in self.legs if not leg.is_recovered]
        if stuck:
            return f"After {len(stuck)} of {format_count(len(self.legs), 'migration')}, not all streams arrived again."
        parts = [_describe_interruption("a migration", self.there)]
        if self.back:
            parts.append(_describe_interruption("the way back", self.back))
        changes = [f"{each.goal} changes by {format_ratio(each.change_ratio)}" for each in self.changes]
        text = "; ".join([*parts, *changes])
        return f"{text[0].upper()}{text[1:]}."


class MigrationProcedure(Procedure):
    """Migrates there and back under a steady load, between two searches of the rate."""

    plan: MigrationPlan

    def __init__(self, plan: MigrationPlan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the search before, each repeat, the search after; None at the end."""
        plan = self.plan
        report = build_migration_report(plan, results)
        if report.latest_unused_count > RETRY_MAX:
            return None
        if plan.has_search and not _find_bounds(results, BEFORE):
            return RunRequest({}, BEFORE, 1, 1)
        if len(report.there) < plan.repeat_count:
            assert report.load_pps is not None
            return self._request_migration(report.load_pps, len(report.there) + 1)
        if plan.compares and not _find_bounds(results, AFTER):
            return RunRequest({}, AFTER, 1, 1)
        return None

    def list_samples(self) -> Sequence[RunRequest]:
        """Return a run of each kind."""
        first = self.request_run(())
        migration = self._request_migration(self.plan.load_pps or 1000.0, 1)
        return [migration] if first is None else [first, migration]

    def _request_migration(self, load_pps: float, repeat: int) -> RunRequest:
        settings = {"rate": f"{load_pps / 1e3:.9g}kpps", **_schedule_trial(self.plan).make_settings()}
        return RunRequest(settings, MIGRATION, repeat, self.plan.repeat_count)

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why no migration was measured, or the rates before and after are not known."""
        report = build_migration_report(self.plan, results)
        if self.plan.has_search and not _find_bounds(results, BEFORE):
            return "no search found the rate before the migrations; write migration.rate and migration.compare: false"
        if not report.legs:
            return "no trial with the events of a migration was completed"
        if self.plan.compares and not report.changes:
            return "no search found the rate after the migrations; the migrations were measured"
        return None

    def describe_extent(self) -> str:
        """Return the runs."""
        plan = self.plan
        runs = f"{format_count(plan.repeat_count, 'run')} of {format_seconds(_schedule_trial(plan).duration_s)}"
        load = format_pps(plan.load_pps) if plan.load_pps else f"{format_ratio(plan.load_ratio)} of the rate found"
        searches = "a search before and after" if plan.compares else "a search before" if plan.has_search else ""
        events = ", ".join(event.name for event in (*plan.migrate, *plan.back))
        return f"{searches + ', ' if searches else ''}{runs} at {load}: {events}"


def build_migration_report(plan: MigrationPlan, results: Sequence[RunResult]) -> MigrationReport:
    """Evaluate the runs of a procedure so far; those that failed do not count."""
    legs: list[MigrationLeg] = []
    unused_count = 0
    for result in results:
        if result.plan.variant == MIGRATION:
            measured = _evaluate_run(plan, result)
            legs += measured
            is_used = bool(measured)
        else:
            is_used = bool(_find_bounds([result], result.plan.variant))
        unused_count = 0 if is_used else unused_count + 1
    before, after = _find_bounds(results, BEFORE), _find_bounds(results, AFTER)
    found_pps = min(before.values()) * plan.load_ratio if before else None
    return MigrationReport(
        plan=plan,
        load_pps=plan.load_pps or found_pps,
        legs=tuple(legs),
        changes=tuple(
            GoalChange(goal=goal, before_pps=load_pps, after_pps=after[goal])
            for goal, load_pps in before.items()
            if goal in after
        ),
        latest_unused_count=unused_count,
    )


def list_cautions(report: MigrationReport) -> Iterator[str]:
    """Yield what speaks against the figures."""
    for number, leg in enumerate(report.legs, 1):
        if leg.pause_s > PAUSE_RATIO_MAX * leg.gap_s > 0:
            pause = format_ns(leg.pause_s * 1e9)
            yield f"migration {number}: the tester paused for up to {pause}, by which its gap may be too long"
    if report.legs and not any(leg.gap_s for leg in report.legs):
        yield "no frame was lost: the events had no effect, or took less than the time between two frames"


def list_deviations(report: MigrationReport, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the runs deviate from the clause, each with its code."""
    plan = report.plan
    suts = find_local_suts(results)
    if suts:
        yield ISOLATION_DEVIATION
    if "pool" in suts:
        yield "V-STAND-IN: a balancer that moves flows after a pause stands for the migration of a VM"
    if plan.repeat_count < REPEAT_MIN:
        yield f"V-REP: {format_count(plan.repeat_count, 'repeat')}, fewer than {REPEAT_MIN}"
    if not plan.compares:
        yield "V-PER: the rates before and after the migrations were not compared"


def _describe_interruption(name: str, legs: Sequence[MigrationLeg]) -> str:
    gaps_s = [leg.gap_s for leg in legs]
    if not any(gaps_s):
        return f"{name} loses no frame"
    text = f"{name} interrupts the traffic for {format_ns(median(gaps_s) * 1e9)}"
    if len(legs) > 1:
        text += f" ({format_ns(min(gaps_s) * 1e9)} to {format_ns(max(gaps_s) * 1e9)} in {len(legs)} repeats)"
    pauses_s = [leg.guest_pause_s for leg in legs if leg.guest_pause_s is not None]
    return f"{text}, while the guest is paused for {format_ns(median(pauses_s) * 1e9)}" if pauses_s else text


def _schedule_trial(plan: MigrationPlan) -> TwoWayTrial:
    return schedule_two_ways(plan.migrate, plan.back, plan.steady_s, plan.settle_s)


def _find_bounds(results: Sequence[RunResult], variant: str) -> dict[str, float]:
    """Return the lower bounds of a completed search, by goal; empty without one."""
    for result in results:
        if result.plan.variant == variant and result.status is Status.COMPLETE:
            bounds = {goal.goal.label: goal.lower.load_pps for goal in result.goals if goal.lower}
            if bounds:
                return bounds
    return {}


class _Span(NamedTuple):
    """A time of the trial, in seconds."""

    begin_s: float
    end_s: float


def _evaluate_run(plan: MigrationPlan, result: RunResult) -> list[MigrationLeg]:
    trial = result.fixed_trial
    if trial is None or result.status is not Status.COMPLETE:
        return []
    effects = compute_event_effects(trial)
    count = len(plan.migrate)
    if len(effects) < count + len(plan.back):
        return []
    back_s = effects[count].event.begin_s if plan.back else trial.duration_s
    spans = (_Span(effects[0].event.begin_s, back_s), _Span(back_s, trial.duration_s))
    groups = (effects[:count], effects[count:])
    return [
        _build_leg(result, trial, group, span, is_back=number == 1)
        for number, (group, span) in enumerate(zip(groups, spans, strict=True))
        if group
    ]


def _build_leg(
    result: RunResult, trial: TrialResult, effects: Sequence[EventEffect], span: _Span, *, is_back: bool
) -> MigrationLeg:
    lost_count = sum(effect.lost_count for effect in effects)
    streams = [stream for effect in effects for stream in effect.streams]
    load_pps = sum(stream.offered_count for stream in trial.streams) / trial.duration_s
    pauses_s = [sender.gaps.max_ns / 1e9 for sender in trial.senders if sender.gaps]
    return MigrationLeg(
        run_id=result.run_id,
        is_back=is_back,
        duration_s=effects[-1].event.end_s - effects[0].event.begin_s,
        guest_pause_s=_sum_guest_pauses(effects),
        is_recovered=all(stream.recovered_s is not None and stream.recovered_s < span.end_s for stream in streams),
        gap_s=max((_compute_silence_s(trial, span), *(stream.gap_s for stream in streams))),
        gap_count=max((stream.gap_count for stream in streams), default=0),
        lost_count=lost_count,
        loss_s=lost_count / load_pps if load_pps else 0.0,
        impaired_s=_compute_impaired_s(trial, span),
        pause_s=max(0.0, max(pauses_s, default=0.0) - (1 / load_pps if load_pps else 0.0)),
    )


def _sum_guest_pauses(effects: Sequence[EventEffect]) -> float | None:
    pauses_s = [effect.event.guest_pause_s for effect in effects if effect.event.guest_pause_s is not None]
    return sum(pauses_s) if pauses_s else None


def _compute_impaired_s(trial: TrialResult, span: _Span) -> float:
    """Return the time from the begin of the first gap or slow window in a span to the end of the last."""
    gaps = [
        _Span(
            run.before.received_ns / 1e9 if run.before else 0.0,
            run.after.received_ns / 1e9 if run.after else trial.duration_s,
        )
        for stream in trial.streams
        for run in stream.loss_timeline
    ]
    impaired = (*gaps, *_iter_slow_windows(trial))
    inside = [each for each in impaired if each.begin_s < span.end_s and each.end_s > span.begin_s]
    if not inside:
        return 0.0
    begin_s, end_s = min(each.begin_s for each in inside), max(each.end_s for each in inside)
    return min(end_s, span.end_s) - max(begin_s, span.begin_s)


def _compute_silence_s(trial: TrialResult, span: _Span) -> float:
    """Return the longest time of a span in which no frame of a series arrived while frames were sent.

    A paused guest may hold all frames and lose none. Windows are empty as well while the tester's receiver has no CPU,
    which arrival times, the kernel's, tell from a silent path.
    """
    longest_s = 0.0
    ends_s = trial.windows.end_s
    for offered_counts, received_counts in zip(trial.windows.offered_count, trial.windows.received_count, strict=True):
        since_s = None
        for window in zip((0.0, *ends_s[:-1]), ends_s, offered_counts, received_counts, strict=True):
            begin_s, end_s, offered_count, received_count = window
            if begin_s < span.begin_s or end_s > span.end_s or received_count or not offered_count:
                since_s = None
                continue
            since_s = begin_s if since_s is None else since_s
            longest_s = max(longest_s, end_s - since_s)
    gap_max_s = max((stream.arrival_gap_max_ns / 1e9 for stream in trial.streams), default=0.0)
    return longest_s if longest_s <= gap_max_s else 0.0


def _iter_slow_windows(trial: TrialResult) -> Iterator[_Span]:
    """Yield the windows with a higher latency than any before the first event, and than twice their median."""
    ends_s = trial.windows.end_s
    steady_end_s = min(event.begin_s for event in trial.events)
    means_ns = [_average_latency(trial, position) or 0.0 for position in range(len(ends_s))]
    steady_ns = [mean_ns for mean_ns, end_s in zip(means_ns, ends_s, strict=True) if mean_ns and end_s <= steady_end_s]
    if steady_ns:
        limit_ns = max(IMPAIRED_LATENCY_RATIO * median(steady_ns), *steady_ns)
        spans = zip((0.0, *ends_s[:-1]), ends_s, means_ns, strict=True)
        yield from (_Span(begin_s, end_s) for begin_s, end_s, mean_ns in spans if mean_ns > limit_ns)


def _average_latency(trial: TrialResult, position: int) -> float | None:
    """Return the mean latency of a window over all streams, in nanoseconds; None if no frame arrived in it."""
    count = sum(each.count[position] for each in trial.windows.latency)
    return sum(each.sum_ns[position] for each in trial.windows.latency) / count if count else None
