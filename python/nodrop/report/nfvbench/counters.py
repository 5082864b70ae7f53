"""The tables of a way through the chains: counters at each hop, and latency."""

from collections.abc import Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.model.nfvbench import Number
from nodrop.report.nfvbench.table import Cell, Sheet, count, name, percent_text, unknown, usec

UNCHANGED = "=>"
DELAYS = (("Avg lat. (usec)", "lat_avg_usec"), ("Min lat. (usec)", "lat_min_usec"), ("Max lat. (usec)", "lat_max_usec"))


def path_sheets(measured: object, frame_size: str, prefix: str = "") -> Iterator[Sheet]:
    """One table for each direction that had traffic.

    Args:
        measured: what holds `packet_path_stats`.
        frame_size: what it was measured with.
        prefix: what to begin the titles with, as `NDR: `.
    """
    for way, found in reading.branch(measured, "packet_path_stats").items():
        path = reading.branch({way: found}, way)
        interfaces = tuple(str(interface) for interface in reading.listed(path, "interfaces"))
        chains = reading.branch(path, "chains")
        if interfaces and any(_packets_seen(chain) for chain in chains.values()):
            yield _path_sheet(f"{prefix}{way} Chain Packet Counters and Latency", interfaces, chains, frame_size)


def percentile_column(percentile: str) -> str:
    """What a column of a percentile is called."""
    return f"{percentile} %ile lat. (usec)"


def _path_sheet(title: str, interfaces: tuple[str, ...], chains: dict[str, Any], frame_size: str) -> Sheet:
    percentiles = _percentiles(chains)
    columns = ("Chain", *interfaces, "Lost", *(label for label, _ in DELAYS), *map(percentile_column, percentiles))
    rows = [
        (
            name(chain),
            *counter_cells([reading.number(seen) if seen != "" else "" for seen in _packets(found, len(interfaces))]),
            *(usec(reading.number(found, field)) for _, field in DELAYS),
            *(usec(reading.percentiles(found).get(percentile)) for percentile in percentiles),
        )
        for chain, found in sorted(chains.items(), key=_chain_order)
    ]
    return Sheet(title, columns, tuple(rows), frame_size, seams=(len(interfaces) + 2,))


def counter_cells(counters: list[Number | str | None]) -> Iterator[Cell]:
    """A chain's counters from hop to hop, and what was lost between the first and the last.

    The first and the last are shown as they are; between them what changed since the hop before. An empty text stands
    for a counter that chains share, which is their total's.
    """
    before: Number | None = None
    for place, counter in enumerate(counters):
        if isinstance(counter, str):
            yield name(counter)
            continue
        if counter is None:
            yield unknown()
            continue
        yield count(counter) if place in (0, len(counters) - 1) or before is None else _change_cell(before, counter)
        before = counter
    yield _lost_cell(counters[0] if counters else None, counters[-1] if counters else None)


def _change_cell(before: Number, counter: Number) -> Cell:
    change = counter - before
    if not change:
        return Cell(UNCHANGED, counter)
    share = f" ({100 * change / before:+.4f}%)" if before else ""
    return Cell(f"{change:+,}{share}", counter, loud=change < 0)


def _lost_cell(sent: Number | str | None, received: Number | str | None) -> Cell:
    if sent is None or received is None or isinstance(sent, str) or isinstance(received, str):
        return unknown()
    lost = sent - received
    share = f" ({percent_text(100 * lost / sent)})" if sent and lost else ""
    return Cell(f"{lost:,}{share}", lost, loud=lost > 0)


def _packets(found: object, interface_count: int) -> list[Any]:
    return (reading.listed(found, "packets") + [None] * interface_count)[:interface_count]


def _packets_seen(found: object) -> bool:
    """Whether any counter is known and not zero."""
    return any(reading.number(packets) for packets in reading.listed(found, "packets"))


def _percentiles(chains: dict[str, Any]) -> tuple[str, ...]:
    """Every percentile that is known of any chain, lowest first."""
    known: dict[str, None] = {}
    for found in chains.values():
        known.update(dict.fromkeys(reading.percentiles(found)))
    return tuple(sorted(known, key=lambda key: float(key) if key.replace(".", "", 1).isdecimal() else float("inf")))


def _chain_order(item: tuple[str, Any]) -> tuple[bool, int, str]:
    """Chains by number, then their total."""
    chain = item[0]
    return not chain.isdecimal(), int(chain) if chain.isdecimal() else 0, chain
