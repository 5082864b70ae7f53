"""Metric families of finished runs. Names and units: docs/reference/metrics.md."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric, StateSetMetricFamily

from nodrop.formatting import format_sut_name
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.plan import name_frame_size
from nodrop.model.result import RunResult, Status
from nodrop.model.rule_cost import BASELINE_VARIANT
from nodrop.model.trial import FIXED, DirectionTimes, TrialResult, ValidityStatus

NS = 1e-9
FRAME_SIZE = "frame_size"
UNITS = ("pps", "seconds", "ratio", "frames")


def build_families(results: Sequence[RunResult]) -> Iterator[Metric]:
    """Yield the metrics of one run for each frame size: the last repeat, variant A of alternating setups, and the
    baseline of rule costs.
    """
    results = tuple(
        {name_frame_size(run.plan): run for run in results if run.plan.variant in ("", "A", BASELINE_VARIANT)}.values()
    )
    yield from _iter_run_metrics(results)
    yield from _iter_goal_metrics(results)
    yield from _iter_fixed_metrics(results)
    yield from _iter_frame_metrics(results)
    yield from _iter_latency_metrics(results)


def build_gauge(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    """Build a gauge family; its unit is the suffix of its name."""
    unit = next((unit for unit in UNITS if name.endswith(f"_{unit}")), "")
    return GaugeMetricFamily(name, text, labels=labels, unit=unit)


def list_loads(goal_result: GoalResult) -> Iterator[tuple[str, float]]:
    """Yield the known loads of a goal with their kind."""
    if goal_result.lower:
        yield "lower", goal_result.lower.load_pps
    if goal_result.upper:
        yield "upper", goal_result.upper.load_pps
    if goal_result.estimate_pps is not None:
        yield "estimate", goal_result.estimate_pps


def _iter_run_metrics(results: Sequence[RunResult]) -> Iterator[Metric]:
    run = InfoMetricFamily("nodrop_run", "The SUT and the search of a run.", labels=[FRAME_SIZE])
    status = StateSetMetricFamily("nodrop_run_status", "How the run ended.", labels=[FRAME_SIZE])
    started = build_gauge("nodrop_run_started_timestamp_seconds", "Start time, seconds since 1970.", [FRAME_SIZE])
    lasted = build_gauge("nodrop_run_duration_seconds", "Duration, including the lab setup.", [FRAME_SIZE])
    for result in results:
        size = name_frame_size(result.plan)
        about = {
            "run_id": result.run_id,
            "sut": format_sut_name(result),
            "search": result.plan.search.algorithm,
            "profile": result.plan.profile,
        }
        run.add_metric([size], about)
        status.add_metric([size], {str(state): state is result.status for state in Status})
        started.add_metric([size], datetime.fromisoformat(result.started_at).timestamp())
        lasted.add_metric([size], result.wall_s)
    yield from (run, status, started, lasted)


def _iter_goal_metrics(results: Sequence[RunResult]) -> Iterator[Metric]:
    labels = ["goal", FRAME_SIZE]
    allowed = build_gauge("nodrop_goal_allowed_loss_ratio", "Loss ratio the goal allows.", labels)
    load = build_gauge(
        "nodrop_goal_load_pps",
        "Intended load over all directions, frames per second: lower bound (the result), upper bound, estimate.",
        [*labels, "bound"],
    )
    losses = build_gauge("nodrop_goal_loss_ratio", "Loss ratio measured at a bound.", [*labels, "bound"])
    throughput = build_gauge(
        "nodrop_goal_conditional_throughput_pps", "Conditional throughput at the lower bound (RFC 9971).", labels
    )
    regular = build_gauge(
        "nodrop_goal_regular",
        "Whether the result is regular: both bounds exist and are close enough (RFC 9971).",
        labels,
    )
    limit = StateSetMetricFamily("nodrop_goal_limit", "The limit of the load.", labels=labels)
    for result, goal_result in ((run, goal_result) for run in results for goal_result in run.goals):
        values = [goal_result.goal.label, name_frame_size(result.plan)]
        allowed.add_metric(values, goal_result.goal.loss_ratio)
        for bound, load_pps in list_loads(goal_result):
            load.add_metric([*values, bound], load_pps)
        for bound, measured in (("lower", goal_result.lower), ("upper", goal_result.upper)):
            if measured:
                losses.add_metric([*values, bound], measured.loss_ratio)
        if goal_result.conditional_throughput_pps is not None:
            throughput.add_metric(values, goal_result.conditional_throughput_pps)
        regular.add_metric(values, float(goal_result.regular))
        limit.add_metric(values, {str(state): state is goal_result.limit for state in Limit})
    yield from (allowed, load, losses, throughput, regular, limit)


def _iter_fixed_metrics(results: Sequence[RunResult]) -> Iterator[Metric]:
    load = build_gauge(
        "nodrop_fixed_load_pps",
        "Frames per second over all directions at a fixed rate: intended, offered, received.",
        [FRAME_SIZE, "load"],
    )
    loss = build_gauge("nodrop_fixed_loss_ratio", "Loss ratio of sent frames at a fixed rate.", [FRAME_SIZE])
    for result, trial in ((run, trial) for run in results for trial in run.trials if trial.phase == FIXED):
        size = name_frame_size(result.plan)
        load.add_metric([size, "intended"], trial.trial.intended_load_pps)
        load.add_metric([size, "offered"], trial.offered_load_pps)
        load.add_metric([size, "received"], trial.forwarding_rate_pps)
        if trial.offered_count:
            loss.add_metric([size], trial.lost_count / trial.offered_count)
    yield from (load, loss)


def _iter_frame_metrics(results: Sequence[RunResult]) -> Iterator[Metric]:
    trials = build_gauge("nodrop_run_trials", "Trials by validity.", [FRAME_SIZE, "verdict"])
    frames = build_gauge("nodrop_run_frames", "Frames over all trials, by fate.", [FRAME_SIZE, "fate"])
    drops = build_gauge(
        "nodrop_run_tester_drop_frames",
        "Frames dropped in the tester's receive path, not by the SUT.",
        [FRAME_SIZE],
    )
    for result in results:
        size = name_frame_size(result.plan)
        for verdict in ValidityStatus:
            count = sum(trial.validity.verdict is verdict for trial in result.trials)
            trials.add_metric([size, str(verdict)], count)
        for fate, count in _iter_fates(result.trials):
            frames.add_metric([size, fate], count)
        drops.add_metric([size], sum(trial.tester_drop_count for trial in result.trials))
    yield from (trials, frames, drops)


def _iter_fates(trials: Sequence[TrialResult]) -> Iterator[tuple[str, int]]:
    streams = [stream for trial in trials for stream in trial.streams]
    yield "intended", sum(stream.intended_count for stream in streams)
    yield "offered", sum(stream.offered_count for stream in streams)
    yield "received", sum(stream.received_count for stream in streams)
    yield "lost", sum(stream.lost_count for stream in streams)
    yield "unsent", sum(trial.unsent_count for trial in trials)
    yield "duplicate", sum(stream.duplicate_count for stream in streams)
    yield "out_of_order", sum(stream.out_of_order_count for stream in streams)


def _iter_latency_metrics(results: Sequence[RunResult]) -> Iterator[Metric]:
    where = [FRAME_SIZE, "at", "tx_port", "rx_port", "stream"]
    load = build_gauge(
        "nodrop_latency_load_pps", "Load at which latency was measured, frames per second.", [FRAME_SIZE, "at"]
    )
    latency = build_gauge(
        "nodrop_latency_seconds", "Latency of the frames of a direction or stream.", [*where, "statistic"]
    )
    for result in results:
        size = name_frame_size(result.plan)
        for label, trial in _iter_latency_trials(result):
            load.add_metric([size, label], trial.trial.intended_load_pps)
            for times in trial.directions:
                stream = "" if times.stream_id is None else str(times.stream_id)
                values = [size, label, str(times.tx_port), str(times.rx_port), stream]
                for statistic, nanoseconds in _iter_statistics(times):
                    latency.add_metric([*values, statistic], nanoseconds * NS)
    yield from (load, latency)


def _iter_latency_trials(result: RunResult) -> Iterator[tuple[str, TrialResult]]:
    """Yield the latency trials with their labels."""
    labels = {point.trial_index: point.label for point in result.latencies}
    for trial in result.trials:
        if trial.index in labels:
            yield labels[trial.index], trial


def _iter_statistics(times: DirectionTimes) -> Iterator[tuple[str, float]]:
    if times.latency:
        latency = times.latency
        yield "min", latency.min_ns
        yield "mean", latency.mean_ns
        yield "p50", latency.p50_ns
        yield "p90", latency.p90_ns
        yield "p99", latency.p99_ns
        yield "p99.9", latency.p999_ns
        yield "max", latency.max_ns
