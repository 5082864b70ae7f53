"""The catalogue of result charts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nodrop.charts import chains, fixed_rate, latency, load_latency, loss, rate_by_frame_size, search_bounds
from nodrop.charts.base import Chart
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult


class ChartInput(NamedTuple):
    """The data of a chart."""

    results: Sequence[RunResult]
    """At least one result."""
    steps: Sequence[SearchDecision]
    """The search steps of the first result."""
    trial: TrialResult | None
    """A trial of the first result; None: the chart selects one."""


class ChartKind(NamedTuple):
    """A chart of the catalogue."""

    draw: Callable[[ChartInput], Chart]
    text: str
    """Short description."""
    accepts_several: bool = False
    accepts_trial: bool = False


def _build_loss_chart(source: ChartInput) -> Chart:
    return loss.build_chart(source.results[0], *([source.trial] if source.trial else []))


CHART_KINDS: dict[str, ChartKind] = {
    "funnel": ChartKind(
        lambda source: search_bounds.build_chart(source.results[0], source.steps), "trials and bounds over time"
    ),
    "sizes": ChartKind(
        lambda source: rate_by_frame_size.build_chart(source.results),
        "frames per second by frame size",
        accepts_several=True,
    ),
    "bits": ChartKind(
        lambda source: rate_by_frame_size.build_chart(source.results, "bps"),
        "bits per second by frame size",
        accepts_several=True,
    ),
    "latency": ChartKind(
        lambda source: latency.build_chart(source.results), "latency by percentile", accepts_several=True
    ),
    "latency-ways": ChartKind(
        lambda source: latency.build_chart(source.results, each_way=True),
        "the same for each direction",
        accepts_several=True,
    ),
    "load-latency": ChartKind(lambda source: load_latency.build_chart(source.results[0]), "latency by load"),
    "loss": ChartKind(_build_loss_chart, "frames lost over time within trials", accepts_trial=True),
    "rate": ChartKind(lambda source: fixed_rate.build_chart(source.results[0]), "a run at a fixed rate over time"),
    "chains": ChartKind(
        lambda source: chains.build_chart(source.results[0], source.trial),
        "rate, loss and latency by chain",
        accepts_trial=True,
    ),
}
"""Charts by name."""
