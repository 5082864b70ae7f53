"""Titles, descriptions and units of dashboard panels.

Panels that correspond to a chart have the title of `nodrop plot`.
"""

from typing import Literal, NamedTuple

from nodrop.charts.catalogue import CHART_KINDS
from nodrop.model.summary import MeasureUnit


class PanelLabel(NamedTuple):
    """Title, description and unit of a panel."""

    title: str
    meaning: str
    unit: MeasureUnit | Literal[""]


def _add_names(chart: str) -> str:
    text = CHART_KINDS[chart].text
    return text[0].upper() + text[1:]


LOAD = PanelLabel(
    "Highest load that meets a goal", "Lower bound of each run, frames per second over all directions.", "pps"
)
LOAD_BY_SIZE = PanelLabel(
    _add_names("sizes"),
    "Highest load that meets a goal, frames per second over all directions; last run of each frame size.",
    "pps",
)
BITS_BY_SIZE = PanelLabel(
    _add_names("bits"), "Bits per second on the wire, including preamble and gap, and the line rate.", ""
)
LATENCY_BY_SHARE = PanelLabel(_add_names("latency"), "Latency by percentile at the resulting load.", "ns")
LATENCY = PanelLabel("Latency at the resulting load", "Receive time minus send time of the slowest direction.", "ns")
LOSS = PanelLabel(
    "Loss at the resulting load", "Loss ratio of sent frames, and the ratio that the goal allows.", "ratio"
)
LIMIT = PanelLabel(
    "Limit of the load",
    "sut: the system under test. Any other limit: the value is a lower limit of what the SUT forwards.",
    "",
)
TRIALS = PanelLabel("Trials", "Trials by validity; invalid trials move no bound.", "")
RUNNING = PanelLabel(_add_names("funnel"), "Load of the current trial, and the converging bounds of each goal.", "pps")
ALLOWED = "allowed"
