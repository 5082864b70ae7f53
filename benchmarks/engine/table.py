"""The table of rates of a group."""

import statistics
from collections.abc import Iterable, Sequence

from benchmarks.engine.groups import Group
from benchmarks.engine.measure import RateMeasurement
from benchmarks.engine.requirements import format_spread
from rich.console import Console
from rich.table import Table

HEADINGS = ("sent Mpps", "received Mpps", "received/sent", "CPU cores", "CPU ns/frame", "softirq cores", "other cores")


def print_rates(console: Console, group: Group, measurements: Sequence[RateMeasurement]) -> None:
    """Print a row for each generator of a group: median (lowest to highest) of the rounds."""
    title = f"{group.title}: {group.frame_bytes}-byte frames, median (lowest to highest) of the rounds"
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for generator in group.generators:
        rounds = [each for each in measurements if each.generator == generator.name]
        if rounds:
            table.add_row(generator.name, *_format_cells(rounds))
    console.print(table)


def _format_cells(rounds: Sequence[RateMeasurement]) -> Iterable[str]:
    rates = [(each.received_pps, each.sent_pps) for each in rounds if each.received_pps is not None]
    yield format_spread([each.sent_pps / 1e6 for each in rounds])
    yield format_spread([received_pps / 1e6 for received_pps, _ in rates]) if rates else ""
    yield f"{statistics.median(received_pps / sent_pps for received_pps, sent_pps in rates):.1%}" if rates else ""
    yield _format_median([each.cpu_cores for each in rounds], 2)
    yield _format_median([each.cpu_ns_per_frame for each in rounds], 0)
    yield _format_median([each.softirq_cores for each in rounds], 2)
    yield _format_median([each.other_cores for each in rounds], 2)


def _format_median(values: Iterable[float | None], digits: int) -> str:
    present = [value for value in values if value is not None]
    return f"{statistics.median(present):.{digits}f}" if present else ""
