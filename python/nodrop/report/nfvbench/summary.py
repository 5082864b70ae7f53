"""The header of a result, and its figures for all frame sizes in one table."""

from collections.abc import Iterable, Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.report.document.blocks import Cell, Column, Table
from nodrop.report.nfvbench.cells import (
    count_cell,
    make_bit_rate_cell,
    make_number_column,
    make_percent_cell,
    make_usec_cell,
    name_cell,
    name_column,
)
from nodrop.report.nfvbench.counters import format_percentile_title

GOALS = ("ndr", "pdr")
DELAYS = (
    ("Avg Latency (usec)", "avg_delay_usec"),
    ("Min Latency (usec)", "min_delay_usec"),
    ("Max Latency (usec)", "max_delay_usec"),
)


def list_header_lines(result: object) -> Iterator[str]:
    """Yield the lines above the tables, indented as a tree."""
    yield f"Date: {reading.get_text(result, 'date') or 'unknown'}"
    yield f"NFVBench version {reading.get_text(result, 'nfvbench_version') or 'unknown'}"
    if stack := reading.get_section(result, "openstack_spec"):
        yield "Openstack Neutron:"
        yield f"  vSwitch: {reading.get_text(stack, 'vswitch')}"
        yield f"  Encapsulation: {reading.get_text(stack, 'encaps')}"
    yield "Benchmarks:"
    yield from _list_tree_lines(_build_benchmarks(result), "> ")


def _list_tree_lines(tree: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Yield nested names and values, one per line; names of branches have a mark."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            has_leaves = all(not isinstance(each, dict) for each in value.values())
            yield from _list_tree_lines(value, indent.replace("> ", "  ") if has_leaves else f"  {indent}")
        else:
            yield f"{indent}{key}: {value}"


def build_summary_table(chain: object) -> Table | None:
    """Return the figures of all frame sizes: of searches if there are any, else of a fixed rate."""
    sizes = list(reading.iter_frame_sizes(chain))
    searched = [
        (goal, size, reading.get_section(measured, goal))
        for goal in _list_all_goals(sizes)
        for size, measured in sizes
        if goal in measured
    ]
    if searched:
        return _build_search_table(searched)
    fixed = [(size, reading.get_section(measured, "stats")) for size, measured in sizes if "stats" in measured]
    return _build_fixed_table(fixed) if fixed else None


def list_goals(measured: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the goals with a load at a frame size."""
    return _sort_goals(key for key, value in measured.items() if isinstance(value, dict) and "rate_pps" in value)


def _list_all_goals(sizes: list[tuple[str, dict[str, Any]]]) -> tuple[str, ...]:
    return _sort_goals(goal for _, measured in sizes for goal in list_goals(measured))


def _sort_goals(goals: Iterable[str]) -> tuple[str, ...]:
    order = {goal: position for position, goal in enumerate(GOALS)}
    return tuple(sorted(set(goals), key=lambda goal: (order.get(goal, len(GOALS)), goal)))


def _build_search_table(searched: list[tuple[str, str, dict[str, Any]]]) -> Table:
    overall = [reading.get_section(at_goal, "stats", "overall") for _, _, at_goal in searched]
    percentiles = _list_percentiles(overall)
    rows = tuple(
        (
            name_cell(goal.upper()),
            name_cell(size),
            make_bit_rate_cell(reading.get_number(at_goal, "rate_bps")),
            count_cell(reading.get_number(at_goal, "rate_pps")),
            make_percent_cell(reading.get_number(total, "drop_percentage")),
            *_build_delays(total, percentiles),
        )
        for (goal, size, at_goal), total in zip(searched, overall, strict=True)
    )
    rates = ("Rate (fwd+rev) (bps)", "Rate (fwd+rev) (pps)", "Avg Drop Rate")
    columns = (name_column("-"), name_column("L2 Frame Size"), *map(make_number_column, rates))
    return Table(caption="Run Summary", columns=(*columns, *_build_delay_columns(percentiles)), rows=rows)


def _build_fixed_table(fixed: list[tuple[str, dict[str, Any]]]) -> Table:
    overall = [reading.get_section(stats, "overall") for _, stats in fixed]
    percentiles = _list_percentiles([reading.get_section(total, "rx") for total in overall])
    rows = tuple(
        (
            name_cell(size),
            make_percent_cell(reading.get_number(total, "drop_rate_percent")),
            *_build_delays(reading.get_section(total, "rx"), percentiles),
        )
        for (size, _), total in zip(fixed, overall, strict=True)
    )
    columns = (name_column("L2 Frame Size"), make_number_column("Drop Rate"), *_build_delay_columns(percentiles))
    return Table(caption="Run Summary", columns=columns, rows=rows)


def _build_delay_columns(percentiles: tuple[str, ...]) -> Iterator[Column]:
    titles = (*(label for label, _ in DELAYS), *map(format_percentile_title, percentiles))
    yield from (make_number_column(title, starts_part=not position) for position, title in enumerate(titles))


def _build_delays(delays: object, percentiles: tuple[str, ...]) -> Iterator[Cell]:
    yield from (make_usec_cell(reading.get_number(delays, field)) for _, field in DELAYS)
    values = reading.read_percentiles(delays)
    yield from (make_usec_cell(values.get(percentile)) for percentile in percentiles)


def _list_percentiles(delays: list[dict[str, Any]]) -> tuple[str, ...]:
    percentiles: dict[str, None] = {}
    for each in delays:
        percentiles.update(dict.fromkeys(reading.read_percentiles(each)))
    return tuple(percentiles)


def _build_benchmarks(result: object) -> dict[str, Any]:
    config = reading.get_section(result, "config")
    generator = {
        "Profile": reading.get_text(config, "generator_profile") or _find_profile(config) or "unknown",
        "Tool": reading.get_text(config, "tg-tool") or _find_tool(config) or "unknown",
    }
    network: dict[str, Any] = {"Components": {"Traffic Generator": generator}}
    if versions := reading.get_section(result, "benchmarks", "network", "versions"):
        network["Versions"] = versions
    limits = reading.get_section(config, "measurement")
    if limits and any(
        _list_all_goals(list(reading.iter_frame_sizes(chain))) for _, chain in reading.iter_service_chains(result)
    ):
        network["Measurement Parameters"] = {
            goal: limits[goal] for goal in ("NDR", "PDR") if limits.get(goal) is not None
        }
    network["Service chain"] = {
        chain: {"Traffic": _build_traffic(measured)} for chain, measured in reading.iter_service_chains(result)
    } or "none: no traffic was sent"
    return {"Networks": network}


def _build_traffic(chain: dict[str, Any]) -> dict[str, Any]:
    labels = {
        "profile": "Profile",
        "bidirectional": "Bidirectional",
        "flow_count": "Flow count",
        "service_chain_count": "Service chains count",
    }
    traffic = {label: chain[key] for key, label in labels.items() if key in chain}
    return traffic | {"Compute nodes": list(reading.get_section(chain, "compute_nodes"))}


def _find_profile(config: dict[str, Any]) -> str:
    return reading.get_text(config, "traffic_generator", "default_profile")


def _find_tool(config: dict[str, Any]) -> str:
    profiles = reading.get_list(config, "traffic_generator", "generator_profile")
    return reading.get_text(profiles[0], "tool") if profiles else ""
