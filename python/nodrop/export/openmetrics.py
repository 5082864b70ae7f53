"""OpenMetrics of finished runs and the current run. Names and units: docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client.core import (
    CollectorRegistry,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import write_to_textfile
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.registry import Collector

from nodrop import __version__
from nodrop.export.run_metrics import FRAME_SIZE, build_families, build_gauge, list_loads
from nodrop.model.event import TrialProgress
from nodrop.model.plan import name_frame_size
from nodrop.model.result import RunResult
from nodrop.model.run_state import RunState

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Content type of the text that `format_openmetrics` returns."""


def format_openmetrics(results: Sequence[RunResult], running: RunState | None = None) -> str:
    """Format finished runs and the current run as OpenMetrics text 1.0.0.

    Args:
        results: the last run, or the runs of one suite; the last run of each frame size is exported.
        running: the state of the current run; None: no run in progress.
    """
    text: bytes = openmetrics_text(_build_registry(results, running))  # type: ignore[no-untyped-call]
    return text.decode()


def write_textfile(path: Path, results: Sequence[RunResult]) -> None:
    """Write metrics atomically to a file for the textfile collector of node_exporter. Raises OSError."""
    write_to_textfile(str(path), _build_registry(results, None))


def _build_registry(results: Sequence[RunResult], running: RunState | None) -> CollectorRegistry:
    latest = {name_frame_size(result.plan): result for result in results}
    registry = CollectorRegistry()
    registry.register(_FamilyCollector(lambda: _iter_families(tuple(latest.values()), running)))
    return registry


class _FamilyCollector(Collector):
    """A collector of given metric families."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return all families."""
        return self._families()

    def describe(self) -> Iterable[Metric]:
        """Return no families in advance: the registry has no other collector."""
        return ()


def _iter_families(results: Sequence[RunResult], running: RunState | None) -> Iterator[Metric]:
    yield InfoMetricFamily("nodrop", "The program.", value={"version": __version__})
    yield from _iter_running(running)
    if results:
        yield from build_families(results)


def _iter_running(running: RunState | None) -> Iterator[Metric]:
    is_running = bool(running and running.plan and not running.result)
    yield GaugeMetricFamily("nodrop_running", "Whether a run is in progress.", value=float(is_running))
    if not running or not running.plan or running.result:
        return
    window = running.window or TrialProgress(index=0, elapsed_s=0.0, offered_count=0, received_count=0)
    intended_load_pps = running.trial.trial.intended_load_pps if running.trial else 0.0
    labels = {"run_id": running.run_id, FRAME_SIZE: name_frame_size(running.plan)}
    for name, text, value in (
        ("trials", "Finished trials of the current run.", len(running.trials)),
        ("trial_load_pps", "Intended load of the current trial, frames per second.", intended_load_pps),
        ("trial_elapsed_seconds", "Time the current trial has been sending.", window.elapsed_s),
        ("trial_offered_frames", "Frames sent in the current trial.", window.offered_count),
        ("trial_received_frames", "Frames received in the current trial.", window.received_count),
        ("trial_lost_frames", "Frames known to be lost in the current trial.", window.lost_count),
    ):
        family = build_gauge(f"nodrop_running_{name}", text, list(labels))
        family.add_metric(list(labels.values()), value)
        yield family
    bounds = build_gauge("nodrop_running_goal_load_pps", "Current bounds of each goal.", [*labels, "goal", "bound"])
    for goal in running.goals:
        for bound, load_pps in list_loads(goal):
            bounds.add_metric([*labels.values(), goal.goal.label, bound], load_pps)
    yield bounds
