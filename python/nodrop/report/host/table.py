"""A host for a terminal: identity, processor, memory, nodes, cards, and unknown facts."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nodrop.model.chd import HostDescriptor, Nic, NodeCpus, NumaNode, Port
from nodrop.model.observation import Feature
from nodrop.report.host.summary import format_memory_size, format_pages, list_host_summary
from nodrop.report.host.unknowns import list_observations, list_unknowns
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bps, format_count

REASONS_SHOWN = 8
NAMES_SHOWN = 6
"""Names shown for each reason; other formats have all."""
CARDS_SHOWN = 32
PASSED_OVER = ("host", "capabilities", "resources", "numa_nodes", "cpu", "processor")


def build_host_parts(host: HostDescriptor) -> Iterator[RenderableType]:
    """Yield the entire host from top to bottom."""
    yield _render_summary(host)
    yield ""
    yield build_node_table(host)
    if any(link.distance.known for link in host.resources.links):
        yield ""
        yield _render_distances(host)
    if nics := tuple(list_cards(host)):
        yield ""
        yield _render_cards(nics)
    yield ""
    yield from _render_features(host)
    yield from _render_warnings(host)
    yield from _render_unknowns(host)


def list_cards(host: HostDescriptor) -> Iterator[tuple[str, Nic]]:
    """Yield every network card with its node; `?` if the node is unknown."""
    for node in host.resources.numa_nodes:
        yield from ((str(node.id), nic) for nic in node.nics)
    yield from (("?", nic) for nic in host.resources.unplaced_nics)


def build_node_table(host: HostDescriptor) -> Table:
    """Return a row for each node: its CPUs, those eligible for VMs, those in use, its memory."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for name, wide in (("node", 0), ("socket", 0), ("CPUs", 3), ("cores", 0), ("for VMs", 2), ("in use", 2)):
        table.add_column(name, overflow="fold", ratio=wide or None)
    for name in ("memory", "available", "large pages (free of all)"):
        table.add_column(name, justify="right")
    for node in host.resources.numa_nodes:
        table.add_row(*_build_node_row(node))
    return table


def _render_summary(host: HostDescriptor) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in list_host_summary(host):
        if text:
            table.add_row(name, text)
    return table


def _build_node_row(node: NumaNode) -> tuple[str, ...]:
    memory = node.memory
    return (
        str(node.id),
        "?" if node.socket.value is None else str(node.socket.value),
        format_cpu_list(node.cpus.ids) or "none",
        str(len(node.cpus.sibling_sets)),
        _format_cpus(node.cpus, "eligible"),
        _format_cpus(node.cpus, "in_use"),
        format_memory_size(memory.total_bytes),
        format_memory_size(memory.normal.free_bytes),
        ", ".join(format_pages(each) for each in memory.large_pages) or "none",
    )


def _format_cpus(cpus: NodeCpus, leaf: str) -> str:
    """Return the CPUs with a property; `?` if it is unknown for some."""
    values = {cpu: getattr(state, leaf).value for cpu, state in cpus.cpu.items()}
    yes = [cpu for cpu, value in values.items() if value]
    if values and all(value is None for value in values.values()):
        return "?"
    if values and len(yes) == len(values):
        return "all"
    return (format_cpu_list(yes) or "none") + (" ?" if None in values.values() else "")


def _render_distances(host: HostDescriptor) -> RenderableType:
    """Return distances as firmware counts them (10 is local): a matrix, or the values if there are many nodes."""
    nodes = [node.id for node in host.resources.numa_nodes]
    distances = {(link.a, link.b): link.distance.value for link in host.resources.links}
    if len(nodes) > 12:
        values = sorted({value for value in distances.values() if value is not None})
        return f"Distances between nodes (10 is local): {', '.join(map(str, values)) or 'unknown'}"
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    table.add_column("distance", style="dim")
    for node in nodes:
        table.add_column(str(node), justify="right")
    for a in nodes:
        table.add_row(str(a), *(_format_distance(distances, a, b) for b in nodes))
    return table


def _format_distance(distances: dict[tuple[int, int], int | None], a: int, b: int) -> str:
    value = 10 if a == b else distances.get((min(a, b), max(a, b)))
    return "?" if value is None else str(value)


def _render_cards(nics: tuple[tuple[str, Nic], ...]) -> RenderableType:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("card", no_wrap=True)
    for name in ("node", "model", "driver", "PCIe", "ports"):
        table.add_column(name, overflow="fold")
    for node, nic in nics[:CARDS_SHOWN]:
        link = (nic.pci_generation.value, nic.lane_count.value)
        table.add_row(
            nic.id,
            node,
            " ".join(filter(None, (nic.vendor.value, nic.model.value))) or "?",
            nic.driver.value or "?",
            "?" if None in link else f"{link[0]} x{link[1]}",
            "\n".join(_format_port(port) for port in nic.ports) or "none",
        )
    if len(nics) > CARDS_SHOWN:
        table.caption = f"and {len(nics) - CARDS_SHOWN} more: --format yaml has all"
    return table


def _format_port(port: Port) -> str:
    speed = port.link_speed_bps.value or port.speed_bps.value
    words = [port.netdev or port.pci_id, format_bps(speed) if speed else ""]
    if port.link.value is not None:
        words.append("up" if port.link.value else "down")
    if port.sriov is not None:
        words.append(f"{port.sriov.configured_count.value or 0}/{port.sriov.total_count.value or '?'} VFs")
    if port.vswitch:
        words.append(f"on {port.vswitch}")
    elif port.in_use.value:
        words.append("used by " + (", ".join(port.owners) or "another network namespace"))
    return " ".join(filter(None, words))


def _render_features(host: HostDescriptor) -> Iterator[RenderableType]:
    """Yield capabilities by state; ETSI distinguishes supported and enabled ones."""
    groups = dict[str, list[str]]()
    for name, feature in list_features(host):
        groups.setdefault(format_feature_state(feature), []).append(name)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name in ("on", "off", "supported", "absent", "unknown"):
        if groups.get(name):
            table.add_row(name, ", ".join(groups[name]))
    if table.row_count:
        yield Text("Capabilities of processor and hypervisor", style="bold")
        yield Padding(table, (0, 0, 0, 2))


def list_features(host: HostDescriptor) -> Iterator[tuple[str, Feature]]:
    """Yield every capability with its name."""
    hypervisor = host.capabilities.hypervisor.capabilities
    for where, value in (("", host.capabilities.processor), ("hypervisor ", hypervisor)):
        for field in type(value).model_fields:
            member = getattr(value, field)
            name = where + field.replace("_", " ")
            if isinstance(member, Feature):
                yield name, member
            elif isinstance(member, dict):
                yield from ((f"{name} {key}", each) for key, each in member.items() if isinstance(each, Feature))


def format_feature_state(feature: Feature) -> str:
    """Return the state of a capability in a word."""
    if feature.enabled.value:
        return "on"
    if feature.supported.value is False:
        return "absent"
    if feature.enabled.value is False:
        return "off"
    return "supported" if feature.supported.value else "unknown"


def _render_warnings(host: HostDescriptor) -> Iterator[RenderableType]:
    for warning in host.warnings:
        yield Text(f"! {warning}", style="yellow")


def _render_unknowns(host: HostDescriptor) -> Iterator[RenderableType]:
    reasons = list_unknowns(host)
    if not reasons:
        return
    yield ""
    yield Text(f"Unknown: {sum(each.leaf_count for each in reasons)} of {_count_facts(host)} facts", style="bold")
    for each in reasons[:REASONS_SHOWN]:
        names = tuple(dict.fromkeys(_shorten_name(leaf) for leaf in each.leaves))
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        text = Text.assemble((each.why, "dim"), ": ", ", ".join(names[:NAMES_SHOWN]), more)
        yield Padding(text, (0, 0, 0, 2))
    if hidden := reasons[REASONS_SHOWN:]:
        count = sum(each.leaf_count for each in hidden)
        reasons_text = f"{count} for {format_count(len(hidden), 'other reason')}: --format yaml has all"
        yield Padding(Text(reasons_text, style="dim"), (0, 0, 0, 2))


def _count_facts(host: HostDescriptor) -> int:
    return sum(1 for _ in list_observations(host))


def _shorten_name(leaf: str) -> str:
    """Return the distinctive end of a fact's name; both halves of a feature have the same."""
    parts = [part for part in leaf.split(".") if part not in PASSED_OVER]
    return " ".join(parts[:-1] if parts[-1] in ("supported", "enabled") else parts).replace("_", " ")
