"""Runs as OpenMetrics: what was found, what is measured now. Names and units: docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from prometheus_client.core import (
    CollectorRegistry,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.exposition import generate_latest as prometheus_text
from prometheus_client.exposition import write_to_textfile
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.registry import Collector

from nodrop import __version__
from nodrop.model.base import Value
from nodrop.model.event import Event, RunDone, RunStarted, TrialDone, TrialProgress, TrialStarted
from nodrop.model.goal import Goal, GoalResult, Limit
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import FIXED, DirectionTimes, TrialResult, Verdict

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Of what `exposition` gives."""
NS = 1e-9
SIZE = "frame_size"


class Running(Value):
    """The run that goes on now, as far as it got."""

    run_id: str
    plan: Plan
    goals: tuple[GoalResult, ...] = ()
    """What is known of them so far."""
    trial_count: int = 0
    """Trials that are over."""
    intended_load_pps: float = 0.0
    """Of the trial that goes on."""
    elapsed_s: float = 0.0
    """Since that trial began to send."""
    offered_count: int = 0
    received_count: int = 0
    lost_count: int = 0

    def after(self, event: Event) -> "Running":
        """The same, an event later."""
        match event:
            case TrialStarted():
                fresh = {"elapsed_s": 0.0, "offered_count": 0, "received_count": 0, "lost_count": 0}
                return self.model_copy(update=fresh | {"intended_load_pps": event.trial.intended_load_pps})
            case TrialProgress():
                counts = event.model_dump(include={"elapsed_s", "offered_count", "received_count", "lost_count"})
                return self.model_copy(update=counts)
            case TrialDone():
                return self.model_copy(update={"goals": event.goals, "trial_count": event.result.index + 1})
        return self


class RunWatch:
    """Keeps what is known of the run that goes on; an OnEvent."""

    def __init__(self) -> None:
        self.now: Running | None = None
        """None between runs."""

    def __call__(self, event: Event) -> None:
        """Take in what happened."""
        if isinstance(event, RunStarted):
            self.now = Running(run_id=event.run_id, plan=event.plan)
        elif isinstance(event, RunDone):
            self.now = None
        elif self.now:
            self.now = self.now.after(event)


def exposition(results: Sequence[RunResult], running: Running | None = None) -> str:
    """OpenMetrics text 1.0.0 of finished runs and of the one that goes on.

    Args:
        results: the last run, or the runs of one suite. Of several runs of one frame size the last counts.
        running: what is measured now; None: nothing.
    """
    text: bytes = openmetrics_text(_registry(results, running))  # type: ignore[no-untyped-call]
    return text.decode()


def textfile(results: Sequence[RunResult], running: Running | None = None) -> str:
    """The same in the older text format of Prometheus, which the text file collector of its node_exporter reads."""
    return prometheus_text(_registry(results, running)).decode()


def write_textfile(path: Path, results: Sequence[RunResult]) -> None:
    """Put that in a file, as a whole or not at all. Raises OSError."""
    write_to_textfile(str(path), _registry(results, None))


def _registry(results: Sequence[RunResult], running: Running | None) -> CollectorRegistry:
    latest = {_size_text(result.plan): result for result in results}
    registry = CollectorRegistry()
    registry.register(_Once(lambda: _families(tuple(latest.values()), running)))
    return registry


class _Once(Collector):
    """Families of metrics as the registry wants them."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Every family."""
        return self._families()

    def describe(self) -> Iterable[Metric]:
        """None in advance: nobody else registers here."""
        return ()


def _families(results: Sequence[RunResult], running: Running | None) -> Iterator[Metric]:
    yield InfoMetricFamily("nodrop", "The program.", value={"version": __version__})
    yield from _running(running)
    if results:
        yield from _runs(results)
        yield from _goals(results)
        yield from _fixed(results)
        yield from _frames(results)
        yield from _latencies(results)


def _running(running: Running | None) -> Iterator[Metric]:
    yield GaugeMetricFamily("nodrop_running", "Whether a run goes on.", value=float(running is not None))
    if not running:
        return
    labels = {"run_id": running.run_id, SIZE: _size_text(running.plan)}
    for name, text, value in (
        ("trials", "Trials of the running run that are over.", running.trial_count),
        ("trial_load_pps", "Intended load of the running trial, frames per second.", running.intended_load_pps),
        ("trial_elapsed_seconds", "Time the running trial has been sending.", running.elapsed_s),
        ("trial_offered_frames", "Frames sent in the running trial.", running.offered_count),
        ("trial_received_frames", "Frames that came back in the running trial.", running.received_count),
        ("trial_lost_frames", "Frames certainly lost in the running trial.", running.lost_count),
    ):
        family = _gauge(f"nodrop_running_{name}", text, list(labels))
        family.add_metric(list(labels.values()), value)
        yield family
    bounds = _gauge("nodrop_running_goal_load_pps", "Bounds of each goal so far.", [*labels, "goal", "bound"])
    for found in running.goals:
        for bound, load_pps in _loads(found):
            bounds.add_metric([*labels.values(), found.goal.label, bound], load_pps)
    yield bounds


def _runs(results: Sequence[RunResult]) -> Iterator[Metric]:
    run = InfoMetricFamily("nodrop_run", "What was measured, and with which search.", labels=[SIZE])
    status = StateSetMetricFamily("nodrop_run_status", "How the run ended.", labels=[SIZE])
    started = _gauge("nodrop_run_started_timestamp_seconds", "When it began, seconds since 1970.", [SIZE])
    lasted = _gauge("nodrop_run_duration_seconds", "Time it took, lab included.", [SIZE])
    for result in results:
        size = _size_text(result.plan)
        about = {
            "run_id": result.run_id,
            "sut": result.facts.stage.sut if result.facts else result.plan.lab.sut_text,
            "search": result.plan.search.algorithm,
            "profile": result.plan.profile,
        }
        run.add_metric([size], about)
        status.add_metric([size], {str(state): state is result.status for state in Status})
        started.add_metric([size], datetime.fromisoformat(result.started_at).timestamp())
        lasted.add_metric([size], result.wall_s)
    yield from (run, status, started, lasted)


def _goals(results: Sequence[RunResult]) -> Iterator[Metric]:
    labels = ["goal", SIZE]
    allowed = _gauge("nodrop_goal_allowed_loss_ratio", "Loss ratio the goal allows.", labels)
    loads = _gauge(
        "nodrop_goal_load_pps",
        "Intended load over all directions, frames per second: lower bound (the result), upper bound, estimate.",
        [*labels, "bound"],
    )
    losses = _gauge("nodrop_goal_loss_ratio", "Loss ratio measured at a bound.", [*labels, "bound"])
    throughput = _gauge(
        "nodrop_goal_conditional_throughput_pps", "Forwarding rate to expect at the lower bound (RFC 9971).", labels
    )
    regular = _gauge("nodrop_goal_regular", "Whether both bounds are there and close enough (RFC 9971).", labels)
    limit = StateSetMetricFamily("nodrop_goal_limit", "What kept the load from going higher.", labels=labels)
    for result, found in ((run, found) for run in results for found in run.goals):
        values = _goal_labels(found.goal, result)
        allowed.add_metric(values, found.goal.loss_ratio)
        for bound, load_pps in _loads(found):
            loads.add_metric([*values, bound], load_pps)
        for bound, measured in (("lower", found.lower), ("upper", found.upper)):
            if measured:
                losses.add_metric([*values, bound], measured.loss_ratio)
        if found.conditional_throughput_pps is not None:
            throughput.add_metric(values, found.conditional_throughput_pps)
        regular.add_metric(values, float(found.regular))
        limit.add_metric(values, {str(state): state is found.limit for state in Limit})
    yield from (allowed, loads, losses, throughput, regular, limit)


def _fixed(results: Sequence[RunResult]) -> Iterator[Metric]:
    loads = _gauge(
        "nodrop_fixed_load_pps",
        "Frames per second over all directions at a fixed rate: intended, offered, received.",
        [SIZE, "load"],
    )
    loss = _gauge("nodrop_fixed_loss_ratio", "Frames lost of those sent at a fixed rate.", [SIZE])
    for result, trial in ((run, trial) for run in results for trial in run.trials if trial.phase == FIXED):
        size = _size_text(result.plan)
        loads.add_metric([size, "intended"], trial.trial.intended_load_pps)
        loads.add_metric([size, "offered"], trial.offered_load_pps)
        loads.add_metric([size, "received"], trial.forwarding_rate_pps)
        if trial.offered_count:
            loss.add_metric([size], trial.lost_count / trial.offered_count)
    yield from (loads, loss)


def _frames(results: Sequence[RunResult]) -> Iterator[Metric]:
    trials = _gauge("nodrop_run_trials", "Trials by how far they can be trusted.", [SIZE, "verdict"])
    frames = _gauge("nodrop_run_frames", "Frames over all trials, by what became of them.", [SIZE, "fate"])
    drops = _gauge(
        "nodrop_run_tester_drop_frames", "Frames dropped in the tester's own receive path; never the SUT's.", [SIZE]
    )
    for result in results:
        size = _size_text(result.plan)
        for verdict in Verdict:
            count = sum(trial.validity.verdict is verdict for trial in result.trials)
            trials.add_metric([size, str(verdict)], count)
        for fate, count in _fates(result.trials):
            frames.add_metric([size, fate], count)
        drops.add_metric([size], sum(trial.tester_drop_count for trial in result.trials))
    yield from (trials, frames, drops)


def _fates(trials: Sequence[TrialResult]) -> Iterator[tuple[str, int]]:
    streams = [stream for trial in trials for stream in trial.streams]
    yield "intended", sum(stream.intended_count for stream in streams)
    yield "offered", sum(stream.offered_count for stream in streams)
    yield "received", sum(stream.received_count for stream in streams)
    yield "lost", sum(stream.lost_count for stream in streams)
    yield "unsent", sum(trial.unsent_count for trial in trials)
    yield "duplicate", sum(stream.duplicate_count for stream in streams)
    yield "out_of_order", sum(stream.out_of_order_count for stream in streams)


def _latencies(results: Sequence[RunResult]) -> Iterator[Metric]:
    where = [SIZE, "at", "tx_port", "rx_port", "stream"]
    load = _gauge("nodrop_latency_load_pps", "Load at which latency was measured, frames per second.", [SIZE, "at"])
    latency = _gauge("nodrop_latency_seconds", "Latency of the frames of a direction or stream.", [*where, "statistic"])
    for result in results:
        size = _size_text(result.plan)
        for label, trial in _points(result):
            load.add_metric([size, label], trial.trial.intended_load_pps)
            for times in trial.directions:
                stream = "" if times.stream_id is None else str(times.stream_id)
                values = [size, label, str(times.tx_port), str(times.rx_port), stream]
                for statistic, nanoseconds in _statistics(times):
                    latency.add_metric([*values, statistic], nanoseconds * NS)
    yield from (load, latency)


def _points(result: RunResult) -> Iterator[tuple[str, TrialResult]]:
    """The trials whose latency counts, by what they are known as."""
    labels = {point.trial_index: point.label for point in result.latencies}
    for trial in result.trials:
        if trial.index in labels:
            yield labels[trial.index], trial


def _statistics(times: DirectionTimes) -> Iterator[tuple[str, float]]:
    if times.latency:
        found = times.latency
        yield "min", found.min_ns
        yield "mean", found.mean_ns
        yield "p50", found.p50_ns
        yield "p90", found.p90_ns
        yield "p99", found.p99_ns
        yield "p99.9", found.p999_ns
        yield "max", found.max_ns


def _gauge(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    unit = next((unit for unit in ("pps", "seconds", "ratio", "frames") if name.endswith(f"_{unit}")), "")
    return GaugeMetricFamily(name, text, labels=labels, unit=unit)


def _loads(found: GoalResult) -> Iterator[tuple[str, float]]:
    if found.lower:
        yield "lower", found.lower.load_pps
    if found.upper:
        yield "upper", found.upper.load_pps
    if found.estimate_pps is not None:
        yield "estimate", found.estimate_pps


def _goal_labels(goal: Goal, result: RunResult) -> list[str]:
    return [goal.label, _size_text(result.plan)]


def _size_text(plan: Plan) -> str:
    """The frame size as users label it."""
    return plan.frame_size or f"{plan.traffic.frame_bytes:g}"
