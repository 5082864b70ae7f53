"""Charts, where there is something to draw."""

from collections.abc import Callable

from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.report.document.blocks import Figure


def figure(draw: Callable[[], Chart]) -> tuple[Figure, ...]:
    """A chart; none where it has nothing to show, which it says itself by a ConfigError."""
    try:
        return (Figure(chart=draw()),)
    except ConfigError:
        return ()
