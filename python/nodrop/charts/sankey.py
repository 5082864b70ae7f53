"""The loss ledger of a trial as a Sankey diagram: frames flow down the path, losses branch off by cause.

The flow is drawn to scale. Losses have a separate scale where they would be too thin to see: the note states the
magnification.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.errors import ConfigError
from nodrop.formatting import format_small_ratio
from nodrop.model.ledger import DirectionLedger, Hop, LossLedger
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.units import format_count, format_pps

LEFT, BAND, REACH = 250, 130, 90
"""Space for the names of hops, width of the flow, length of a branch; in pixels."""
WIDTH = 860
HOP_HEIGHT, LOST_HEIGHT, END_HEIGHT, WAY_GAP = 24, 24, 24, 26
BRANCH_WIDTH_MAX, BRANCH_WIDTH_MIN = 22.0, 1.0
MAGNIFIED_BELOW = 0.1
"""Share of the flow below which losses are magnified."""
SENDER, RECEIVER = "the tester's sender on ", "the tester's receiver on "
UNKNOWN = "cause unknown"


class LossBranch(NamedTuple):
    """Frames lost at a hop to one cause."""

    side: str
    text: str
    frame_count: int


def build_chart(trial: TrialResult) -> Chart:
    """Build the Sankey diagram of a trial. Raises ConfigError without counters along the path."""
    ways = _merged(trial.ledger.ways) if trial.ledger else []
    if not trial.ledger or not ways:
        raise ConfigError(
            f"trial {trial.index}: no counters along the path, so the place of loss is unknown; "
            "name a trial in a lab or on interfaces of this host"
        )
    layout = _Layout(_magnified(ways))
    for way in ways:
        layout.add(way)
    return Chart(
        name="sankey",
        title=_title(trial),
        note=_scale_text(layout.magnified, trial.ledger),
        summary=" ".join(_way_text(way) for way in ways),
        definition=_definition(layout.height - WAY_GAP),
        data={
            "bands": tuple(layout.bands),
            "branches": tuple(layout.branches),
            "names": tuple(layout.names),
            "labels": tuple(layout.labels),
        },
    )


def select_trial(result: RunResult) -> TrialResult | None:
    """Select a trial with counters along the path: one with loss that decided a bound, else any."""
    counted = {trial.index: trial for trial in result.trials if trial.ledger and trial.ledger.ways}
    bounds = [found.upper.trial_index for found in result.goals if found.upper]
    losing = [trial.index for trial in counted.values() if trial.ledger and trial.ledger.lost_count]
    ordered = [*(index for index in bounds if index in losing), *losing[-1:], *bounds, *counted]
    return next((counted[index] for index in ordered if index in counted), None)


def _title(trial: TrialResult) -> str:
    load = format_pps(trial.trial.intended_load_pps)
    lost = trial.ledger.lost_count if trial.ledger else 0
    if not lost:
        return f"Trial {trial.index} at {load}: no frame was lost"
    due = sum(way.hops[0].in_count for way in trial.ledger.ways if way.hops) if trial.ledger else 0
    return f"Trial {trial.index} at {load}: where {format_count(lost)} of {format_count(due)} frames were lost"


def _scale_text(magnified: float, ledger: LossLedger) -> str:
    if not ledger.lost_count:
        return "widths are to scale"
    if magnified == 1:
        return "widths of flow and losses are to scale; losses thinner than a pixel are drawn one pixel wide"
    return f"losses are to scale with each other, magnified {magnified:,.3g} times relative to the flow"


def _merged(ways: Sequence[DirectionLedger]) -> list[DirectionLedger]:
    """Add up the ways of several chains, hop by hop, to one way per direction."""
    if len(ways) <= 2:
        return [way for way in ways if way.hops]
    groups: dict[tuple[bool, int], list[DirectionLedger]] = {}
    for way in ways:
        groups.setdefault((way.tx_port > way.rx_port, len(way.hops)), []).append(way)
    return [_added(group) for key, group in sorted(groups.items()) if key[1]]


def _added(ways: Sequence[DirectionLedger]) -> DirectionLedger:
    if len(ways) == 1:
        return ways[0]
    hops = []
    for same in zip(*(way.hops for way in ways), strict=True):
        causes: dict[str, int] = {}
        for hop in same:
            for cause in hop.causes:
                causes[cause.text] = causes.get(cause.text, 0) + cause.count
        first = same[0]
        known = {cause.text: cause for hop in same for cause in hop.causes}
        hops.append(
            Hop(
                place=f"{first.place} and {len(same) - 1} more",
                side=first.side,
                in_count=sum(hop.in_count for hop in same),
                out_count=sum(hop.out_count for hop in same),
                causes=tuple(known[text].model_copy(update={"count": count}) for text, count in causes.items()),
            )
        )
    return DirectionLedger(tx_port=ways[0].tx_port, rx_port=ways[0].rx_port, hops=tuple(hops))


def _lost(hop: Hop) -> list[LossBranch]:
    """Return the losses at a hop, largest first."""
    found = [LossBranch(hop.side, cause.text, cause.count) for cause in hop.causes]
    if hop.unattributed_count > 0:
        found.append(LossBranch("unknown", UNKNOWN, hop.unattributed_count))
    return sorted(found, key=lambda lost: -lost.frame_count)


def _magnified(ways: Sequence[DirectionLedger]) -> float:
    """Return the magnification of losses relative to the flow."""
    due = max(way.hops[0].in_count for way in ways)
    most = max((lost.frame_count for way in ways for hop in way.hops for lost in _lost(hop)), default=0)
    if not most or not due or most / due >= MAGNIFIED_BELOW:
        return 1.0
    return BRANCH_WIDTH_MAX / (most / due * BAND)


class _Layout:
    """The ways, stacked vertically, as rows for the marks."""

    def __init__(self, magnified: float) -> None:
        self.magnified = magnified
        self.bands: list[Row] = []
        self.branches: list[Row] = []
        self.names: list[Row] = []
        self.labels: list[Row] = []
        self.height = 0.0
        """Height of the layout, including the gap to the next way."""
        self._way = 0

    def add(self, way: DirectionLedger) -> None:
        """Add a way below the previous ones."""
        due, arrived = way.hops[0].in_count, way.hops[-1].out_count
        start, end = way.hops[0].place.removeprefix(SENDER), way.hops[-1].place.removeprefix(RECEIVER)
        self._edge(due, due)
        self._end(f"sent from {start}", due)
        for hop in way.hops:
            self._hop(hop, due)
        self._edge(arrived, due)
        self._end(f"arrived at {end}", arrived)
        self._edge(arrived, due)
        self.height += WAY_GAP
        self._way += 1

    def _hop(self, hop: Hop, due: int) -> None:
        """Add a hop, as high as its losses need; the flow narrows at each loss."""
        lost = _lost(hop)
        heights = [max(LOST_HEIGHT, self._width(each, due) + 6) for each in lost]
        height = max(HOP_HEIGHT, sum(heights))
        self.names.append({"x": LEFT - 12, "y": self.height + height / 2, "text": hop.place, "weight": "normal"})
        below, left_over = self.height + height, hop.in_count
        self.height += (height - sum(heights)) / 2
        for each, row_height in zip(lost, heights, strict=True):
            width = self._width(each, due)
            self.height += (row_height - width) / 2
            self._edge(left_over, due)
            self._branch(each, left_over, due)
            left_over -= each.frame_count
            self.height += width
            self._edge(left_over, due)
            self.height += (row_height - width) / 2
        self.height = below

    def _width(self, lost: LossBranch, due: int) -> float:
        return max(lost.frame_count / due * BAND * self.magnified, BRANCH_WIDTH_MIN)

    def _edge(self, frame_count: int, due: int) -> None:
        """Add the width of the flow at the current height."""
        right = LEFT + (max(BAND * frame_count / due, 0.5) if due else 0.5)
        self.bands.append({"way": self._way, "y": self.height, "left": LEFT, "right": right})

    def _branch(self, lost: LossBranch, before: int, due: int) -> None:
        ratio = format_small_ratio(lost.frame_count / due)
        text = f"{format_count(lost.frame_count)} ({ratio}): {lost.text}"
        width, end = self._width(lost, due), LEFT + BAND + REACH
        left = LEFT + BAND * (before - lost.frame_count) / due
        top = {"side": lost.side, "text": text, "top": self.height, "bottom": self.height + width}
        self.branches.append(top | {"left": left, "right": end})
        self.labels.append({"x": end + 8, "y": self.height + width / 2, "text": text, "weight": "normal"})

    def _end(self, name: str, frame_count: int) -> None:
        """Add the beginning or end of a way with its number of frames."""
        middle = self.height + END_HEIGHT / 2
        self.names.append({"x": LEFT - 12, "y": middle, "text": name, "weight": "bold"})
        self.labels.append({"x": LEFT + 8, "y": middle, "text": format_count(frame_count), "weight": "bold"})
        self.height += END_HEIGHT


def _way_text(way: DirectionLedger) -> str:
    due, arrived = way.hops[0].in_count, way.hops[-1].out_count
    causes = [
        f"{format_count(lost.frame_count)} at {hop.place} ({lost.text})" for hop in way.hops for lost in _lost(hop)
    ]
    losses = f"lost: {', '.join(causes)}" if causes else "none lost"
    return f"{format_count(arrived)} of {format_count(due)} frames arrived; {losses}."


def _definition(height: float) -> Spec:
    sides = {"tester": "the tester", "wire": "between tester and SUT", "sut": "the SUT", "unknown": "cause unknown"}
    colors = [*(theme.SIDES[side] for side in ("tester", "wire", "sut")), theme.UNKNOWN]
    x: Spec = {"type": "quantitative", "scale": {"domain": [0, WIDTH], "nice": False}, "axis": None}
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [height, 0], "nice": False},
        "axis": None,
    }
    named = " : ".join(f"datum.value == '{side}' ? '{text}'" for side, text in sides.items())
    color = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(sides), "range": colors},
        "legend": {
            "title": "lost by",
            "orient": "bottom",
            "symbolType": "square",
            "labelExpr": f"{named} : ''",
        },
    }
    return {
        "width": WIDTH,
        "height": height,
        "view": {"stroke": None},
        "layer": [
            _texts("names", {"align": "right", "color": theme.INK}, x, y),
            {
                "data": {"name": "bands"},
                "mark": {"type": "area", "orient": "horizontal", "color": theme.FLOW, "aria": False},
                "encoding": {
                    "y": y,
                    "x": x | {"field": "left"},
                    "x2": {"field": "right"},
                    "detail": {"field": "way", "type": "nominal"},
                },
            },
            {
                "data": {"name": "branches"},
                "mark": {"type": "rect"},
                "encoding": {
                    "x": x | {"field": "left"},
                    "x2": {"field": "right"},
                    "y": y | {"field": "top"},
                    "y2": {"field": "bottom"},
                    "color": color,
                    "description": {"field": "text"},
                    "tooltip": {"field": "text"},
                },
            },
            _texts("labels", {"align": "left", "color": theme.INK}, x, y),
        ],
    }


def _texts(data: str, style: Spec, x: Spec, y: Spec) -> Spec:
    bold: Spec = {"expr": "datum.weight"}
    return {
        "data": {"name": data},
        "mark": {"type": "text", "baseline": "middle", "fontSize": theme.FONT_SIZE, "fontWeight": bold} | style,
        "encoding": {"x": x | {"field": "x"}, "y": y, "text": {"field": "text", "type": "nominal"}},
    }
