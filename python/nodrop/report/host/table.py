"""A host for a terminal: who it is, its processor, memory, nodes, cards, and what is not known of it."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nodrop.model.chd import HostDescriptor, LargePages, Nic, NodeCpus, NumaNode, Port, Processor
from nodrop.model.observation import Feature, Observation
from nodrop.report.host.unknowns import leaves, unknowns
from nodrop.report.tables import plain_table
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bps, format_bytes

REASONS_SHOWN = 8
NAMES_SHOWN = 6
"""Of what is not known for one reason; other formats have all."""
CARDS_SHOWN = 32
PASSED_OVER = ("host", "capabilities", "resources", "numa_nodes", "cpu", "processor")


def host_parts(host: HostDescriptor) -> Iterator[RenderableType]:
    """Everything, from top to bottom."""
    yield _summary(host)
    yield ""
    yield nodes_table(host)
    if any(link.distance.known for link in host.resources.links):
        yield ""
        yield _distances(host)
    if nics := tuple(cards(host)):
        yield ""
        yield _nics_table(nics)
    yield ""
    yield from _features(host)
    yield from _warnings(host)
    yield from _unknown(host)


def summary_pairs(host: HostDescriptor) -> Iterator[tuple[str, str]]:
    """Who the machine is and what it is made of, as names and sentences; what is not known is left out."""
    who, processor = host.host, host.capabilities.processor
    yield "host", shown(who.hostname, who.id)
    yield "product", shown(who.product)
    yield "BIOS", shown(who.bios)
    yield "system", ", ".join(filter(None, (shown(who.os), f"kernel {who.kernel.value}" if who.kernel.value else "")))
    under = who.virtualization.value
    yield "runs on", "" if under is None else "the bare machine" if under == "none" else f"{under} (a virtual machine)"
    yield "processor", ", ".join(_processor(processor))
    yield "caches", ", ".join(_caches(processor))
    yield "clock", ", ".join(_clock(processor))
    yield "memory", ", ".join(_memory(host))
    yield "hypervisor", ", ".join(_hypervisor(host))
    yield "vSwitches", "; ".join(_vswitches(host))


def shown(*observed: Observation[str]) -> str:
    """The first of some texts that is known; empty where none is."""
    return next((each.value for each in observed if each.value), "")


def cards(host: HostDescriptor) -> Iterator[tuple[str, Nic]]:
    """Every network card with its node; `?` where that is not known."""
    for node in host.resources.numa_nodes:
        yield from ((str(node.id), nic) for nic in node.nics)
    yield from (("?", nic) for nic in host.resources.unplaced_nics)


def nodes_table(host: HostDescriptor) -> Table:
    """A line for each node: its CPUs, which VMs may have, which are taken, its memory."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for name, wide in (("node", 0), ("socket", 0), ("CPUs", 3), ("cores", 0), ("for VMs", 2), ("in use", 2)):
        table.add_column(name, overflow="fold", ratio=wide or None)
    for name in ("memory", "available", "large pages (free of all)"):
        table.add_column(name, justify="right")
    for node in host.resources.numa_nodes:
        table.add_row(*_node_row(node))
    return table


def node_text(node: NumaNode) -> str:
    """A node in a line."""
    memory = node.memory
    parts = [
        f"CPUs {format_cpu_list(node.cpus.ids)} on {len(node.cpus.sibling_sets)} cores" if node.cpus.ids else "no CPUs",
        f"{_size(memory.total_bytes)} of memory",
        *(_pages(each) + " large pages free" for each in memory.large_pages if each.total_count.value),
        *(f"{nic.model.value or nic.id}" for nic in node.nics),
    ]
    return ", ".join(parts)


def _summary(host: HostDescriptor) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in summary_pairs(host):
        if text:
            table.add_row(name, text)
    return table


def _processor(processor: Processor) -> Iterator[str]:
    yield shown(processor.model, processor.architecture) or "not known"
    signature = (processor.family.value, processor.model_number.value, processor.stepping.value)
    if None not in signature:
        yield "family {}, model {}, stepping {}".format(*signature)
    for count, one, many in (
        (processor.socket_count.value, "socket", "sockets"),
        (processor.core_count.value, "core", "cores"),
        (processor.threads_per_core_count.value, "thread per core", "threads per core"),
    ):
        if count is not None:
            yield f"{count} {one if count == 1 else many}"


def _caches(processor: Processor) -> Iterator[str]:
    for cache in processor.caches:
        if cache.size_bytes.value:
            kind = {"data": "d", "instruction": "i", "unified": ""}[cache.kind]
            count = cache.instance_count.value
            times = f"{count} x " if count and count > 1 else ""
            yield f"L{cache.level}{kind} {times}{format_bytes(cache.size_bytes.value)}"


def _clock(processor: Processor) -> Iterator[str]:
    for observed, name in (
        (processor.base_mhz, "base"),
        (processor.max_mhz, "at most"),
        (processor.current_mhz, "now"),
    ):
        if observed.value:
            yield f"{name} {observed.value / 1000:.2f} GHz"
    if processor.governor.value:
        yield f"governor {processor.governor.value}"


def _memory(host: HostDescriptor) -> Iterator[str]:
    sizes = [node.memory.total_bytes.value for node in host.resources.numa_nodes]
    known = [size for size in sizes if size is not None]
    if known:
        yield format_bytes(sum(known)) + ("" if len(known) == len(sizes) else " on the nodes that say so")
    memory = host.capabilities.memory
    if memory.kind.value:
        yield memory.kind.value
    if memory.speed_mtps.value:
        yield f"{memory.speed_mtps.value} MT/s"
    if memory.channels_populated_count.value:
        yield f"{memory.channels_populated_count.value} of {memory.channels_count.value or '?'} channels populated"


def _hypervisor(host: HostDescriptor) -> Iterator[str]:
    hypervisor = host.capabilities.hypervisor
    if hypervisor.kind.value:
        yield " ".join(filter(None, (hypervisor.kind.value, hypervisor.version.value)))
    for observed, name in ((hypervisor.emulator_version, "QEMU"), (hypervisor.manager_version, "libvirt")):
        if observed.value:
            yield f"{name} {observed.value}"


def _vswitches(host: HostDescriptor) -> Iterator[str]:
    for switch in host.capabilities.vswitches:
        kind = " ".join(filter(None, (switch.kind.value, switch.version.value)))
        yield f"{switch.name} ({kind})" if kind else switch.name


def _node_row(node: NumaNode) -> tuple[str, ...]:
    memory = node.memory
    return (
        str(node.id),
        "?" if node.socket.value is None else str(node.socket.value),
        format_cpu_list(node.cpus.ids) or "none",
        str(len(node.cpus.sibling_sets)),
        _which(node.cpus, "eligible"),
        _which(node.cpus, "in_use"),
        _size(memory.total_bytes),
        _size(memory.normal.free_bytes),
        ", ".join(_pages(each) for each in memory.large_pages) or "none",
    )


def _which(cpus: NodeCpus, leaf: str) -> str:
    """CPUs of which something holds; `?` stands for those of which it is not known."""
    values = {cpu: getattr(state, leaf).value for cpu, state in cpus.cpu.items()}
    yes = [cpu for cpu, value in values.items() if value]
    if values and all(value is None for value in values.values()):
        return "?"
    if values and len(yes) == len(values):
        return "all"
    return (format_cpu_list(yes) or "none") + (" ?" if None in values.values() else "")


def _pages(pages: LargePages) -> str:
    total, used = pages.total_count.value, pages.used_count.value
    free = "?" if total is None or used is None else str(total - used)
    return f"{_brief(pages.size_bytes)} {free}/{'?' if total is None else total}"


def _brief(size_bytes: int) -> str:
    """`2M`, `1G`: as kernels and clouds name sizes of pages."""
    return format_bytes(size_bytes).replace(" ", "").removesuffix("iB")


def _size(observed: Observation[int]) -> str:
    return "?" if observed.value is None else format_bytes(observed.value)


def _distances(host: HostDescriptor) -> RenderableType:
    """As firmware counts: 10 is local. Few nodes fit a matrix, many are told by the values there are."""
    nodes = [node.id for node in host.resources.numa_nodes]
    known = {(link.a, link.b): link.distance.value for link in host.resources.links}
    if len(nodes) > 12:
        values = sorted({value for value in known.values() if value is not None})
        return f"Distances between nodes (10 is local): {', '.join(map(str, values)) or 'not known'}"
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    table.add_column("distance", style="dim")
    for node in nodes:
        table.add_column(str(node), justify="right")
    for a in nodes:
        table.add_row(str(a), *(_distance(known, a, b) for b in nodes))
    return table


def _distance(known: dict[tuple[int, int], int | None], a: int, b: int) -> str:
    value = 10 if a == b else known.get((min(a, b), max(a, b)))
    return "?" if value is None else str(value)


def _nics_table(nics: tuple[tuple[str, Nic], ...]) -> RenderableType:
    table = plain_table("card")
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
            "\n".join(_port(port) for port in nic.ports) or "none",
        )
    if len(nics) > CARDS_SHOWN:
        table.caption = f"and {len(nics) - CARDS_SHOWN} more: --format yaml has all"
    return table


def _port(port: Port) -> str:
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


def _features(host: HostDescriptor) -> Iterator[RenderableType]:
    """Capabilities by how they stand; ETSI asks whether each is supported and whether it is enabled."""
    groups = dict[str, list[str]]()
    for name, feature in features(host):
        groups.setdefault(standing(feature), []).append(name)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name in ("on", "off", "supported", "not there", "not known"):
        if groups.get(name):
            table.add_row(name, ", ".join(groups[name]))
    if table.row_count:
        yield Text("Capabilities of processor and hypervisor", style="bold")
        yield Padding(table, (0, 0, 0, 2))


def features(host: HostDescriptor) -> Iterator[tuple[str, Feature]]:
    """Every capability by name."""
    hypervisor = host.capabilities.hypervisor.capabilities
    for where, value in (("", host.capabilities.processor), ("hypervisor ", hypervisor)):
        for field in type(value).model_fields:
            found = getattr(value, field)
            name = where + field.replace("_", " ")
            if isinstance(found, Feature):
                yield name, found
            elif isinstance(found, dict):
                yield from ((f"{name} {key}", each) for key, each in found.items() if isinstance(each, Feature))


def standing(feature: Feature) -> str:
    """How a capability stands, in a word or two."""
    if feature.enabled.value:
        return "on"
    if feature.supported.value is False:
        return "not there"
    if feature.enabled.value is False:
        return "off"
    return "supported" if feature.supported.value else "not known"


def _warnings(host: HostDescriptor) -> Iterator[RenderableType]:
    for warning in host.warnings:
        yield Text(f"! {warning}", style="yellow")


def _unknown(host: HostDescriptor) -> Iterator[RenderableType]:
    found = unknowns(host)
    if not found:
        return
    yield ""
    yield Text(f"Not known: {sum(each.leaf_count for each in found)} of {_leaf_count(host)} facts", style="bold")
    for each in found[:REASONS_SHOWN]:
        names = tuple(dict.fromkeys(_short(leaf) for leaf in each.leaves))
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        text = Text.assemble((each.why, "dim"), ": ", ", ".join(names[:NAMES_SHOWN]), more)
        yield Padding(text, (0, 0, 0, 2))
    if left := found[REASONS_SHOWN:]:
        count = sum(each.leaf_count for each in left)
        yield Padding(Text(f"{count} for {len(left)} other reasons: --format yaml has all", style="dim"), (0, 0, 0, 2))


def _leaf_count(host: HostDescriptor) -> int:
    return sum(1 for _ in leaves(host))


def _short(leaf: str) -> str:
    """The end of a leaf's name, with as much before it as tells which it is; both halves of a feature are one."""
    parts = [part for part in leaf.split(".") if part not in PASSED_OVER]
    return " ".join(parts[:-1] if parts[-1] in ("supported", "enabled") else parts).replace("_", " ")
