"""Runs as OpenMetrics: what was found, what is measured now. Names and units: docs/reference/metrics.md."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client.core import (
    CollectorRegistry,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest as prometheus_text
from prometheus_client.exposition import write_to_textfile
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.registry import Collector

from nodrop import __version__
from nodrop.export.run_metrics import FRAME_SIZE, build_families, build_gauge, format_frame_size, list_loads
from nodrop.model.event import TrialProgress
from nodrop.model.result import RunResult
from nodrop.model.run_state import RunState

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Of what `format_openmetrics` gives."""


def format_openmetrics(results: Sequence[RunResult], running: RunState | None = None) -> str:
    """OpenMetrics text 1.0.0 of finished runs and of the one that goes on.

    Args:
        results: the last run, or the runs of one suite. Of several runs of one frame size the last counts.
        running: what is measured now; None: nothing.
    """
    text: bytes = openmetrics_text(_registry(results, running))  # type: ignore[no-untyped-call]
    return text.decode()


def textfile(results: Sequence[RunResult], running: RunState | None = None) -> str:
    """The same in the older text format of Prometheus, which the text file collector of its node_exporter reads."""
    return prometheus_text(_registry(results, running)).decode()


def write_textfile(path: Path, results: Sequence[RunResult]) -> None:
    """Put that in a file, as a whole or not at all. Raises OSError."""
    write_to_textfile(str(path), _registry(results, None))


def _registry(results: Sequence[RunResult], running: RunState | None) -> CollectorRegistry:
    latest = {format_frame_size(result.plan): result for result in results}
    registry = CollectorRegistry()
    registry.register(_FamilyCollector(lambda: _families(tuple(latest.values()), running)))
    return registry


class _FamilyCollector(Collector):
    """Families of metrics as the registry wants them."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Every family."""
        return self._families()

    def describe(self) -> Iterable[Metric]:
        """None in advance: nobody else registers here."""
        return ()


def _families(results: Sequence[RunResult], running: RunState | None) -> Iterator[Metric]:
    yield InfoMetricFamily("nodrop", "The program.", value={"version": __version__})
    yield from _running(running)
    if results:
        yield from build_families(results)


def _running(running: RunState | None) -> Iterator[Metric]:
    is_running = bool(running and running.plan and not running.result)
    yield GaugeMetricFamily("nodrop_running", "Whether a run goes on.", value=float(is_running))
    if not running or not running.plan or running.result:
        return
    window = running.window or TrialProgress(index=0, elapsed_s=0.0, offered_count=0, received_count=0)
    intended_load_pps = running.trial.trial.intended_load_pps if running.trial else 0.0
    labels = {"run_id": running.run_id, FRAME_SIZE: format_frame_size(running.plan)}
    for name, text, value in (
        ("trials", "Trials of the running run that are over.", len(running.trials)),
        ("trial_load_pps", "Intended load of the running trial, frames per second.", intended_load_pps),
        ("trial_elapsed_seconds", "Time the running trial has been sending.", window.elapsed_s),
        ("trial_offered_frames", "Frames sent in the running trial.", window.offered_count),
        ("trial_received_frames", "Frames that came back in the running trial.", window.received_count),
        ("trial_lost_frames", "Frames certainly lost in the running trial.", window.lost_count),
    ):
        family = build_gauge(f"nodrop_running_{name}", text, list(labels))
        family.add_metric(list(labels.values()), value)
        yield family
    bounds = build_gauge("nodrop_running_goal_load_pps", "Bounds of each goal so far.", [*labels, "goal", "bound"])
    for found in running.goals:
        for bound, load_pps in list_loads(found):
            bounds.add_metric([*labels.values(), found.goal.label, bound], load_pps)
    yield bounds
