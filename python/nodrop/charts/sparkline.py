"""A sparkline: the values of the last runs in a line of text, drawn without a renderer.

A page that is requested every few seconds while a run measures on the same machine cannot afford one.
"""

from collections.abc import Sequence

from nodrop.model.base import Value

WIDTH, HEIGHT, MARGIN = 240.0, 48.0, 5.0
"""Size of the drawing and the space around the points, in pixels."""
RANGE_MIN = 0.02
"""Smallest range of the vertical axis as a share of the largest value, so that noise is not drawn as a mountain."""


class SparklinePoint(Value):
    """A run in a sparkline."""

    x: float
    y: float
    """Pixels from the top left."""
    run_id: str
    text: str
    """Its value."""
    is_limit: bool
    """Whether the value is only a lower limit."""


class Sparkline(Value):
    """The values of the runs of one setup, oldest first."""

    width: float = WIDTH
    height: float = HEIGHT
    points: tuple[SparklinePoint, ...]

    @property
    def line(self) -> str:
        """The points in the form of SVG."""
        return " ".join(f"{point.x:g},{point.y:g}" for point in self.points)


def build_sparkline(runs: Sequence[tuple[str, float, str, bool]]) -> Sparkline:
    """Build a sparkline from id, value, text and kind (whether it is a lower limit) of each run, oldest first."""
    values = [value for _, value, _, _ in runs]
    top = max(values)
    span = max(top - min(values), RANGE_MIN * abs(top)) or 1.0
    middle = (top + min(values)) / 2
    step = (WIDTH - 2 * MARGIN) / max(1, len(runs) - 1)
    return Sparkline(
        points=tuple(
            SparklinePoint(
                x=round(MARGIN + number * step, 1),
                y=round(HEIGHT / 2 - (value - middle) / span * (HEIGHT - 2 * MARGIN), 1),
                run_id=run_id,
                text=text,
                is_limit=is_limit,
            )
            for number, (run_id, value, text, is_limit) in enumerate(runs)
        )
    )
