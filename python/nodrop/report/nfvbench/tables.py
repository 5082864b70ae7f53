"""The contents of a result in NFVbench's form, in NFVbench's order: summary, then each frame size."""

from collections.abc import Iterator
from typing import Any

from nodrop.formatting import format_surplus
from nodrop.model import nfvbench as reading
from nodrop.report.document.blocks import Block, Bullets, Paragraph, Section, Table
from nodrop.report.nfvbench.cells import (
    count_cell,
    make_bit_rate_cell,
    make_number_column,
    name_cell,
    name_column,
)
from nodrop.report.nfvbench.counters import build_path_tables
from nodrop.report.nfvbench.summary import build_summary_table, list_goals

DIRECTIONS = {
    "direction-forward": "Forward",
    "direction-reverse": "Reverse",
    "garp-direction-total": "Gratuitous ARP",
    "direction-total": "Total",
}
RATES = (("orig", "Requested TX Rate"), ("tx", "Actual TX Rate"), ("rx", "RX Rate"))
RUN_CONFIG = (
    name_column("Direction"),
    *(make_number_column(f"{label} (bps)") for _, label in RATES),
    *(make_number_column(f"{label} (pps)", starts_part=not position) for position, (_, label) in enumerate(RATES)),
)
SENT_RATIO_MIN = 0.99
"""Below this share of the requested rate, the rate sent is a different one."""


def build_sections(result: object) -> tuple[Section, ...]:
    """Return summary and frame sizes of each service chain; a section of a frame size has its name."""
    return tuple(section for _, chain in reading.iter_service_chains(result) for section in _build_chain(result, chain))


def _build_chain(result: object, chain: dict[str, Any]) -> Iterator[Section]:
    if table := build_summary_table(chain):
        yield Section(name="", title="", blocks=(table,))
    warnings = (*reading.get_text(chain, "result", "warning").splitlines(), *_list_cautions(result, chain))
    if warnings:
        yield Section(name="", title="", blocks=(Bullets(items=warnings, tone="caution"),))
    for size, measured in reading.iter_frame_sizes(chain):
        yield Section(name=size, title=f"L2 frame size: {size}", blocks=tuple(_build_frame_size(measured)))


def _build_frame_size(measured: dict[str, Any]) -> Iterator[Block]:
    yield from (Paragraph(text=line) for line in _list_durations(measured))
    if warnings := _list_warnings(measured):
        yield Bullets(items=warnings, tone="caution")
    yield from _build_run_config(measured)
    yield from build_path_tables(measured)
    for goals, at_goal in _group_goals(measured):
        yield from build_path_tables(at_goal, f"{goals}: ")


def _list_cautions(result: object, chain: dict[str, Any]) -> Iterator[str]:
    """Yield impossible figures of a service chain, and known errors of NFVbench; the figures stay as they are."""
    for size, measured in reading.iter_frame_sizes(chain):
        yield from _list_surpluses(size, measured)
    if reading.get_text(result, "nfvbench_version").startswith("nodrop "):
        return
    if chain.get("bidirectional") is False:
        yield (
            "traffic went one way: NFVbench reports the loss of the other way as drop rate; use the packet counters of "
            "each port instead"
        )
    for size, measured in reading.iter_frame_sizes(chain):
        for goal in list_goals(measured):
            requested = reading.get_number(measured, goal, "rate_pps")
            sent = reading.get_number(measured, goal, "stats", "total_tx_rate")
            if requested and sent is not None and sent < SENT_RATIO_MIN * requested:
                yield f"{goal.upper()} of {size}: NFVbench requested {requested:,.0f} pps but sent {sent:,.0f} pps"


def _list_surpluses(size: str, measured: dict[str, Any]) -> Iterator[str]:
    """Yield the loads at which more frames were received than sent."""
    overall = {
        f"{goal.upper()} of {size}": reading.get_number(measured, goal, "stats", "overall", "drop_percentage")
        for goal in list_goals(measured)
    }
    overall[size] = reading.get_number(measured, "stats", "overall", "drop_rate_percent")
    for load, percent in overall.items():
        if percent is not None and percent < 0:
            yield format_surplus(load, -percent / 100)


def _group_goals(measured: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the trial at each goal's load; goals that share a trial are one group."""
    groups: list[tuple[str, dict[str, Any]]] = []
    for goal in list_goals(measured):
        at_goal = reading.get_section(measured, goal)
        if groups and groups[-1][1].get("packet_path_stats") == at_goal.get("packet_path_stats"):
            groups[-1] = (f"{groups[-1][0]} and {goal.upper()}", at_goal)
        else:
            groups.append((goal.upper(), at_goal))
    return groups


def _list_durations(measured: dict[str, Any]) -> Iterator[str]:
    for goal in list_goals(measured):
        seconds = reading.get_number(measured, goal, "time_taken_sec")
        if seconds is not None:
            yield f"{goal.upper()} search duration: {seconds:.0f} seconds"


def _list_warnings(measured: dict[str, Any]) -> tuple[str, ...]:
    """Return NFVbench's warnings about the rates, each once."""
    places = [("run_config",), ("stats",), *((goal, "stats") for goal in list_goals(measured))]
    lines = (line for place in places for line in reading.get_text(measured, *place, "warning").splitlines())
    return tuple(dict.fromkeys(lines))


def _is_silent(rates: object) -> bool:
    """Return whether nothing was to be sent in a direction, and nothing was."""
    return [reading.get_number(rates, kind, "rate_pps") for kind, _ in RATES] == [0, 0, 0]


def _build_run_config(measured: dict[str, Any]) -> Iterator[Table]:
    config = reading.get_section(measured, "run_config")
    rows = tuple(
        (
            name_cell(label),
            *(make_bit_rate_cell(reading.get_number(config, key, kind, "rate_bps")) for kind, _ in RATES),
            *(count_cell(reading.get_number(config, key, kind, "rate_pps")) for kind, _ in RATES),
        )
        for key, label in DIRECTIONS.items()
        if key in config and not _is_silent(config[key])
    )
    if rows:
        yield Table(caption="Run Config", columns=RUN_CONFIG, rows=rows)
