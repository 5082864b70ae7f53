"""What a person sees of it."""

import statistics
from collections.abc import Iterable, Sequence

from benchmarks.engine.demands import spread
from benchmarks.engine.groups import Group
from benchmarks.engine.measure import Measurement
from rich.console import Console
from rich.table import Table

HEADINGS = ("sent Mpps", "received Mpps", "received/sent", "CPU cores", "CPU ns/frame", "softirq cores", "other cores")


def print_rates(console: Console, group: Group, rows: Sequence[Measurement]) -> None:
    """One row per contestant of a group: median (lowest to highest) over the rounds."""
    title = f"{group.title}: {group.frame_bytes}-byte frames, median (lowest to highest) over rounds"
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for contestant in group.contestants:
        mine = [one for one in rows if one.contestant == contestant.name]
        if mine:
            table.add_row(contestant.name, *_cells(mine))
    console.print(table)


def _cells(rows: Sequence[Measurement]) -> Iterable[str]:
    received = [(row.received_pps, row.sent_pps) for row in rows if row.received_pps is not None]
    yield spread([row.sent_pps / 1e6 for row in rows])
    yield spread([got / 1e6 for got, _ in received]) if received else ""
    yield f"{statistics.median(got / sent for got, sent in received):.1%}" if received else ""
    yield _median([row.cpu_cores for row in rows], 2)
    yield _median([row.cpu_ns_per_frame for row in rows], 0)
    yield _median([row.softirq_cores for row in rows], 2)
    yield _median([row.other_cores for row in rows], 2)


def _median(values: Iterable[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.{digits}f}" if known else ""
