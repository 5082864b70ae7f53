"""Placements as text: the resources of a VM on its host, and the reasons against other hosts."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from nodrop.model.chd import HostDescriptor, NumaNode
from nodrop.model.placement import PlacedInterface, PlacedSet, Placement, PlacementResult, Rejection, Violation
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bps, format_bytes, format_count, format_ratio

DETAILED_MAX = 3
"""Rejected hosts shown in full; for more hosts the reasons are counted."""
VIOLATIONS_MAX = 8
NAMED_MAX = 6
LABEL = 12


def format_placement(result: PlacementResult, host: HostDescriptor | None, width: int) -> Iterator[Text]:
    """Yield the placement of a VM, or the reasons against each host.

    Args:
        result: the result for one VM.
        host: the chosen host before the placement.
        width: columns of the terminal.
    """
    placement = result.placement
    if placement is None or host is None:
        yield Text(f"{result.vm} fits on none of {format_count(len(result.rejections), 'host')}", style="bold red")
    else:
        yield Text(f"{result.vm} goes to {placement.hostname}", style="bold")
        yield from _format_resources(placement, host, width)
        yield from _wrap("others", _list_alternatives(result), width)
    yield from _format_rejections(result.rejections, width)


def _format_resources(placement: Placement, host: HostDescriptor, width: int) -> Iterator[Text]:
    nodes = {node.id: node for node in host.resources.numa_nodes}
    if placement.profile:
        yield from _wrap("profile", [f"number {placement.profile} of the descriptor, from 0"], width)
    for each in placement.sets:
        yield Text()
        yield from _format_set(each, nodes[each.node], width)
    yield Text()
    cpus = format_cpu_list(placement.emulator_cpus)
    yield from _wrap("emulator", [f"threads of the hypervisor: CPUs {cpus}" if cpus else "no CPU"], width)
    share = format_ratio(placement.guarantee.ratio)
    yield from _wrap("guarantee", [f"{share} of the KPIs, {placement.guarantee.label}"], width)
    yield from _wrap("why", placement.reasons, width)
    yield from _wrap("instead", placement.substitutions, width, "yellow")
    yield from _wrap("unchecked", placement.warnings, width, "yellow")
    yield from _wrap("remaining", _list_remaining(placement), width)


def _format_set(placed: PlacedSet, node: NumaNode, width: int) -> Iterator[Text]:
    socket = node.socket.value
    where = f"node {placed.node}" + (f", socket {socket}" if socket is not None else "")
    yield Text(f"  set {placed.index} on {where}", style="bold")
    yield from _format_cpus(placed, node, width)
    pages = f"{placed.large_page_count} pages of {format_bytes(placed.large_page_bytes or 0)}"
    normal = f"{format_bytes(placed.normal_bytes)} not in large pages"
    parts = [text for text, count in ((pages, placed.large_page_count), (normal, placed.normal_bytes)) if count]
    yield from _wrap("memory", [", ".join(parts)] if parts else [], width)
    yield from _wrap("interfaces", [_format_interface(each) for each in placed.interfaces], width)
    yield from _wrap("devices", placed.devices, width)


def _format_cpus(placed: PlacedSet, node: NumaNode, width: int) -> Iterator[Text]:
    """Yield vCPUs above their CPUs, grouped by core."""
    core_of = {
        cpu: core for core, siblings in enumerate(sorted(map(sorted, node.cpus.sibling_sets))) for cpu in siblings
    }
    by_core: dict[int, list[int]] = {}
    for vcpu, cpu in placed.cpus.items():
        by_core.setdefault(core_of[cpu], []).append(vcpu)
    cells = []
    for core, vcpus in sorted(by_core.items(), key=lambda each: each[1]):
        siblings = sorted(cpu for cpu, of in core_of.items() if of == core)
        idle = [cpu for cpu in siblings if cpu not in placed.cpus.values()]
        cells.append(
            (
                " ".join(map(str, vcpus)),
                " ".join(str(placed.cpus[vcpu]) for vcpu in vcpus)
                + (f" ({format_cpu_list(idle)} idle)" if idle else ""),
            )
        )
    available = width - LABEL - 4
    row: list[tuple[str, str]] = []
    used = 0
    for cell in cells:
        wide = max(map(len, cell)) + 3
        if row and used + wide > available:
            yield from _format_cpu_row(row)
            row, used = [], 0
        row.append(cell)
        used += wide
    if row:
        yield from _format_cpu_row(row)


def _format_cpu_row(cells: Sequence[tuple[str, str]]) -> Iterator[Text]:
    for label, at in (("vCPU", 0), ("CPU", 1)):
        columns = " | ".join(cell[at].ljust(max(map(len, cell))) for cell in cells)
        yield Text(f"    {label:<{LABEL}}{columns}".rstrip(), style="dim" if at == 0 else "")


def _format_interface(placed: PlacedInterface) -> str:
    name = f" {placed.netdev}" if placed.netdev else ""
    need = format_bps(placed.speed_bps)
    share = f", {format_bps(placed.bandwidth_bps)} of it" if placed.bandwidth_bps else ""
    if placed.mode == "dedicated":
        return f"{placed.index}: all of port {placed.pci_id}{name} ({need}{share})"
    if placed.mode == "sriov":
        return f"{placed.index}: VF {placed.pci_id} of port {placed.port_pci_id}{name} ({need}{share})"
    switch = " ".join(part for part in (placed.vswitch_kind, placed.vswitch) if part)
    return f"{placed.index}: {switch}, uplink {placed.port_pci_id}{name} ({need}{share})"


def _list_remaining(placement: Placement) -> list[str]:
    """Return the remaining resources, one line per node."""
    lines: dict[str, list[str]] = {}
    for key, value in placement.slack.items():
        place, _, what = key.partition("_")
        if place == "node":
            number, _, what = what.partition("_")
            place = f"node {number}"
        lines.setdefault(place, []).append(_format_quantity(what, value))
    return [f"{place}: {', '.join(parts)}" for place, parts in lines.items()]


def _format_quantity(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return f"{format_bytes(value)} of {name.removesuffix('_bytes')}"
    words = name.removesuffix("_count").split("_")
    thing = {"core": "core", "port": "port", "vf": "VF"}.get(words[0])
    count = round(value)
    return (
        format_count(count, f"free {thing}")
        if thing
        else f"{format_count(count, 'free page')} of {' '.join(words[:2])}"
    )


def _list_alternatives(result: PlacementResult) -> list[str]:
    names = result.alternatives
    if not names:
        return []
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return [f"{', '.join(names[:NAMED_MAX])}{more} also fit, in this order"]


def _format_rejections(rejections: Sequence[Rejection], width: int) -> Iterator[Text]:
    if not rejections:
        return
    yield Text()
    if len(rejections) > DETAILED_MAX:
        yield Text(f"  {format_count(len(rejections), 'host')} rejected, by the first failed constraint", style="bold")
        yield from _count_rejections(rejections, width)
        return
    for each in rejections:
        yield Text(f"  {each.hostname} is rejected", style="bold")
        alike = _group_violations(each.violations)
        for number, (constraint, reason) in enumerate(alike):
            if number == VIOLATIONS_MAX:
                yield from _wrap("", [f"{len(alike) - number} more; all with --format json"], width)
                break
            yield from _wrap(constraint, [reason], width)


def _count_rejections(rejections: Sequence[Rejection], width: int) -> Iterator[Text]:
    """Yield each constraint with the number of hosts it rejects and one of them in full."""
    first = {each.host_id: each.violations[0] for each in rejections if each.violations}
    counts = Counter(violation.constraint for violation in first.values())
    for constraint, count in counts.most_common():
        example = next(each for each in rejections if first[each.host_id].constraint == constraint)
        further = {each.constraint for each in example.violations} - {constraint}
        also = f"; also fails {', '.join(sorted(further))}" if further else ""
        reason = f"{constraint}, e.g. {example.hostname}: {_format_violation(first[example.host_id])}{also}"
        yield from _wrap(f"{count:>7,}", [reason], width)


def _group_violations(violations: Sequence[Violation]) -> list[tuple[str, str]]:
    """Return constraints with their violations; equal violations in several places are one."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for each in violations:
        places.setdefault((each.constraint, each.asked, each.found), []).append(each.where)
    return [
        (key[0], f"{key[1]} required, {key[2]}" + (f" ({'; '.join(where)})" if any(where) else ""))
        for key, where in places.items()
    ]


def _format_violation(violation: Violation) -> str:
    where = f" ({violation.where})" if violation.where else ""
    return f"{violation.asked} required, {violation.found}{where}"


def _wrap(label: str, lines: Sequence[str], width: int, style: str = "") -> Iterator[Text]:
    """Yield lines after a label, broken at the width."""
    # A label too wide moves its first line, so that neither is cut.
    head = f"    {label:<{LABEL - 1}} "
    for line in lines:
        for part in textwrap.wrap(line, max(20, width - len(head) - 1), break_long_words=False, break_on_hyphens=False):
            yield Text(f"{head}{part}", style=style)
            head = " " * (LABEL + 4)
