"""A table as such, whichever way it is shown: every cell has its text for people and its value for programs."""

from typing import NamedTuple

from nodrop.model.nfvbench import Number

UNKNOWN = "n/a"


class Cell(NamedTuple):
    """One figure or name."""

    text: str
    value: Number | str | None
    loud: bool = False
    """Whether it is something to be seen at once: a loss."""


class Sheet(NamedTuple):
    """A table with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    frame_size: str = ""
    """The frame size all of it is about, if it is about one."""
    seams: tuple[int, ...] = ()
    """Columns that a part of its own may begin with, where all together are too wide."""
    lead_count: int = 1
    """Columns that say what a row is about; every part has them."""


class Lines(NamedTuple):
    """Text between tables."""

    lines: tuple[str, ...]
    warning: bool = False


class Document(NamedTuple):
    """All there is to show of a result: what it is of, then tables and text in order."""

    title: str
    header: tuple[str, ...]
    parts: tuple[Sheet | Lines, ...]


def name(text: str) -> Cell:
    """A name."""
    return Cell(text, text)


def count(value: Number | None) -> Cell:
    """A whole number in groups of three digits."""
    return Cell(f"{round(value):,}", round(value)) if value is not None else unknown()


def percent(value: Number | None) -> Cell:
    """A share in percent; one that is not zero never reads as zero."""
    return Cell(percent_text(value), value, loud=value > 0) if value is not None else unknown()


def bits(value: Number | None) -> Cell:
    """A bit rate with the prefix that suits it; the value is in bits per second."""
    if value is None:
        return unknown()
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return Cell(f"{value / scale:.4f} {prefix}bps", round(value))
    return Cell(f"{value:.4f} bps", round(value))


def usec(value: Number | None) -> Cell:
    """A time in microseconds, with decimals only where it has any."""
    if value is None:
        return unknown()
    whole = float(value).is_integer()
    return Cell(f"{value:,.0f}" if whole else f"{value:,}", value)


def unknown() -> Cell:
    """What is not known."""
    return Cell(UNKNOWN, None)


def percent_text(value: Number) -> str:
    """A share with four decimals, as `0.0022%`."""
    if value and abs(value) < 0.00005:
        return f"{'<' if value > 0 else '>-'}0.0001%"
    return f"{value:.4f}%"
