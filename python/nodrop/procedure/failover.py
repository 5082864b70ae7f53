"""Failover convergence: how soon streams arrive again after a failure, and how many do within an SLA.

Source: ETSI GS NFV-PER 001 clauses C.1.2.2 and C.4.1.6; RFC 6412 sections 3.3 and 3.6.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from pydantic import computed_field

from nodrop.analysis.event_effects import EventEffect, compute_event_effects, count_earlier_losses
from nodrop.model.base import Value
from nodrop.model.procedure import FailoverPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.procedure.two_way_trial import TwoWayTrial, schedule_two_ways
from nodrop.units import format_count, format_ns, format_pps, format_seconds, format_time_limit

PER_MILLE = 1000
REPEAT_MIN = 5
"""Repeats that a convergence time is based on."""


class Convergence(Value):
    """The streams of one repeat after the trigger, or on the way back. Times count from the first event (t1)."""

    affected_count: int
    """Streams that lost frames."""
    unrecovered_count: int
    """Streams whose frames were lost until the end of the time to settle."""
    lost_count: int
    trigger_s: float
    """Time from the first event to the last (t3 - t1)."""
    first_s: float | None
    """Time until the first stream arrives again (t2 - t1); None if no stream lost frames or none recovered."""
    last_s: float | None
    """Time until the last stream arrives again (t4 - t1), the convergence; None if a stream did not recover."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def switchover_s(self) -> float | None:
        """Time between the recoveries of the first and of the last stream (t4 - t2)."""
        return None if self.first_s is None or self.last_s is None else self.last_s - self.first_s

    def meets(self, sla_s: float) -> bool:
        """Return whether all streams arrive again within a time; those that lost nothing do."""
        return not self.unrecovered_count and (self.last_s or 0.0) <= sla_s


class FailoverRepeat(Value):
    """One repeat of a round."""

    run_id: str
    failover: Convergence
    way_back: Convergence | None = None
    """None without events that restore the primary path."""
    earlier_lost_count: int = 0
    """Frames lost before the trigger."""
    pause_s: float = 0.0
    """Longest time between two frames of the tester beyond the interval that the rate requires."""

    def is_undecided(self, sla_s: float) -> bool:
        """Return whether a pause of the tester may be why the SLA is met or missed."""
        failover = self.failover
        if failover.meets(sla_s):
            return self.pause_s > sla_s
        return failover.last_s is not None and failover.last_s - self.pause_s <= sla_s


class FailoverRound(Value):
    """All repeats with the same number of streams."""

    stream_count: int
    repeats: tuple[FailoverRepeat, ...]
    meets_sla: bool | None
    """None if repeats are missing, or none of them lost a frame."""

    def list_convergences_s(self) -> list[float]:
        """Return the convergence time of each repeat that converged."""
        return [each.failover.last_s for each in self.repeats if each.failover.last_s is not None]

    @property
    def is_lossless(self) -> bool:
        """Whether no repeat lost a frame by the trigger."""
        return all(each.failover.affected_count == 0 for each in self.repeats)

    @property
    def stuck_count(self) -> int:
        """Number of repeats in which a stream did not recover."""
        return sum(bool(each.failover.unrecovered_count) for each in self.repeats)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def median_s(self) -> float | None:
        """Median of the convergence times; None without any."""
        times_s = self.list_convergences_s()
        return median(times_s) if times_s else None


class FailoverReport(Value):
    """What a failover procedure found."""

    plan: FailoverPlan
    rounds: tuple[FailoverRound, ...]
    undecided: tuple[FailoverRepeat, ...] = ()
    """Runs that do not count: a pause of the tester may be why the SLA is met or missed there."""
    latest_unused_count: int = 0
    """Runs since the last one that counts: failed or undecided."""

    @property
    def lower(self) -> FailoverRound | None:
        """The round with the most streams that meets the SLA."""
        return max((each for each in self.rounds if each.meets_sla), key=lambda each: each.stream_count, default=None)

    @property
    def upper(self) -> FailoverRound | None:
        """The round with the fewest streams that does not meet it."""
        missed = (each for each in self.rounds if each.meets_sla is False)
        return min(missed, key=lambda each: each.stream_count, default=None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def streams_within_sla(self) -> int | None:
        """Most streams that meet the SLA; None if no round does."""
        return self.lower.stream_count if self.lower else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        sla = format_time_limit(self.plan.sla_s)
        if self.lower:
            further = f"; {self.upper.stream_count} do not" if self.upper else ""
            return f"{self._describe_round(self.lower)}, within the SLA of {sla}{further}."
        if self.upper:
            comma = ":" if self.upper.stuck_count else ","
            return f"{self._describe_round(self.upper)}{comma} not within the SLA of {sla}."
        if not self.rounds:
            return "No repeat was measured."
        first = self.rounds[0]
        missing_count = self.plan.repeat_count - len(first.repeats)
        reason = f"{format_count(missing_count, 'repeat')} missing" if missing_count > 0 else "no failover to measure"
        return f"{self._describe_round(first)}: {reason}."

    def _describe_round(self, each: FailoverRound) -> str:
        """Return `20 streams converge in 145 ms (144 ms to 146 ms in 5 repeats)`."""
        streams = format_count(each.stream_count, "stream") + (" each way" if self.plan.direction_count > 1 else "")
        repeats, times_s = format_count(len(each.repeats), "repeat"), each.list_convergences_s()
        if each.stuck_count:
            of = f"{each.stuck_count} of " if each.stuck_count < len(each.repeats) else ""
            return f"{streams} did not converge in {of}{repeats}"
        if each.median_s is None:
            return f"{streams} lost no frame in {repeats}"
        verb = "converges" if streams == "1 stream" else "converge"
        low, high = (format_ns(time_s * 1e9) for time_s in (min(times_s), max(times_s)))
        some = repeats
        if len(times_s) < len(each.repeats):
            some = f"{len(times_s)} of {repeats}, no loss in the others"
        extent = f"{low} to {high} in " if len(times_s) > 1 else "in "
        spread = f" ({extent}{some})" if len(each.repeats) > 1 else ""
        return f"{streams} {verb} in {format_ns(each.median_s * 1e9)}{spread}"


class FailoverProcedure(Procedure):
    """Repeats a failover; with more streams from round to round until the SLA is missed."""

    plan: FailoverPlan

    def __init__(self, plan: FailoverPlan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the next repeat; None at the end. Of several rounds, each ends with its first repeat over the SLA."""
        report = build_failover_report(self.plan, results)
        if report.latest_unused_count > RETRY_MAX:
            return None
        for stream_count in self._iter_stream_counts(report):
            current = next((each for each in report.rounds if each.stream_count == stream_count), None)
            done_count = len(current.repeats) if current else 0
            is_decided = current is not None and current.meets_sla is False and self.plan.has_growth
            if done_count < self.plan.repeat_count and not is_decided:
                return RunRequest(
                    make_failover_settings(self.plan, stream_count),
                    name_round(stream_count),
                    done_count + 1,
                    self.plan.repeat_count,
                )
        return None

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why no round has a verdict, or why the growth ended early."""
        report = build_failover_report(self.plan, results)
        if report.latest_unused_count > RETRY_MAX and report.undecided:
            pause = format_ns(report.undecided[-1].pause_s * 1e9)
            return (
                f"{report.latest_unused_count} runs in a row are undecided, as the tester paused for up to {pause}, "
                f"which may be why the SLA of {format_time_limit(self.plan.sla_s)} is met or missed; stop other work, "
                "or raise failover.sla"
            )
        lossless = next((each for each in report.rounds if each.is_lossless), None)
        if lossless and not report.upper:
            return (
                f"{format_count(lossless.stream_count, 'stream')} lost no frame: the trigger does not affect them, or "
                f"the failover takes less than {format_time_limit(self.plan.resolution_s)}; check failover.trigger"
            )
        return None if report.lower or report.upper else report.text.rstrip(".")

    def describe_extent(self) -> str:
        """Return the runs of a round, their events and the SLA."""
        plan = self.plan
        runs = f"{format_count(plan.repeat_count, 'run')} of {format_seconds(_schedule_trial(plan).duration_s)}"
        streams = format_count(plan.stream_count, "stream")
        if plan.has_growth:
            runs, streams = f"{runs} in each round", f"{plan.stream_count} to {plan.stream_count_max} streams"
        events = ", ".join(event.name for event in (*plan.trigger, *plan.revert))
        return f"{runs} with {streams}: {events}; SLA {format_time_limit(plan.sla_s)}"

    def _iter_stream_counts(self, report: FailoverReport) -> Iterator[int]:
        """Yield the rounds in order, as far as their verdicts are known."""
        plan, verdicts = self.plan, {each.stream_count: each.meets_sla for each in report.rounds}
        lower, current = 0, plan.stream_count
        while True:
            yield current
            if not verdicts.get(current):
                break
            lower = current
            if current >= plan.stream_count_max:
                return
            current = min(plan.stream_count_max, grow_stream_count(current, plan.growth_ratio))
        upper = current
        while plan.refine and lower and upper - lower > 1:
            middle = (lower + upper) // 2
            yield middle
            lower, upper = (middle, upper) if verdicts.get(middle) else (lower, middle)


def grow_stream_count(stream_count: int, growth_ratio: float) -> int:
    """Return the streams of the next round, rounded up: 20 grow by 10 % to 22, 22 to 25. Integers, as 20 · 1.1 > 22."""
    per_mille = PER_MILLE + round(growth_ratio * PER_MILLE)
    return max(stream_count + 1, -(-stream_count * per_mille // PER_MILLE))


def name_round(stream_count: int) -> str:
    """Return the variant of the runs of a round."""
    return format_count(stream_count, "stream")


def make_failover_settings(plan: FailoverPlan, stream_count: int) -> dict[str, object]:
    """Return the configuration keys of a run with a number of streams."""
    flow_count = stream_count * plan.direction_count
    return {
        "rate": f"{flow_count * plan.stream_rate_pps / 1e3:.9g}kpps",
        "traffic.streams": stream_count,
        "flow_count": flow_count,
        **_schedule_trial(plan).make_settings(),
    }


def build_failover_report(plan: FailoverPlan, results: Sequence[RunResult]) -> FailoverReport:
    """Evaluate the runs of a procedure so far; those that failed or are undecided do not count."""
    rounds: dict[int, list[FailoverRepeat]] = {}
    undecided = []
    unused_count = 0
    for result in results:
        repeat = _evaluate_run(plan, result)
        if repeat is None or repeat.is_undecided(plan.sla_s):
            unused_count += 1
            undecided += [repeat] if repeat else []
        else:
            unused_count = 0
            stream_count = len(result.plan.traffic.streams) // plan.direction_count
            rounds.setdefault(stream_count, []).append(repeat)
    return FailoverReport(
        plan=plan,
        undecided=tuple(undecided),
        latest_unused_count=unused_count,
        rounds=tuple(_build_round(plan, stream_count, repeats) for stream_count, repeats in sorted(rounds.items())),
    )


def _build_round(plan: FailoverPlan, stream_count: int, repeats: Sequence[FailoverRepeat]) -> FailoverRound:
    is_whole = len(repeats) >= plan.repeat_count
    is_lossless = all(each.failover.affected_count == 0 for each in repeats)
    meets_sla = all(each.failover.meets(plan.sla_s) for each in repeats)
    has_verdict = not meets_sla or (is_whole and not is_lossless)
    return FailoverRound(
        stream_count=stream_count, repeats=tuple(repeats), meets_sla=meets_sla if has_verdict else None
    )


def _evaluate_run(plan: FailoverPlan, result: RunResult) -> FailoverRepeat | None:
    trial = result.fixed_trial
    if trial is None or result.status is not Status.COMPLETE:
        return None
    effects = compute_event_effects(trial)
    count = len(plan.trigger)
    if len(effects) < count + len(plan.revert):
        return None
    back_s = effects[count].event.begin_s if plan.revert else trial.duration_s
    recoveries = _find_recoveries(effects[:count])
    failover = _build_convergence(effects[:count], recoveries, back_s)
    way_back = None
    if plan.revert:
        repairs = {
            key: _Recovery(0, each.recovered_s)
            for key, each in recoveries.items()
            if each.recovered_s is None or each.recovered_s >= back_s
        }
        repairs |= _find_recoveries(effects[count:])
        way_back = _build_convergence(effects[count:], repairs, trial.duration_s)
    return FailoverRepeat(
        run_id=result.run_id,
        failover=failover,
        way_back=way_back,
        earlier_lost_count=count_earlier_losses(trial),
        pause_s=_compute_pause_s(trial, plan),
    )


def _compute_pause_s(trial: TrialResult, plan: FailoverPlan) -> float:
    """Return the longest pause of a sender; 0 where the generator does not state its times."""
    stream_count = len(trial.streams) // plan.direction_count
    gaps_s = [sender.gaps.max_ns / 1e9 for sender in trial.senders if sender.gaps]
    return max(0.0, max(gaps_s, default=0.0) - plan.resolution_s / max(stream_count, 1))


def list_cautions(report: FailoverReport) -> Iterator[str]:
    """Yield what speaks against the figures."""
    plan = report.plan
    if report.undecided:
        runs = format_count(len(report.undecided), "run does", "runs do")
        pause = format_ns(max(each.pause_s for each in report.undecided) * 1e9)
        yield f"{runs} not count: a pause of the tester, up to {pause}, may be why the SLA is met or missed there"
    if plan.resolution_s > plan.sla_s / 10:
        yield (
            f"a stream shows its recovery by its next frame, up to {format_time_limit(plan.resolution_s)} late; for an "
            f"SLA of {format_time_limit(plan.sla_s)}, set failover.stream_rate to {format_pps(10 / plan.sla_s)} or more"
        )
    for each in report.rounds:
        yield from (f"{name_round(each.stream_count)}: {text}" for text in _iter_round_cautions(plan, each))


def _iter_round_cautions(plan: FailoverPlan, each: FailoverRound) -> Iterator[str]:
    total = each.stream_count * plan.direction_count
    affected = [repeat.failover.affected_count for repeat in each.repeats]
    if min(affected) == 0:
        yield f"the trigger cost no frame in {format_count(affected.count(0), 'repeat')}"
    elif min(affected) < total:
        yield f"only {min(affected)} of {total} lost frames; the others do not count"
    if stuck := max(repeat.failover.unrecovered_count for repeat in each.repeats):
        yield f"{total - stuck} of {total} converged within {plan.settle_s:g} s"
    if lost := max((repeat.way_back.unrecovered_count for repeat in each.repeats if repeat.way_back), default=0):
        yield f"on the way back, {lost} did not converge within {plan.settle_s:g} s"
    if earlier := sum(repeat.earlier_lost_count for repeat in each.repeats):
        yield f"{format_count(earlier, 'frame')} lost before the trigger; they do not count"


def list_deviations(report: FailoverReport, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the runs deviate from the clauses, each with its code."""
    suts = find_local_suts(results)
    if suts:
        yield ISOLATION_DEVIATION
    if "pool" in suts:
        yield "V-STAND-IN: instances of nodrop's layer 2 forwarder and its load balancer stand in for the system"
    if report.plan.repeat_count < REPEAT_MIN:
        yield f"V-REP: {format_count(report.plan.repeat_count, 'repeat')} of each round, fewer than {REPEAT_MIN}"


class _Recovery(NamedTuple):
    """One stream after one or several events."""

    lost_count: int
    recovered_s: float | None
    """In the trial's time; None if it did not recover."""


StreamKey = tuple[int, int]
"""Port and number of a stream."""


def _find_recoveries(effects: Sequence[EventEffect]) -> dict[StreamKey, _Recovery]:
    """Return the streams that lost frames by events, in their order, each with its last recovery."""
    streams: dict[StreamKey, _Recovery] = {}
    for effect in effects:
        for each in effect.streams:
            key = (each.stream.tx_port, each.stream.stream_id)
            before = streams.get(key)
            streams[key] = _Recovery(each.lost_count + (before.lost_count if before else 0), each.recovered_s)
    return streams


def _build_convergence(
    effects: Sequence[EventEffect], streams: Mapping[StreamKey, _Recovery], end_s: float
) -> Convergence:
    """Return the effect of several events together.

    Args:
        effects: those of the events, in order.
        streams: the streams that were down.
        end_s: end of the time to settle, in the trial's time.
    """
    begin_s = effects[0].event.begin_s
    recoveries_s = [each.recovered_s for each in streams.values()]
    times_s = [time_s - begin_s for time_s in recoveries_s if time_s is not None and time_s < end_s]
    unrecovered_count = len(streams) - len(times_s)
    return Convergence(
        affected_count=len(streams),
        unrecovered_count=unrecovered_count,
        lost_count=sum(each.lost_count for each in streams.values()),
        trigger_s=effects[-1].event.begin_s - begin_s,
        first_s=min(times_s, default=None),
        last_s=max(times_s, default=None) if not unrecovered_count else None,
    )


def _schedule_trial(plan: FailoverPlan) -> TwoWayTrial:
    return schedule_two_ways(plan.trigger, plan.revert, plan.steady_s, plan.settle_s)
