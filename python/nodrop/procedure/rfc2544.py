"""The benchmarking tests of RFC 2544: throughput, latency, frame loss rate and back-to-back frames by frame size.

Throughput of all sizes comes first, as the other tests need it; then the sizes one after the other. A run that fails
leaves its row without a value, and the others go on.

Source: RFC 2544 sections 24 and 26.1 to 26.4; RFC 9004 for back-to-back frames.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nodrop.model.choices import Rfc2544Test
from nodrop.model.latency import compute_trial_latency
from nodrop.model.procedure import Rfc2544Plan
from nodrop.model.result import RunResult
from nodrop.model.trial import SEARCH, ValidityStatus
from nodrop.procedure.base import ISOLATION_DEVIATION, Procedure, RunRequest, find_local_suts
from nodrop.procedure.rfc2544_figures import (
    BackToBack,
    FrameLoss,
    Latency,
    LatencyTrial,
    LossPoint,
    Omission,
    Rfc2544Report,
    Throughput,
)
from nodrop.rates import ROUNDING_TOLERANCE, compute_line_rate_pps
from nodrop.search.back_to_back import BackToBackSearch
from nodrop.search.base import Outcome
from nodrop.units import format_count, format_seconds

THROUGHPUT_GOAL = "NDR"
TRIAL_MIN_S = 60.0
"""Duration of a trial that decides. Source: RFC 2544 section 24."""
LATENCY_REPEAT_MIN = 20
"""Source: RFC 2544 section 26.2."""
BURST_REPEAT_MIN = 50
"""Source: RFC 2544 section 26.4."""
BURST_REST_MIN_S = 2.0
"""Source: RFC 9004 section 5.4."""
MAX_STEP_RATIO = 0.1
"""Largest step between two loads of the frame loss rate. Source: RFC 2544 section 26.3."""
SIZE_COUNT_MIN = 5
"""Frame sizes that a report has. Source: RFC 2544 section 9.1."""
TESTER_RATE_MIN_RATIO = 0.8
"""Share of the line rate that the tester must reach for bursts to be tried: below, no stall is the cause."""
TYPICAL, WORST = 50.0, 99.9
"""Percentiles of a trial that describe its typical and worst latency. Source: RFC 8219 section 7.2."""


class Rfc2544Procedure(Procedure):
    """Searches throughput at every size, then carries out the other tests size by size."""

    plan: Rfc2544Plan

    def __init__(self, plan: Rfc2544Plan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the first test without a result; None at the end."""
        done = {(result.plan.variant, result.plan.frame_size, result.plan.repeat) for result in results}
        return next((run for run in self._iter_runs(results) if _get_key(run) not in done), None)

    def list_samples(self) -> Sequence[RunRequest]:
        """Return a run of each kind at the smallest size."""
        return self._list_kinds(self.plan.frame_bytes[0])

    def list_expected_runs(self) -> Sequence[RunRequest]:
        """Return every run, at a throughput of 1 kpps."""
        runs = [run for size in self.plan.frame_bytes for run in self._list_kinds(size)]
        return [run for run in runs for _ in range(run.repeat_count)]

    def _list_kinds(self, frame_bytes: int) -> list[RunRequest]:
        """Return a run of each kind at a frame size."""
        plan = self.plan
        runs = [self._search_throughput(frame_bytes)] if _needs_throughput(plan) else []
        if "latency" in plan.tests and not plan.is_quick:
            runs.append(self._measure_latency(frame_bytes, 1000.0, 1))
        runs += [self._measure_loss(frame_bytes)] if "frame-loss-rate" in plan.tests else []
        return runs + ([self._search_bursts(frame_bytes)] if "back-to-back" in plan.tests else [])

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why none of the tests has a value, unless it does not apply."""
        report = build_rfc2544_report(self.plan, results)
        failures = [each for each in report.omissions if each.is_failure]
        if len(failures) < len(self.plan.tests) * len(self.plan.frame_bytes):
            return None
        return f"no test has a value: {failures[0].reason}"

    def describe_extent(self) -> str:
        """Return tests, sizes and the durations of their trials."""
        plan = self.plan
        sizes = ", ".join(map(str, plan.frame_bytes))
        return f"RFC 2544, {', '.join(plan.tests)}; frames of {sizes} bytes; trials of {format_seconds(plan.trial_s)}"

    def _iter_runs(self, results: Sequence[RunResult]) -> Iterator[RunRequest]:
        """Yield the runs in their order, as far as the results so far require them."""
        plan = self.plan
        if _needs_throughput(plan):
            yield from map(self._search_throughput, plan.frame_bytes)
        report = build_rfc2544_report(plan, results)
        for size in plan.frame_bytes:
            throughput = report.find_throughput(size)
            if throughput and "latency" in plan.tests and not plan.is_quick:
                for repeat in range(1, plan.latency_repeat_count + 1):
                    yield self._measure_latency(size, throughput.load_pps, repeat)
            if "frame-loss-rate" in plan.tests:
                yield self._measure_loss(size)
            if throughput and "back-to-back" in plan.tests and not _find_burst_omission(throughput):
                yield self._search_bursts(size)

    def _search_throughput(self, frame_bytes: int) -> RunRequest:
        settings = {
            "goals": {THROUGHPUT_GOAL: 0.0},
            "rate": "ndr",
            "search.final_trial_duration": self.plan.trial_s,
            "latency.enabled": self.plan.is_quick and "latency" in self.plan.tests,
            "latency.trial_duration": self.plan.latency_trial_s,
            "search.budget": self.plan.search_budget_s,
        }
        return _make_request(settings, frame_bytes, "throughput")

    def _measure_latency(self, frame_bytes: int, load_pps: float, repeat: int) -> RunRequest:
        settings = {"rate": f"{load_pps / 1e3:.9g}kpps", "duration": self.plan.latency_trial_s}
        return _make_request(settings, frame_bytes, "latency", repeat, self.plan.latency_repeat_count)

    def _measure_loss(self, frame_bytes: int) -> RunRequest:
        settings = {
            "goals": {THROUGHPUT_GOAL: 0.0},
            "rate": "ndr",
            "search.algorithm": "frame-loss-rate",
            "search.budget": None,
            "search.final_trial_duration": self.plan.trial_s,
            "latency.enabled": False,
        }
        return _make_request(settings, frame_bytes, "frame-loss-rate")

    def _search_bursts(self, frame_bytes: int) -> RunRequest:
        settings = {
            "goals": {THROUGHPUT_GOAL: 0.0},
            "rate": "ndr",
            "search.algorithm": "back-to-back",
            "search.budget": None,
            "search.burst_repeats": self.plan.burst_repeat_count,
            "search.burst_rest": self.plan.burst_rest_s,
            "latency.enabled": False,
        }
        return _make_request(settings, frame_bytes, "back-to-back")


def _make_request(
    settings: Mapping[str, Any], frame_bytes: int, test: Rfc2544Test, repeat: int = 1, repeat_count: int = 1
) -> RunRequest:
    return RunRequest({"frame_sizes": [frame_bytes], **settings}, test, repeat, repeat_count)


def _get_key(run: RunRequest) -> tuple[str, str, int]:
    """Return variant, frame size and repeat of a run."""
    return run.variant, str(run.settings["frame_sizes"][0]), run.repeat


def _needs_throughput(plan: Rfc2544Plan) -> bool:
    return set(plan.tests) != {"frame-loss-rate"}


def _find_burst_omission(throughput: Throughput) -> Omission | None:
    """Return why the longest burst of a size is not searched; None if it is (RFC 9004 section 5.2)."""
    reason = ""
    if throughput.is_line_rate:
        reason = "throughput equals the line rate"
    elif throughput.tester_pps:
        reason = (
            "the tester does not reach the line rate; set the speed of the links to one that it reaches (link_speed)"
        )
    if not reason:
        return None
    return Omission(
        frame_bytes=throughput.frame_bytes,
        test="back-to-back",
        reason=reason,
        is_failure=not throughput.is_line_rate,
    )


def build_rfc2544_report(plan: Rfc2544Plan, results: Sequence[RunResult]) -> Rfc2544Report:
    """Evaluate the runs of the tests so far."""
    throughputs: dict[int, Throughput] = {}
    latencies: dict[int, list[tuple[float, LatencyTrial]]] = {}
    losses: list[FrameLoss] = []
    bursts: list[BackToBack] = []
    for result in results:
        size = result.plan.traffic.streams[0].sizes[0].frame_bytes
        test: Rfc2544Test = result.plan.variant  # type: ignore[assignment]
        if test == "throughput" and (throughput := _evaluate_throughput(result, size)):
            throughputs[size] = throughput
        if trial := _evaluate_latency(plan, result, test):
            latencies.setdefault(size, []).append(trial)
        if test == "frame-loss-rate" and (points := tuple(_iter_loss_points(result))):
            losses.append(FrameLoss(frame_bytes=size, run_id=result.run_id, points=points))
        if test == "back-to-back" and size in throughputs and (burst := _evaluate_bursts(result, throughputs[size])):
            bursts.append(burst)
    report = Rfc2544Report(
        plan=plan,
        throughputs=tuple(throughputs[size] for size in sorted(throughputs)),
        latencies=tuple(
            Latency(frame_bytes=size, load_pps=trials[0][0], trials=tuple(trial for _, trial in trials))
            for size, trials in sorted(latencies.items())
        ),
        losses=tuple(sorted(losses, key=lambda each: each.frame_bytes)),
        bursts=tuple(sorted(bursts, key=lambda each: each.frame_bytes)),
        omissions=(),
    )
    return report.replace(
        omissions=tuple(_iter_omissions(report, results)), deviations=tuple(_iter_deviations(report, results))
    )


def _evaluate_throughput(result: RunResult, frame_bytes: int) -> Throughput | None:
    goal = next((each for each in result.goals if each.goal.label == THROUGHPUT_GOAL), None)
    if goal is None or goal.lower is None:
        return None
    return Throughput(
        frame_bytes=frame_bytes,
        run_id=result.run_id,
        load_pps=goal.lower.load_pps,
        upper_pps=goal.upper.load_pps if goal.upper else None,
        line_rate_pps=_compute_line_rate_pps(result),
        duration_s=goal.lower.duration_s,
        limit=goal.limit,
        is_confirmed=goal.is_resolved,
        trial_count=sum(trial.phase == SEARCH for trial in result.trials),
        tester_pps=_find_tester_limit(result),
    )


def _find_tester_limit(result: RunResult) -> float | None:
    """Return the highest rate of the trials at the line rate, if the tester did not reach it."""
    line_rate_pps = _compute_line_rate_pps(result)
    rates_pps = [
        trial.offered_load_pps
        for trial in result.trials
        if trial.phase == SEARCH and trial.trial.intended_load_pps >= line_rate_pps * (1 - ROUNDING_TOLERANCE)
    ]
    fastest_pps = max(rates_pps, default=line_rate_pps)
    return fastest_pps if fastest_pps < TESTER_RATE_MIN_RATIO * line_rate_pps else None


def _compute_line_rate_pps(result: RunResult) -> float:
    """Return the line rate over all directions."""
    traffic = result.plan.traffic
    way_pps = compute_line_rate_pps(traffic.largest_frame_bytes, result.plan.link_speed_bps)
    return way_pps / max(traffic.direction_ratios.values())


def _evaluate_latency(plan: Rfc2544Plan, result: RunResult, test: Rfc2544Test) -> tuple[float, LatencyTrial] | None:
    """Return the load and the latency of the trial at throughput that a run has; None without any."""
    if "latency" not in plan.tests or test != ("throughput" if plan.is_quick else "latency"):
        return None
    trial = result.fixed_trial
    if plan.is_quick:
        index = next((each.trial_index for each in result.latencies if each.label == THROUGHPUT_GOAL), None)
        trial = None if index is None else result.trials[index]
    if trial is None or trial.validity.verdict is ValidityStatus.INVALID:
        return None
    figures = compute_trial_latency(trial, (TYPICAL, WORST))
    if figures is None:
        return None
    latency = LatencyTrial(
        run_id=result.run_id,
        min_ns=figures.min_ns,
        mean_ns=figures.mean_ns,
        typical_ns=figures.percentiles_ns.get(TYPICAL),
        worst_ns=figures.percentiles_ns.get(WORST),
        max_ns=figures.max_ns,
        lost_count=trial.judged_counts.lost_count,
    )
    return trial.trial.intended_load_pps, latency


def _iter_loss_points(result: RunResult) -> Iterator[LossPoint]:
    """Yield the trials that count, from the highest load down."""
    line_rate_pps = _compute_line_rate_pps(result)
    for trial in result.trials:
        if trial.phase == SEARCH and trial.validity.verdict is not ValidityStatus.INVALID:
            yield LossPoint(
                share_ratio=trial.trial.intended_load_pps / line_rate_pps,
                load_pps=trial.trial.intended_load_pps,
                duration_s=trial.duration_s,
                offered_count=trial.offered_count,
                received_count=trial.offered_count - trial.lost_count,
                unsent_count=trial.unsent_count,
                is_suspect=trial.validity.verdict is ValidityStatus.SUSPECT,
            )


def _evaluate_bursts(result: RunResult, throughput: Throughput) -> BackToBack | None:
    """Return the bursts that a run found, by its trials, also if it ended early; None without a complete repeat."""
    search = BackToBackSearch(result.plan.search)
    for trial in result.trials:
        if trial.phase == SEARCH and trial.validity.verdict is not ValidityStatus.INVALID:
            search.tell(Outcome.of(trial, 0.0))
    bursts = search.list_bursts()
    if not bursts:
        return None
    upper_pps, directions = throughput.upper_pps, result.plan.search.direction_count
    return BackToBack(
        frame_bytes=throughput.frame_bytes,
        run_id=result.run_id,
        frame_counts=tuple(burst.frame_count for burst in bursts),
        is_limit=bursts[-1].is_limit,
        line_rate_pps=result.plan.search.direction_load_pps,
        throughput_pps=throughput.load_pps / directions,
        throughput_upper_pps=None if upper_pps is None else upper_pps / directions,
    )


def _iter_omissions(report: Rfc2544Report, results: Sequence[RunResult]) -> Iterator[Omission]:
    """Yield the tests without a value, by size."""
    errors = {(result.plan.variant, result.plan.frame_size): result.error for result in results}
    for size in report.plan.frame_bytes:
        throughput = report.find_throughput(size)
        found: dict[Rfc2544Test, object] = {
            "throughput": throughput,
            "latency": report.find_latency(size),
            "frame-loss-rate": report.find_loss(size),
            "back-to-back": report.find_burst(size),
        }
        for test in report.plan.tests:
            if found[test]:
                continue
            is_searched = ("throughput", str(size)) in errors
            if (test, str(size)) in errors:
                reason = errors[test, str(size)] or "no value was found"
                yield Omission(frame_bytes=size, test=test, reason=reason, is_failure=True)
            elif throughput and test == "back-to-back" and (omission := _find_burst_omission(throughput)):
                yield omission
            elif is_searched and not throughput and test != "frame-loss-rate":
                yield Omission(frame_bytes=size, test=test, reason="no throughput was found", is_failure=True)


def list_cautions(report: Rfc2544Report) -> Iterator[str]:
    """Yield what speaks against the figures."""
    for test, reason, sizes in _group_omissions(report):
        yield f"{test} at {sizes}: {reason}"
    if wide := [str(each.frame_bytes) for each in report.throughputs if not each.is_confirmed]:
        yield f"throughput at {', '.join(wide)} bytes: not confirmed, as time ended or other work left loads undecided"
    for each in report.throughputs:
        if each.limit.is_tester:
            yield f"throughput at {each.frame_bytes} bytes: the tester was the limit, the path may forward more"
    for latency in report.latencies:
        if lost := sum(trial.lost_count for trial in latency.trials):
            yield (
                f"latency at {latency.frame_bytes} bytes: {format_count(lost, 'frame')} lost at throughput, which may "
                "be too high"
            )
    short = [each for each in report.losses if any(point.unsent_count for point in each.points)]
    if short:
        sizes = ", ".join(str(each.frame_bytes) for each in short)
        yield f"frame loss rate at {sizes} bytes: the tester sent less than the load at the points marked with ≥"
    for burst in report.bursts:
        if len(burst.frame_counts) < report.plan.burst_repeat_count and not burst.is_limit:
            repeats = f"{len(burst.frame_counts)} of {format_count(report.plan.burst_repeat_count, 'repeat')}"
            yield f"back-to-back at {burst.frame_bytes} bytes: only {repeats}, as the run ended early"
        if burst.is_limit:
            yield (
                f"back-to-back at {burst.frame_bytes} bytes: the longest burst allowed passed, "
                f"{format_seconds(burst.implied_buffer_s)}; raise search.burst_max"
            )


def _group_omissions(report: Rfc2544Report) -> Iterator[tuple[str, str, str]]:
    """Yield test, reason and the sizes that have no value for it; a line for sizes with the same reason."""
    groups: dict[tuple[str, str, bool], list[int]] = {}
    for each in report.omissions:
        groups.setdefault((each.test, each.reason, each.is_failure), []).append(each.frame_bytes)
    for (test, reason, is_failure), sizes in groups.items():
        if is_failure:
            yield test, f"not measured: {reason}", f"{', '.join(map(str, sizes))} bytes"


def _iter_deviations(report: Rfc2544Report, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the tests deviate from the RFCs, each with its code."""
    plan = report.plan
    if find_local_suts(results):
        yield ISOLATION_DEVIATION
    yield "V-WAIT: a trial ends when its last frame has arrived, without the waits of section 23"
    if plan.trial_s < TRIAL_MIN_S:
        yield f"V-DUR: trials of {format_seconds(plan.trial_s)} decide, shorter than {format_seconds(TRIAL_MIN_S)}"
    if len(plan.frame_bytes) < SIZE_COUNT_MIN:
        yield f"V-SIZES: {format_count(len(plan.frame_bytes), 'frame size')}, fewer than {SIZE_COUNT_MIN}"
    if any(_has_gaps(each) for each in report.losses):
        yield "V-LOAD: loads that the tester does not reach are left out of the frame loss rate"
    if "latency" in plan.tests:
        yield "V-TAG: latency is that of all frames, not of one tagged frame of each trial"
        if plan.latency_repeat_count < LATENCY_REPEAT_MIN:
            trials = format_count(plan.latency_repeat_count, "latency trial")
            yield f"V-REP: {trials} of each size, fewer than {LATENCY_REPEAT_MIN}"
    if "back-to-back" in plan.tests:
        if plan.burst_repeat_count < BURST_REPEAT_MIN:
            repeats = format_count(plan.burst_repeat_count, "back-to-back repeat")
            yield f"V-REP: {repeats} of each size, fewer than {BURST_REPEAT_MIN}"
        if plan.burst_rest_s < BURST_REST_MIN_S:
            rest = format_seconds(plan.burst_rest_s)
            yield f"V-WAIT: {rest} between bursts, less than {format_seconds(BURST_REST_MIN_S)}"
    yield "V-MOD: no modifiers of section 11 were run"


def _has_gaps(loss: FrameLoss) -> bool:
    """Return whether the series has points that are further apart than its smallest step."""
    shares = [point.share_ratio for point in loss.points]
    steps = [one - other for one, other in pairwise(shares)]
    return bool(steps) and max(steps) > MAX_STEP_RATIO + ROUNDING_TOLERANCE


def describe_compliance(report: Rfc2544Report) -> str:
    """Return one line on compliance that claims no more than was done."""
    codes = dict.fromkeys(each.partition(":")[0] for each in report.deviations)
    return f"Not compliant with RFC 2544 in: {', '.join(codes)}." if codes else "Compliant with RFC 2544."
