"""The charts of results, by name."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nodrop.charts import chains, fixed_rate, latency, load_latency, loss, rate_by_frame_size, sankey, search_bounds
from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult


class Asked(NamedTuple):
    """What is to be drawn."""

    results: Sequence[RunResult]
    """One or more."""
    steps: Sequence[SearchDecision]
    """The search of the first, step by step."""
    trial: TrialResult | None
    """One trial of the first; None leaves the choice to the chart."""


class Kind(NamedTuple):
    """A chart that can be asked for."""

    draw: Callable[[Asked], Chart]
    text: str
    """What it shows."""
    takes_several: bool = False
    takes_trial: bool = False


def _sankey(asked: Asked) -> Chart:
    trial = asked.trial or sankey.telling_trial(asked.results[0])
    if trial is None:
        raise ConfigError(
            f"a picture of where run {asked.results[0].run_id} lost frames asked, nobody counted them on their way; "
            "name a run in a lab or on interfaces of this host"
        )
    return sankey.chart(trial)


def _loss(asked: Asked) -> Chart:
    return loss.chart(asked.results[0], *([asked.trial] if asked.trial else []))


KINDS: dict[str, Kind] = {
    "funnel": Kind(lambda asked: search_bounds.chart(asked.results[0], asked.steps), "trials and bounds over time"),
    "sizes": Kind(
        lambda asked: rate_by_frame_size.chart(asked.results), "frames per second by frame size", takes_several=True
    ),
    "bits": Kind(
        lambda asked: rate_by_frame_size.chart(asked.results, "bps"),
        "bits per second by frame size",
        takes_several=True,
    ),
    "latency": Kind(lambda asked: latency.chart(asked.results), "latency by percentile", takes_several=True),
    "latency-ways": Kind(
        lambda asked: latency.chart(asked.results, each_way=True), "the same for each direction", takes_several=True
    ),
    "load-latency": Kind(lambda asked: load_latency.chart(asked.results[0]), "latency by load"),
    "loss": Kind(_loss, "frames lost over time within trials", takes_trial=True),
    "rate": Kind(lambda asked: fixed_rate.chart(asked.results[0]), "a run at a fixed rate over time"),
    "sankey": Kind(_sankey, "where a trial lost frames, by cause", takes_trial=True),
    "chains": Kind(
        lambda asked: chains.chart(asked.results[0], asked.trial), "rate, loss and latency by chain", takes_trial=True
    ),
}
"""Charts of results, by name."""
