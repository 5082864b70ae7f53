"""Constructors of frequent columns and cells."""

from nodrop.formatting import format_small_ratio
from nodrop.report.document.blocks import Cell, Column, Tone
from nodrop.units import format_bps, format_count, format_ns, format_pps

NOTHING = Cell(text="-", tone="quiet")


def make_text_column(title: str, *, is_detail: bool = False, is_lead: bool = False) -> Column:
    """Return a column of words."""
    return Column(title=title, is_number=False, is_detail=is_detail, is_lead=is_lead)


def make_number_column(title: str, unit: str = "", *, is_detail: bool = False) -> Column:
    """Return a column of figures."""
    return Column(title=title, unit=unit, is_detail=is_detail)


def make_prose_column(title: str) -> Column:
    """Return a column of sentences."""
    return Column(title=title, is_number=False, is_long=True)


def make_text_cell(text: str, tone: Tone = "plain") -> Cell:
    """Return words."""
    return Cell(text=text, tone=tone) if text else NOTHING


def make_number_cell(number: int | None) -> Cell:
    """Return a small number, such as an index."""
    return NOTHING if number is None else Cell(text=str(number), key=number)


def count_cell(frame_count: int, tone: Tone = "plain") -> Cell:
    """Return a number of frames."""
    return Cell(text=format_count(frame_count), key=frame_count, tone=tone)


def make_loss_cell(frame_count: int) -> Cell:
    """Return a number of lost frames; any loss stands out."""
    return count_cell(frame_count, "caution" if frame_count else "quiet")


def make_rate_cell(load_pps: float | None) -> Cell:
    """Return a packet rate."""
    return NOTHING if load_pps is None else Cell(text=format_pps(load_pps), key=load_pps)


def make_bit_rate_cell(rate_bps: float | None) -> Cell:
    """Return a bit rate."""
    return Cell(text=format_bps(rate_bps), key=rate_bps) if rate_bps else NOTHING


def make_ratio_cell(ratio: float | None, tone: Tone = "plain") -> Cell:
    """Return a ratio of any size."""
    return NOTHING if ratio is None else Cell(text=format_small_ratio(ratio), key=ratio, tone=tone)


def make_loss_ratio_cell(ratio: float | None) -> Cell:
    """Return a loss ratio; any loss stands out."""
    return make_ratio_cell(ratio, "caution" if ratio else "quiet")


def make_share_cell(part: int, whole: int) -> Cell:
    """Return a part of a whole, drawn as a bar; an empty cell without the part."""
    share = part / whole if part and whole else None
    return Cell(text="") if share is None else make_ratio_cell(share).replace(share=share)


def make_latency_cell(latency_ns: float | None) -> Cell:
    """Return a latency."""
    return NOTHING if latency_ns is None else Cell(text=format_ns(latency_ns), key=latency_ns)
