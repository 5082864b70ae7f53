"""Cells of tables, as they are made most."""

from nodrop.formatting import format_small_ratio
from nodrop.report.document.blocks import Cell, Column, Tone
from nodrop.units import format_count, format_ns, format_pps

NOTHING = Cell(text="-", tone="quiet")


def word(title: str) -> Column:
    """A column of words."""
    return Column(title=title, is_number=False)


def number(title: str, unit: str = "") -> Column:
    """A column of figures."""
    return Column(title=title, unit=unit)


def sentences(title: str) -> Column:
    """A column of sentences."""
    return Column(title=title, is_number=False, is_long=True)


def text(said: str, tone: Tone = "plain") -> Cell:
    """Words."""
    return Cell(text=said, tone=tone) if said else NOTHING


def count(frames: int, tone: Tone = "plain") -> Cell:
    """A number of frames."""
    return Cell(text=format_count(frames), key=frames, tone=tone)


def lost(frames: int) -> Cell:
    """A number of frames lost: none, or something to look at."""
    return count(frames, "caution" if frames else "quiet")


def rate(load_pps: float | None) -> Cell:
    """A packet rate."""
    return NOTHING if load_pps is None else Cell(text=format_pps(load_pps), key=load_pps)


def ratio(share: float | None, tone: Tone = "plain") -> Cell:
    """A share of any size."""
    return NOTHING if share is None else Cell(text=format_small_ratio(share), key=share, tone=tone)


def duration(found_ns: float | None) -> Cell:
    """A latency."""
    return NOTHING if found_ns is None else Cell(text=format_ns(found_ns), key=found_ns)
