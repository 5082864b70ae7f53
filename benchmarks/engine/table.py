"""What a person sees of it."""

import statistics
from collections.abc import Iterable, Sequence

from benchmarks.engine.measure import Measurement
from benchmarks.engine.ratio import Ratio
from rich.console import Console
from rich.table import Table


def print_rates(console: Console, measurements: Sequence[Measurement], names: Sequence[str], frame_bytes: int) -> None:
    """One row per contestant: median (lowest to highest) over the rounds."""
    table = Table(title=f"{frame_bytes}-byte frames, one direction, median (lowest to highest) over rounds")
    for heading in ("", "sent Mpps", "received Mpps", "received/sent", "CPU cores", "softirq cores", "other cores"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name in names:
        rows = [one for one in measurements if one.contestant == name and one.frame_bytes == frame_bytes]
        if rows:
            table.add_row(name, *_cells(rows))
    console.print(table)


def print_ratios(console: Console, ratios: Sequence[Ratio]) -> None:
    """One row per pair."""
    table = Table(title="ratio within each round, median (lowest to highest)")
    for heading in ("frame", "", "rate", "ratio"):
        table.add_column(heading, justify="right" if heading == "ratio" else "left", no_wrap=True)
    for ratio in ratios:
        rate = ratio.rate.removesuffix("_pps")
        table.add_row(str(ratio.frame_bytes), f"{ratio.ours} / {ratio.theirs}", rate, _spread(ratio.by_round))
    console.print(table)


def _cells(rows: Sequence[Measurement]) -> Iterable[str]:
    received = [(row.received_pps, row.sent_pps) for row in rows if row.received_pps is not None]
    yield _spread([row.sent_pps / 1e6 for row in rows])
    yield _spread([got / 1e6 for got, _ in received])
    yield f"{statistics.median(got / sent for got, sent in received):.1%}" if received else ""
    yield f"{statistics.median(row.cpu_cores for row in rows):.2f}"
    yield f"{statistics.median(row.softirq_cores for row in rows):.2f}"
    yield f"{statistics.median(row.other_cores for row in rows):.2f}"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
