"""Factories of trials, their latencies, and results with other trials."""

from collections.abc import Iterable, Sequence
from typing import Any

from hdrh.histogram import HdrHistogram
from tests.suts import Step
from tests.traffic import two_way_traffic

from nodrop.model.latency import DIGITS, HIGHEST_NS, LOWEST_NS
from nodrop.model.procedure import ProcedurePlan
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite, SuiteRun
from nodrop.model.trial import (
    DirectionTimes,
    LatencySummary,
    StreamCounts,
    Trial,
    TrialResult,
    Validity,
    ValidityStatus,
    Windows,
)
from nodrop.simulation import SimulatedMeasurer

WIDE_LATENCY = LatencySummary(
    count=1000,
    min_ns=9_990,
    mean_ns=123_456.0,
    p50_ns=120_000,
    p90_ns=200_000,
    p99_ns=999_999,
    p999_ns=12_345_678,
    max_ns=123_456_789,
    pdv_ns=12_335_688,
)
"""Latencies of every printed width."""


def hdr_histogram(values_ns: Iterable[int]) -> HdrHistogram:
    histogram = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    for value_ns in values_ns:
        histogram.record_value(value_ns)
    return histogram


def latency_summary(values_ns: Sequence[int]) -> LatencySummary:
    """Return the summary of these latencies, with their histogram."""
    histogram = hdr_histogram(values_ns)
    p50, p90, p99, p999 = (histogram.get_value_at_percentile(percentile) for percentile in (50, 90, 99, 99.9))
    return LatencySummary(
        count=len(values_ns),
        min_ns=min(values_ns),
        mean_ns=sum(values_ns) / len(values_ns),
        p50_ns=p50,
        p90_ns=p90,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=max(values_ns),
        pdv_ns=p999 - min(values_ns),
        hdr=histogram.encode().decode(),
    )


def stream_counts(intended_count: int, *, stream_id: int = 0, unsent: int = 0, lost: int = 0) -> StreamCounts:
    """Return the counts of a stream; the even ones run from port 0 to port 1, the odd ones back."""
    return StreamCounts(
        stream_id=stream_id,
        tx_port=stream_id % 2,
        rx_port=1 - stream_id % 2,
        intended_count=intended_count,
        offered_count=intended_count - unsent,
        received_count=intended_count - unsent - lost,
        lost_count=lost,
        duplicate_count=0,
        out_of_order_count=0,
    )


def trial_result(load_pps: float, duration_s: float = 1.0, **fields: Any) -> TrialResult:
    """Return a valid trial that was sent to its end, with these fields replaced."""
    return TrialResult(
        **{
            "trial": Trial(intended_load_pps=load_pps, duration_s=duration_s),
            "index": 0,
            "phase": "search",
            "started_at": "2026-01-01T00:00:00+00:00",
            "duration_s": duration_s,
            "stopped_early": False,
            "streams": (),
            "tester_drop_count": 0,
            "tester_cpu_ratio": 0.1,
            "windows": Windows(end_s=(), offered_count=(), received_count=()),
            "validity": Validity(verdict=ValidityStatus.VALID),
            **fields,
        }
    )


def simulated_trial(load_pps: float, duration_s: float = 1.0) -> TrialResult:
    """Return a trial in both directions over a SUT that forwards a million frames per second."""
    with SimulatedMeasurer(two_way_traffic(2), Step(1e6)) as measurer:
        trial = Trial(intended_load_pps=load_pps, duration_s=duration_s)
        return measurer.measure(trial, 0, "search", lambda *_: None)


def with_trial(result: RunResult, changed: TrialResult) -> RunResult:
    """Return the result with the trial of the same index replaced."""
    trials = (changed if trial.index == changed.index else trial for trial in result.trials)
    return result.model_copy(update={"trials": tuple(trials)})


def with_latency(result: RunResult, latency: LatencySummary = WIDE_LATENCY) -> RunResult:
    """Return the result with this latency of every stream in every trial."""

    def times(stream: StreamCounts) -> DirectionTimes:
        return DirectionTimes(tx_port=stream.tx_port, rx_port=stream.rx_port, latency_every=1, latency=latency)

    trials = (trial.model_copy(update={"directions": tuple(map(times, trial.streams))}) for trial in result.trials)
    return result.model_copy(update={"trials": tuple(trials)})


def procedure_suite(plan: ProcedurePlan, results: Sequence[RunResult]) -> Suite:
    """Return the suite of a procedure that carried out these runs."""
    return Suite(
        suite_id="20260101T000000Z-abcdef",
        started_at="2026-01-01T00:00:00+00:00",
        wall_s=60,
        status=Status.COMPLETE,
        frame_sizes=("64",),
        procedure=plan,
        runs=tuple(
            SuiteRun(frame_size="64", run_id=each.run_id, variant=each.plan.variant, status=each.status)
            for each in results
        ),
    )
