"""Repeats of one set-up: what they found, and how far they differ."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from nodrop.analysis.spread import Spread
from nodrop.formatting import format_measure
from nodrop.report.tables import plain_table
from nodrop.units import format_ratio


def repeats_table(spreads: Sequence[Spread]) -> Table:
    """Every figure with its middle, its range, and where its mean is."""
    several = len({each.frame_size for each in spreads}) > 1
    sizes = ("frame size",) if several else ()
    table = plain_table(*sizes, "figure", "runs", "median", "lowest", "highest", "spread", "mean, 95 % sure")
    for each in spreads:
        least = "≥ " if each.at_least else ""
        table.add_row(
            *((each.frame_size,) if several else ()),
            Text(each.text, style="bold" if each.unit == "pps" else ""),
            str(each.count),
            f"{least}{format_measure(each.median, each.unit)}",
            format_measure(each.lowest, each.unit),
            format_measure(each.highest, each.unit),
            _deviation_text(each),
            _mean_text(each),
        )
    return table


def _deviation_text(each: Spread) -> str:
    if each.deviation is None:
        return "-"
    middle = (each.mean_low or 0.0) / 2 + (each.mean_high or 0.0) / 2
    return format_ratio(each.deviation / middle) if middle else "0 %"


def _mean_text(each: Spread) -> str:
    if each.mean_low is None or each.mean_high is None:
        return "-"
    return f"{format_measure(each.mean_low, each.unit)} to {format_measure(each.mean_high, each.unit)}"
