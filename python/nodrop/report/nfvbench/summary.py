"""What leads a result: what it is of, and its figures for all frame sizes in one table."""

from collections.abc import Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.report.nfvbench.counters import percentile_column
from nodrop.report.nfvbench.table import Cell, Sheet, bits, count, name, percent, usec

GOALS = ("ndr", "pdr")
DELAYS = (
    ("Avg Latency (usec)", "avg_delay_usec"),
    ("Min Latency (usec)", "min_delay_usec"),
    ("Max Latency (usec)", "max_delay_usec"),
)


def header_lines(result: object) -> Iterator[str]:
    """The block above the tables, indented as a tree."""
    yield f"Date: {reading.text(result, 'date') or 'unknown'}"
    yield f"NFVBench version {reading.text(result, 'nfvbench_version') or 'unknown'}"
    if stack := reading.branch(result, "openstack_spec"):
        yield "Openstack Neutron:"
        yield f"  vSwitch: {reading.text(stack, 'vswitch')}"
        yield f"  Encapsulation: {reading.text(stack, 'encaps')}"
    yield "Benchmarks:"
    yield from tree_lines(_benchmarks(result), "> ")


def tree_lines(tree: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Nested names and values, one a line, deeper ones further in; those that hold others are marked."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            leaves = all(not isinstance(below, dict) for below in value.values())
            yield from tree_lines(value, indent.replace("> ", "  ") if leaves else f"  {indent}")
        else:
            yield f"{indent}{key}: {value}"


def summary_sheet(chain: object) -> Sheet | None:
    """The figures of all frame sizes: of loads that were searched for if there are any, else of a fixed rate."""
    sizes = list(reading.frame_sizes(chain))
    searched = [
        (goal, size, reading.branch(found, goal)) for goal in _goals(sizes) for size, found in sizes if goal in found
    ]
    if searched:
        return _searched_sheet(searched)
    fixed = [(size, reading.branch(found, "stats")) for size, found in sizes if "stats" in found]
    return _fixed_sheet(fixed) if fixed else None


def goals_of(found: dict[str, Any]) -> tuple[str, ...]:
    """Names of the goals that a frame size has a load of."""
    named = tuple(key for key, value in found.items() if isinstance(value, dict) and "rate_pps" in value)
    return tuple(sorted(named, key=lambda goal: (GOALS.index(goal) if goal in GOALS else len(GOALS), goal)))


def _goals(sizes: list[tuple[str, dict[str, Any]]]) -> tuple[str, ...]:
    goals = dict.fromkeys(goal for _, found in sizes for goal in goals_of(found))
    return tuple(sorted(goals, key=lambda goal: (GOALS.index(goal) if goal in GOALS else len(GOALS), goal)))


def _searched_sheet(searched: list[tuple[str, str, dict[str, Any]]]) -> Sheet:
    overall = [reading.branch(found, "stats", "overall") for _, _, found in searched]
    percentiles = _percentiles(overall)
    rows = tuple(
        (
            name(goal.upper()),
            name(size),
            bits(reading.number(found, "rate_bps")),
            count(reading.number(found, "rate_pps")),
            percent(reading.number(total, "drop_percentage")),
            *_delay_cells(total, total, percentiles),
        )
        for (goal, size, found), total in zip(searched, overall, strict=True)
    )
    rates = ("Rate (fwd+rev) (bps)", "Rate (fwd+rev) (pps)")
    columns = ("-", "L2 Frame Size", *rates, "Avg Drop Rate", *_delay_columns(percentiles))
    return Sheet("Run Summary", columns, rows, seams=(len(columns) - len(percentiles) - len(DELAYS),), lead_count=2)


def _fixed_sheet(fixed: list[tuple[str, dict[str, Any]]]) -> Sheet:
    overall = [reading.branch(stats, "overall") for _, stats in fixed]
    percentiles = _percentiles([reading.branch(total, "rx") for total in overall])
    rows = tuple(
        (
            name(size),
            percent(reading.number(total, "drop_rate_percent")),
            *_delay_cells(reading.branch(total, "rx"), reading.branch(total, "rx"), percentiles),
        )
        for (size, _), total in zip(fixed, overall, strict=True)
    )
    return Sheet("Run Summary", ("L2 Frame Size", "Drop Rate", *_delay_columns(percentiles)), rows)


def _delay_columns(percentiles: tuple[str, ...]) -> tuple[str, ...]:
    return *(label for label, _ in DELAYS), *map(percentile_column, percentiles)


def _delay_cells(delays: object, histogram: object, percentiles: tuple[str, ...]) -> Iterator[Cell]:
    yield from (usec(reading.number(delays, field)) for _, field in DELAYS)
    known = reading.percentiles(histogram)
    yield from (usec(known.get(percentile)) for percentile in percentiles)


def _percentiles(delays: list[dict[str, Any]]) -> tuple[str, ...]:
    known: dict[str, None] = {}
    for found in delays:
        known.update(dict.fromkeys(reading.percentiles(found)))
    return tuple(known)


def _benchmarks(result: object) -> dict[str, Any]:
    config = reading.branch(result, "config")
    generator = {
        "Profile": reading.text(config, "generator_profile") or _profile_name(config) or "unknown",
        "Tool": reading.text(config, "tg-tool") or _tool(config) or "unknown",
    }
    network: dict[str, Any] = {"Components": {"Traffic Generator": generator}}
    if versions := reading.branch(result, "benchmarks", "network", "versions"):
        network["Versions"] = versions
    limits = reading.branch(config, "measurement")
    if limits and any(_goals(list(reading.frame_sizes(chain))) for _, chain in reading.service_chains(result)):
        network["Measurement Parameters"] = {
            goal: limits[goal] for goal in ("NDR", "PDR") if limits.get(goal) is not None
        }
    network["Service chain"] = {
        chain: {"Traffic": _traffic(measured)} for chain, measured in reading.service_chains(result)
    } or "none: no traffic was sent"
    return {"Networks": network}


def _traffic(chain: dict[str, Any]) -> dict[str, Any]:
    labels = {
        "profile": "Profile",
        "bidirectional": "Bidirectional",
        "flow_count": "Flow count",
        "service_chain_count": "Service chains count",
    }
    traffic = {label: chain[key] for key, label in labels.items() if key in chain}
    return traffic | {"Compute nodes": list(reading.branch(chain, "compute_nodes"))}


def _profile_name(config: dict[str, Any]) -> str:
    return reading.text(config, "traffic_generator", "default_profile")


def _tool(config: dict[str, Any]) -> str:
    profiles = reading.listed(config, "traffic_generator", "generator_profile")
    return reading.text(profiles[0], "tool") if profiles else ""
