"""Everything there is to show of a result in NFVbench's form, in NFVbench's order."""

from collections.abc import Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.report.nfvbench.caveats import caveats
from nodrop.report.nfvbench.counters import path_sheets
from nodrop.report.nfvbench.summary import goals_of, header_lines, summary_sheet
from nodrop.report.nfvbench.table import Document, Lines, Sheet, bits, count, name

DIRECTIONS = {
    "direction-forward": "Forward",
    "direction-reverse": "Reverse",
    "garp-direction-total": "Gratuitous ARP",
    "direction-total": "Total",
}
RATES = (("orig", "Requested TX Rate"), ("tx", "Actual TX Rate"), ("rx", "RX Rate"))


def document(result: object) -> Document:
    """Header, summary, then each frame size."""
    parts = [part for _, chain in reading.service_chains(result) for part in _chain_parts(result, chain)]
    return Document("NFVBench Summary", tuple(header_lines(result)), tuple(parts))


def _chain_parts(result: object, chain: dict[str, Any]) -> Iterator[Sheet | Lines]:
    if summary := summary_sheet(chain):
        yield summary
    said = (*reading.text(chain, "result", "warning").splitlines(), *caveats(result, chain))
    if said:
        yield Lines(said, warning=True)
    for size, found in reading.frame_sizes(chain):
        yield Lines((f"L2 frame size: {size}", *_durations(found)))
        yield from _warnings(found)
        yield from _run_config(size, found)
        yield from path_sheets(found, size)
        for goals, measured in _apart(found):
            yield from path_sheets(measured, size, f"{goals}: ")


def _apart(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What was measured at each goal's load; once for goals that share the trial."""
    shared: list[tuple[str, dict[str, Any]]] = []
    for goal in goals_of(found):
        measured = reading.branch(found, goal)
        if shared and shared[-1][1].get("packet_path_stats") == measured.get("packet_path_stats"):
            shared[-1] = (f"{shared[-1][0]} and {goal.upper()}", measured)
        else:
            shared.append((goal.upper(), measured))
    return shared


def _durations(found: dict[str, Any]) -> Iterator[str]:
    for goal in goals_of(found):
        seconds = reading.number(found, goal, "time_taken_sec")
        if seconds is not None:
            yield f"{goal.upper()} search duration: {seconds:.0f} seconds"


def _warnings(found: dict[str, Any]) -> Iterator[Lines]:
    """What was said of the rates, once each."""
    places = [("run_config",), ("stats",), *((goal, "stats") for goal in goals_of(found))]
    said = dict.fromkeys(line for place in places for line in reading.text(found, *place, "warning").splitlines())
    if said:
        yield Lines(tuple(said), warning=True)


def _is_silent(rates: object) -> bool:
    """Whether nothing was to be sent in a direction, nor was."""
    return [reading.number(rates, kind, "rate_pps") for kind, _ in RATES] == [0, 0, 0]


def _run_config(size: str, found: dict[str, Any]) -> Iterator[Sheet]:
    config = reading.branch(found, "run_config")
    rows = tuple(
        (
            name(label),
            *(bits(reading.number(config, key, kind, "rate_bps")) for kind, _ in RATES),
            *(count(reading.number(config, key, kind, "rate_pps")) for kind, _ in RATES),
        )
        for key, label in DIRECTIONS.items()
        if key in config and not _is_silent(config[key])
    )
    if rows:
        columns = tuple(f"{label} ({unit})" for unit in ("bps", "pps") for _, label in RATES)
        yield Sheet("Run Config", ("Direction", *columns), rows, size, seams=(1 + len(RATES),))
