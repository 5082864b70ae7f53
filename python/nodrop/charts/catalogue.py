"""The charts of results, by name."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nodrop.charts import chains, fixed_rate, latency, load_latency, loss, rate_by_frame_size, sankey, search_bounds
from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult


class ChartInput(NamedTuple):
    """What is to be drawn."""

    results: Sequence[RunResult]
    """One or more."""
    steps: Sequence[SearchDecision]
    """The search of the first, step by step."""
    trial: TrialResult | None
    """One trial of the first; None leaves the choice to the chart."""


class ChartKind(NamedTuple):
    """A chart that can be asked for."""

    draw: Callable[[ChartInput], Chart]
    text: str
    """What it shows."""
    takes_several: bool = False
    takes_trial: bool = False


def _sankey(asked: ChartInput) -> Chart:
    trial = asked.trial or sankey.select_trial(asked.results[0])
    if trial is None:
        raise ConfigError(
            f"a picture of where run {asked.results[0].run_id} lost frames asked, nobody counted them on their way; "
            "name a run in a lab or on interfaces of this host"
        )
    return sankey.build_chart(trial)


def _loss(asked: ChartInput) -> Chart:
    return loss.build_chart(asked.results[0], *([asked.trial] if asked.trial else []))


CHART_KINDS: dict[str, ChartKind] = {
    "funnel": ChartKind(
        lambda asked: search_bounds.build_chart(asked.results[0], asked.steps), "trials and bounds over time"
    ),
    "sizes": ChartKind(
        lambda asked: rate_by_frame_size.build_chart(asked.results),
        "frames per second by frame size",
        takes_several=True,
    ),
    "bits": ChartKind(
        lambda asked: rate_by_frame_size.build_chart(asked.results, "bps"),
        "bits per second by frame size",
        takes_several=True,
    ),
    "latency": ChartKind(lambda asked: latency.build_chart(asked.results), "latency by percentile", takes_several=True),
    "latency-ways": ChartKind(
        lambda asked: latency.build_chart(asked.results, each_way=True),
        "the same for each direction",
        takes_several=True,
    ),
    "load-latency": ChartKind(lambda asked: load_latency.build_chart(asked.results[0]), "latency by load"),
    "loss": ChartKind(_loss, "frames lost over time within trials", takes_trial=True),
    "rate": ChartKind(lambda asked: fixed_rate.build_chart(asked.results[0]), "a run at a fixed rate over time"),
    "sankey": ChartKind(_sankey, "where a trial lost frames, by cause", takes_trial=True),
    "chains": ChartKind(
        lambda asked: chains.build_chart(asked.results[0], asked.trial),
        "rate, loss and latency by chain",
        takes_trial=True,
    ),
}
"""Charts of results, by name."""
