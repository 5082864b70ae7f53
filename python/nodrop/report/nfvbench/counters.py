"""The tables of a direction through the chains: counters at each hop, and latency."""

from collections.abc import Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.model.nfvbench import Number
from nodrop.report.document.blocks import Cell, Table
from nodrop.report.nfvbench.cells import (
    UNKNOWN,
    count_cell,
    format_percent,
    make_number_column,
    make_usec_cell,
    name_cell,
    name_column,
)

UNCHANGED = "=>"
DELAYS = (("Avg lat. (usec)", "lat_avg_usec"), ("Min lat. (usec)", "lat_min_usec"), ("Max lat. (usec)", "lat_max_usec"))


def build_path_tables(measured: object, prefix: str = "") -> Iterator[Table]:
    """Yield a table for each direction with traffic.

    Args:
        measured: an object with `packet_path_stats`.
        prefix: the start of the captions: `NDR: `.
    """
    stats = reading.get_section(measured, "packet_path_stats")
    for way in stats:
        path = reading.get_section(stats, way)
        interfaces = tuple(str(interface) for interface in reading.get_list(path, "interfaces"))
        chains = reading.get_section(path, "chains")
        if interfaces and any(_has_packets(chain) for chain in chains.values()):
            yield _build_path_table(f"{prefix}{way} Chain Packet Counters and Latency", interfaces, chains)


def format_percentile_title(percentile: str) -> str:
    """Return the title of a column of a percentile."""
    return f"{percentile} %ile lat. (usec)"


def _build_path_table(caption: str, interfaces: tuple[str, ...], chains: dict[str, Any]) -> Table:
    percentiles = _list_percentiles(chains)
    delays = (*(label for label, _ in DELAYS), *map(format_percentile_title, percentiles))
    rows = tuple(
        (
            name_cell(chain),
            *_build_counters([each if each == "" else reading.get_number(each) for each in packets]),
            *(make_usec_cell(reading.get_number(counters, field)) for _, field in DELAYS),
            *(make_usec_cell(reading.read_percentiles(counters).get(percentile)) for percentile in percentiles),
        )
        for chain, counters in sorted(chains.items(), key=_make_chain_sort_key)
        for packets in (_list_packets(counters, len(interfaces)),)
    )
    columns = (
        name_column("Chain"),
        *map(make_number_column, (*interfaces, "Lost")),
        *(make_number_column(title, starts_part=not position) for position, title in enumerate(delays)),
    )
    return Table(caption=caption, columns=columns, rows=rows)


def _build_counters(counters: list[Number | str | None]) -> Iterator[Cell]:
    """Yield a chain's counters from hop to hop, and the loss between the first and the last.

    The first and the last are absolute; those between are changes since the previous hop. An empty text is a counter
    that chains share; the total has it.
    """
    before: Number | None = None
    for position, counter in enumerate(counters):
        if isinstance(counter, str):
            yield name_cell(counter)
            continue
        if counter is None:
            yield UNKNOWN
            continue
        is_end = position in (0, len(counters) - 1)
        yield count_cell(counter) if is_end or before is None else _build_change(before, counter)
        before = counter
    yield _build_loss(counters[0] if counters else None, counters[-1] if counters else None)


def _build_change(before: Number, counter: Number) -> Cell:
    change = counter - before
    if not change:
        return Cell(text=UNCHANGED, key=counter)
    share = f" ({100 * change / before:+.4f}%)" if before else ""
    return Cell(text=f"{change:+,}{share}", key=counter, tone="bad" if change < 0 else "plain")


def _build_loss(sent: Number | str | None, received: Number | str | None) -> Cell:
    if sent is None or received is None or isinstance(sent, str) or isinstance(received, str):
        return UNKNOWN
    lost = sent - received
    share = f" ({format_percent(100 * lost / sent)})" if sent and lost else ""
    return Cell(text=f"{lost:,}{share}", key=lost, tone="bad" if lost > 0 else "caution" if lost < 0 else "plain")


def _list_packets(counters: object, interface_count: int) -> list[Any]:
    return (reading.get_list(counters, "packets") + [None] * interface_count)[:interface_count]


def _has_packets(counters: object) -> bool:
    """Return whether any counter is known and not zero."""
    return any(reading.get_number(packets) for packets in reading.get_list(counters, "packets"))


def _list_percentiles(chains: dict[str, Any]) -> tuple[str, ...]:
    """Return every percentile known of any chain, lowest first."""
    percentiles: dict[str, None] = {}
    for counters in chains.values():
        percentiles.update(dict.fromkeys(reading.read_percentiles(counters)))
    return tuple(
        sorted(percentiles, key=lambda key: float(key) if key.replace(".", "", 1).isdecimal() else float("inf"))
    )


def _make_chain_sort_key(item: tuple[str, Any]) -> tuple[bool, int, str]:
    """Return a key that sorts chains by number, then their total."""
    chain = item[0]
    return not chain.isdecimal(), int(chain) if chain.isdecimal() else 0, chain
