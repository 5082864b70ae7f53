"""What pictures of results are called, what they mean and in which unit, whoever draws them.

Those that are charts of ours are called what `nodrop plot` calls them.
"""

from typing import Literal, NamedTuple

from nodrop.charts.catalogue import CHART_KINDS
from nodrop.model.summary import MeasureUnit


class PanelLabel(NamedTuple):
    """A picture in words."""

    title: str
    meaning: str
    unit: MeasureUnit | Literal[""]


def _named(chart: str) -> str:
    text = CHART_KINDS[chart].text
    return text[0].upper() + text[1:]


LOAD = PanelLabel(
    "Highest load that meets a goal", "Frames per second over all directions, run by run: at least that.", "pps"
)
LOAD_BY_SIZE = PanelLabel(
    _named("sizes"),
    "Highest load that meets a goal, frames per second over all directions; the last run of each.",
    "pps",
)
BITS_BY_SIZE = PanelLabel(
    _named("bits"), "The same on the wire, preamble and gap included, and what the links carry.", ""
)
LATENCY_BY_SHARE = PanelLabel(
    _named("latency"), "At the load found: how long so many of the frames took at most.", "ns"
)
LATENCY = PanelLabel("Latency at the load found", "Receive time minus send time of the slowest direction.", "ns")
LOSS = PanelLabel("Loss at the load found", "Frames lost of those sent, and what the goal allows.", "ratio")
LIMIT = PanelLabel(
    "What kept the load from going higher",
    "sut: the system under test. Anything else: the figure is what it does at least, not what it can.",
    "",
)
TRIALS = PanelLabel("Trials", "By how far they can be trusted; invalid ones moved no bound.", "")
RUNNING = PanelLabel(_named("funnel"), "Load of the trial that goes on, and the bounds of each goal closing in.", "pps")
ALLOWED = "allowed"
