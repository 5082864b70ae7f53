"""Cells with NFVbench's number formats."""

from nodrop.model.nfvbench import Number
from nodrop.report.document.blocks import Cell, Column

UNKNOWN = Cell(text="n/a")
NO_DELAY_USEC = 2**63 - 1
"""NFVbench's minimum where no latency was measured; its other latencies are -1 then."""


def make_number_column(title: str, *, starts_part: bool = False) -> Column:
    """Return a column of figures."""
    return Column(title=title, csv_name=title, starts_part=starts_part)


def name_column(title: str) -> Column:
    """Return a column of names, which each part of a wide table repeats."""
    return Column(title=title, csv_name=title, is_number=False, is_lead=True)


def name_cell(text: str) -> Cell:
    """Return a name."""
    return Cell(text=text)


def count_cell(value: Number | None) -> Cell:
    """Return a whole number in groups of three digits."""
    return Cell(text=f"{round(value):,}", key=round(value)) if value is not None else UNKNOWN


def make_percent_cell(value: Number | None) -> Cell:
    """Return a share in percent; a share above zero never reads as zero."""
    if value is None:
        return UNKNOWN
    return Cell(text=format_percent(value), key=value, tone="bad" if value > 0 else "caution" if value < 0 else "plain")


def make_bit_rate_cell(value: Number | None) -> Cell:
    """Return a bit rate with a suitable prefix; the key is in bits per second."""
    if value is None:
        return UNKNOWN
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return Cell(text=f"{value / scale:.4f} {prefix}bps", key=round(value))
    return Cell(text=f"{value:.4f} bps", key=round(value))


def make_usec_cell(value: Number | None) -> Cell:
    """Return a time in microseconds, with decimals only if it has any; an impossible one is unknown."""
    if value is None or not 0 <= value < NO_DELAY_USEC:
        return UNKNOWN
    is_integer = float(value).is_integer()
    return Cell(text=f"{value:,.0f}" if is_integer else f"{value:,}", key=value)


def format_percent(value: Number) -> str:
    """Return a share with four decimals: `0.0022%`."""
    if value and abs(value) < 0.00005:
        return f"{'<' if value > 0 else '>-'}0.0001%"
    return f"{value:.4f}%"
