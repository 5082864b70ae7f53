"""Runs for dashboards."""

from pathlib import Path
from typing import Any

from tests.recorded import record_run
from tests.suts import Step

from nodrop.model.result import RunResult
from nodrop.model.trial import DirectionTimes, LatencySummary


def measured(directory: Path, **overrides: Any) -> RunResult:
    """Return a simulated run with latency added to its trials."""
    result = record_run(directory, Step(1e6), **overrides)
    figures = {"count": 10, "min_ns": 1000, "mean_ns": 5000.0, "max_ns": 20000, "pdv_ns": 9000}
    latency = LatencySummary(**figures, p50_ns=4000, p90_ns=8000, p99_ns=9000, p999_ns=10000)
    times = DirectionTimes(tx_port=0, rx_port=1, latency_every=1, latency=latency)
    trials = tuple(trial.model_copy(update={"directions": (times,)}) for trial in result.trials)
    return result.model_copy(update={"trials": trials})
