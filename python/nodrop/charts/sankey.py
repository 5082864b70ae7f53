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
    directions = _merge_chains(trial.ledger.ways) if trial.ledger else []
    if not trial.ledger or not directions:
        raise ConfigError(
            f"trial {trial.index}: no counters along the path, so the place of loss is unknown; "
            "name a trial in a lab or on interfaces of this host"
        )
    layout = _Layout(_compute_magnification(directions))
    for direction in directions:
        layout.add(direction)
    return Chart(
        name="sankey",
        title=_format_title(trial),
        note=_describe_scale(layout.magnification, trial.ledger),
        summary=" ".join(_describe_direction(direction) for direction in directions),
        definition=_build_definition(layout.height - WAY_GAP),
        data={
            "bands": tuple(layout.bands),
            "branches": tuple(layout.branches),
            "names": tuple(layout.names),
            "labels": tuple(layout.labels),
        },
    )


def select_trial(result: RunResult) -> TrialResult | None:
    """Select a trial with counters along the path: one with loss that decided a bound, else any."""
    counted_trials = {trial.index: trial for trial in result.trials if trial.ledger and trial.ledger.ways}
    bounds = [goal_result.upper.trial_index for goal_result in result.goals if goal_result.upper]
    losing = [trial.index for trial in counted_trials.values() if trial.ledger and trial.ledger.lost_count]
    ordered = [*(index for index in bounds if index in losing), *losing[-1:], *bounds, *counted_trials]
    return next((counted_trials[index] for index in ordered if index in counted_trials), None)


def _format_title(trial: TrialResult) -> str:
    load = format_pps(trial.trial.intended_load_pps)
    lost_count = trial.ledger.lost_count if trial.ledger else 0
    if not lost_count:
        return f"Trial {trial.index} at {load}: no frame was lost"
    sent_count = (
        sum(direction.hops[0].in_count for direction in trial.ledger.ways if direction.hops) if trial.ledger else 0
    )
    counts = f"{format_count(lost_count)} of {format_count(sent_count)}"
    return f"Trial {trial.index} at {load}: where {counts} frames were lost"


def _describe_scale(magnification: float, ledger: LossLedger) -> str:
    if not ledger.lost_count:
        return "widths are to scale"
    if magnification == 1:
        return "widths of flow and losses are to scale; losses thinner than a pixel are drawn one pixel wide"
    return f"losses are to scale with each other, magnified {magnification:,.3g} times relative to the flow"


def _merge_chains(directions: Sequence[DirectionLedger]) -> list[DirectionLedger]:
    """Add up the ways of several chains, hop by hop, to one way per direction."""
    if len(directions) <= 2:
        return [direction for direction in directions if direction.hops]
    groups: dict[tuple[bool, int], list[DirectionLedger]] = {}
    for direction in directions:
        groups.setdefault((direction.tx_port > direction.rx_port, len(direction.hops)), []).append(direction)
    return [_add_up(group) for key, group in sorted(groups.items()) if key[1]]


def _add_up(directions: Sequence[DirectionLedger]) -> DirectionLedger:
    if len(directions) == 1:
        return directions[0]
    hops = []
    for same in zip(*(direction.hops for direction in directions), strict=True):
        causes: dict[str, int] = {}
        for hop in same:
            for cause in hop.causes:
                causes[cause.text] = causes.get(cause.text, 0) + cause.count
        first = same[0]
        cause_by_text = {cause.text: cause for hop in same for cause in hop.causes}
        hops.append(
            Hop(
                place=f"{first.place} and {len(same) - 1} more",
                side=first.side,
                in_count=sum(hop.in_count for hop in same),
                out_count=sum(hop.out_count for hop in same),
                causes=tuple(cause_by_text[text].model_copy(update={"count": count}) for text, count in causes.items()),
            )
        )
    return DirectionLedger(tx_port=directions[0].tx_port, rx_port=directions[0].rx_port, hops=tuple(hops))


def _list_losses(hop: Hop) -> list[LossBranch]:
    """Return the losses at a hop, largest first."""
    losses = [LossBranch(hop.side, cause.text, cause.count) for cause in hop.causes]
    if hop.unattributed_count > 0:
        losses.append(LossBranch("unknown", UNKNOWN, hop.unattributed_count))
    return sorted(losses, key=lambda lost: -lost.frame_count)


def _compute_magnification(directions: Sequence[DirectionLedger]) -> float:
    """Return the magnification of losses relative to the flow."""
    sent_count = max(direction.hops[0].in_count for direction in directions)
    most_lost = max(
        (lost.frame_count for direction in directions for hop in direction.hops for lost in _list_losses(hop)),
        default=0,
    )
    if not most_lost or not sent_count or most_lost / sent_count >= MAGNIFIED_BELOW:
        return 1.0
    return BRANCH_WIDTH_MAX / (most_lost / sent_count * BAND)


class _Layout:
    """The ways, stacked vertically, as rows for the marks."""

    def __init__(self, magnification: float) -> None:
        self.magnification = magnification
        self.bands: list[Row] = []
        self.branches: list[Row] = []
        self.names: list[Row] = []
        self.labels: list[Row] = []
        self.height = 0.0
        """Height of the layout, including the gap to the next way."""
        self._direction_index = 0

    def add(self, direction: DirectionLedger) -> None:
        """Add a way below the previous ones."""
        sent_count, arrived_count = direction.hops[0].in_count, direction.hops[-1].out_count
        start, end = direction.hops[0].place.removeprefix(SENDER), direction.hops[-1].place.removeprefix(RECEIVER)
        self._edge(sent_count, sent_count)
        self._end(f"sent from {start}", sent_count)
        for hop in direction.hops:
            self._hop(hop, sent_count)
        self._edge(arrived_count, sent_count)
        self._end(f"arrived at {end}", arrived_count)
        self._edge(arrived_count, sent_count)
        self.height += WAY_GAP
        self._direction_index += 1

    def _hop(self, hop: Hop, sent_count: int) -> None:
        """Add a hop, as high as its losses need; the flow narrows at each loss."""
        losses = _list_losses(hop)
        heights = [max(LOST_HEIGHT, self._width(each, sent_count) + 6) for each in losses]
        height = max(HOP_HEIGHT, sum(heights))
        self.names.append({"x": LEFT - 12, "y": self.height + height / 2, "text": hop.place, "weight": "normal"})
        below, remaining_count = self.height + height, hop.in_count
        self.height += (height - sum(heights)) / 2
        for each, row_height in zip(losses, heights, strict=True):
            width = self._width(each, sent_count)
            self.height += (row_height - width) / 2
            self._edge(remaining_count, sent_count)
            self._branch(each, remaining_count, sent_count)
            remaining_count -= each.frame_count
            self.height += width
            self._edge(remaining_count, sent_count)
            self.height += (row_height - width) / 2
        self.height = below

    def _width(self, loss: LossBranch, sent_count: int) -> float:
        return max(loss.frame_count / sent_count * BAND * self.magnification, BRANCH_WIDTH_MIN)

    def _edge(self, frame_count: int, sent_count: int) -> None:
        """Add the width of the flow at the current height."""
        right = LEFT + (max(BAND * frame_count / sent_count, 0.5) if sent_count else 0.5)
        self.bands.append({"way": self._direction_index, "y": self.height, "left": LEFT, "right": right})

    def _branch(self, loss: LossBranch, frame_count: int, sent_count: int) -> None:
        ratio = format_small_ratio(loss.frame_count / sent_count)
        text = f"{format_count(loss.frame_count)} ({ratio}): {loss.text}"
        width, end = self._width(loss, sent_count), LEFT + BAND + REACH
        left = LEFT + BAND * (frame_count - loss.frame_count) / sent_count
        top = {"side": loss.side, "text": text, "top": self.height, "bottom": self.height + width}
        self.branches.append(top | {"left": left, "right": end})
        self.labels.append({"x": end + 8, "y": self.height + width / 2, "text": text, "weight": "normal"})

    def _end(self, name: str, frame_count: int) -> None:
        """Add the beginning or end of a way with its number of frames."""
        middle = self.height + END_HEIGHT / 2
        self.names.append({"x": LEFT - 12, "y": middle, "text": name, "weight": "bold"})
        self.labels.append({"x": LEFT + 8, "y": middle, "text": format_count(frame_count), "weight": "bold"})
        self.height += END_HEIGHT


def _describe_direction(direction: DirectionLedger) -> str:
    sent_count, arrived_count = direction.hops[0].in_count, direction.hops[-1].out_count
    causes = [
        f"{format_count(loss.frame_count)} at {hop.place} ({loss.text})"
        for hop in direction.hops
        for loss in _list_losses(hop)
    ]
    losses = f"lost: {', '.join(causes)}" if causes else "none lost"
    return f"{format_count(arrived_count)} of {format_count(sent_count)} frames arrived; {losses}."


def _build_definition(height: float) -> Spec:
    sides = {"tester": "the tester", "wire": "between tester and SUT", "sut": "the SUT", "unknown": "cause unknown"}
    colors = [*(theme.SIDES[side] for side in ("tester", "wire", "sut")), theme.UNKNOWN]
    x: Spec = {"type": "quantitative", "scale": {"domain": [0, WIDTH], "nice": False}, "axis": None}
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [height, 0], "nice": False},
        "axis": None,
    }
    expression = " : ".join(f"datum.value == '{side}' ? '{text}'" for side, text in sides.items())
    color = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(sides), "range": colors},
        "legend": {
            "title": "lost by",
            "orient": "bottom",
            "symbolType": "square",
            "labelExpr": f"{expression} : ''",
        },
    }
    return {
        "width": WIDTH,
        "height": height,
        "view": {"stroke": None},
        "layer": [
            _build_text_layer("names", {"align": "right", "color": theme.INK}, x, y),
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
            _build_text_layer("labels", {"align": "left", "color": theme.INK}, x, y),
        ],
    }


def _build_text_layer(data: str, style: Spec, x: Spec, y: Spec) -> Spec:
    bold: Spec = {"expr": "datum.weight"}
    return {
        "data": {"name": data},
        "mark": {"type": "text", "baseline": "middle", "fontSize": theme.FONT_SIZE, "fontWeight": bold} | style,
        "encoding": {"x": x | {"field": "x"}, "y": y, "text": {"field": "text", "type": "nominal"}},
    }
