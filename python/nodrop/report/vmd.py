"""The requirements of a VM Descriptor as text."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nodrop.model.vmd import HypervisorCapability, Impact, Interface, Profile, SetMemory, VcpuSet, VmDescriptor
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bytes, format_count, format_ratio

Row = tuple[str, str]
CAPABILITIES: dict[HypervisorCapability, str] = {
    "slat": "second-level address translation",
    "slat_large_pages": "large pages in it",
    "iommu_slat": "address translation for I/O",
    "iommu_slat_large_pages": "large pages in that",
    "interrupt_remapping": "interrupt remapping",
    "no_instruction_emulation": "no emulated instructions",
    "cpu_pinning": "pinned CPUs",
    "numa_memory_pinning": "memory of a given NUMA node",
    "numa_large_page_pinning": "large pages of a given NUMA node",
}
MODES = {
    "dedicated": "a dedicated port",
    "sriov": "a virtual function (SR-IOV) of a port",
    "vswitch": "a virtual switch",
}
LONE_THREADS = {
    "require": "all other vCPUs on sibling threads too",
    "isolate": "each other vCPU on a core whose other threads stay empty",
    "prefer": "",
}


def render_requirements(vmd: VmDescriptor, remarks: Sequence[str]) -> RenderableType:
    """Return the size of a VM, the requirements of each profile, and remarks on the descriptor."""
    parts: list[RenderableType] = [Text(f"{vmd.name}: {format_profile_size(vmd.profiles[0])}", style="bold")]
    if vmd.image:
        parts.append(Text(f"Image {vmd.image}"))
    if len(vmd.profiles) > 1:
        parts.append(Text(f"{len(vmd.profiles)} profiles in order of preference; a host uses the first one it meets."))
    if remarks:
        parts += [Text(), Text("To be confirmed", style="bold yellow"), *_indent(remarks)]
    for index, profile in enumerate(vmd.profiles, 1):
        parts += [
            Text(),
            Text(_format_title(profile, index, len(vmd.profiles)), style="bold"),
            _build_table(_list_rows(profile)),
        ]
    return Group(*parts)


def format_profile_size(profile: Profile) -> str:
    """Return the size in one line: `14 vCPUs, 14 GiB of memory, 2 interfaces`."""
    interfaces = sum(len(each.interfaces) for each in profile.vcpu_sets)
    memory = f"{format_bytes(profile.memory_bytes)} of memory"
    return f"{_format_quantity(profile.vcpu_count, 'vCPU')}, {memory}, {_format_quantity(interfaces, 'interface')}"


def _indent(sentences: Iterable[str]) -> Iterator[RenderableType]:
    for each in sentences:
        yield Padding(Text(each), (0, 0, 0, 2))


def _format_title(profile: Profile, index: int, count: int) -> str:
    name = f" ({profile.name})" if profile.name else ""
    size = f": {format_profile_size(profile)}" if index > 1 else ""
    return f"Profile {index} of {count}{name}{size}" if count > 1 else f"Host requirements{name}"


def _build_table(rows: Iterable[Row]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2), pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    last = ""
    for name, text in rows:
        table.add_row(Text("" if name == last else f"  {name}"), Text(text))
        last = name
    return table


def _list_rows(profile: Profile) -> Iterator[Row]:
    yield "processor", _describe_processor(profile)
    required = profile.memory
    speed = f"{required.speed_min_mtps} MT/s or faster" if required.speed_min_mtps else ""
    channels = f"{required.channels_min_count} channels populated" if required.channels_min_count else ""
    if speed or channels:
        yield "memory", ", ".join(filter(None, (speed, channels)))
    yield from (("hypervisor", text) for text in _describe_hypervisor(profile))
    yield from _describe_topology(profile)
    for index, each in enumerate(profile.vcpu_sets):
        yield from ((f"vCPU set {index}", text) for text in _describe_vcpu_set(each, profile))
    for link in profile.links:
        yield "between sets", f"{link.sets[0]} and {link.sets[1]}: {_format_rate(link.bandwidth_bps)}"
    for disk in profile.disks:
        kind = f" {disk.kind}" if disk.kind else ""
        yield "disk", f"{format_bytes(disk.size_bytes)}{kind}, {'dedicated' if disk.dedicated else 'may be shared'}"
    for device in profile.other_io:
        yield "device", f"{device.count} x {device.kind}{f' {device.model}' if device.model else ''}"
    if profile.impact:
        yield "impact", _describe_impact(profile.impact)
    if profile.kpis:
        yield "KPIs met", ", ".join(f"{name} {value:,.10g}" for name, value in profile.kpis.items())
    if profile.scales_with_cores:
        yield "", "more vCPUs compensate for slower ones"


def _describe_processor(profile: Profile) -> str:
    required = profile.processor
    model = required.model or " ".join(filter(None, (required.vendor, required.architecture)))
    rank = f"rank {required.rank_min:g} or higher" if required.rank_min is not None else ""
    parts = (
        f"{model} or equivalent" if required.model else f"{model}, any model" if model else "any",
        f"or {', '.join(required.alternatives)}" if required.alternatives else "",
        f"declared at {required.reference_mhz:g} MHz" if required.reference_mhz else "",
        rank,
        f"with {', '.join(required.isa_extensions)}" if required.isa_extensions else "",
    )
    return ", ".join(filter(None, parts))


def _describe_hypervisor(profile: Profile) -> Iterator[str]:
    required = profile.hypervisor
    version = f" {required.version_min} or later" if required.version_min else ""
    yield (
        (required.kind or "any")
        + version
        + (", with an accelerated virtual switch" if required.accelerated_vswitch else "")
    )
    if required.capabilities:
        yield f"supported and enabled: {', '.join(CAPABILITIES[each] for each in required.capabilities)}"


def _describe_topology(profile: Profile) -> Iterator[Row]:
    if profile.topology == "unrestricted":
        yield "topology", "none: vCPUs, memory and interfaces may be anywhere on the host"
    elif profile.separate_nodes and len(profile.vcpu_sets) > 1:
        yield "topology", "each vCPU set on a separate NUMA node"
    over = [
        *(["CPUs"] if profile.cpu_oversubscription_allowed else []),
        *(["memory"] if profile.memory_oversubscription_allowed else []),
    ]
    if over:
        yield "sharing", f"{' and '.join(over)} may be oversubscribed"


def _describe_vcpu_set(each: VcpuSet, profile: Profile) -> Iterator[str]:
    where = "" if profile.topology == "unrestricted" else ", all on one NUMA node"
    yield f"{_format_quantity(len(each.vcpus), 'vCPU')} ({format_cpu_list(each.vcpus)}){where}"
    if each.pairs:
        pairs = ", ".join("+".join(map(str, pair)) for pair in each.pairs)
        yield f"pairs on the threads of one core: {pairs}"
    lone = LONE_THREADS[profile.thread_policy]
    if lone and len(each.vcpus) > sum(len(pair) for pair in each.pairs):
        yield lone
    yield _describe_memory(each.memory)
    yield from (f"interface {index}: {_describe_interface(one)}" for index, one in enumerate(each.interfaces))


def _describe_memory(memory: SetMemory) -> str:
    pages = memory.large_page_count * (memory.large_page_bytes or 0)
    rest = memory.total_bytes - pages
    text = f"{format_bytes(memory.total_bytes)} of memory"
    if pages:
        count = _format_quantity(memory.large_page_count, "large page")
        size = format_bytes(memory.large_page_bytes or 0)
        text += f": {count} of {size}, {format_bytes(rest)} in normal pages"
    if memory.bandwidth_bytes_per_s:
        text += f"; {memory.bandwidth_bytes_per_s / 1e9:g} GB/s"
    return text


def _describe_interface(interface: Interface) -> str:
    text = f"{MODES[interface.mode]} of {_format_rate(interface.speed_bps)} or faster"
    if interface.mode == "vswitch":
        text = f"{MODES[interface.mode]} on a port of {_format_rate(interface.speed_bps)} or faster"
    if interface.bandwidth_bps:
        return f"{text}, {_format_rate(interface.bandwidth_bps)} of it"
    return f"{text}, all of it" if interface.mode == "dedicated" else f"{text}, nothing reserved"


def _format_rate(rate_bps: float) -> str:
    """Return a speed as in data sheets: `10 Gb/s`, `100 Mb/s`."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate_bps >= scale:
            return f"{rate_bps / scale:g} {prefix}b/s"
    return f"{rate_bps:g} b/s"


def _describe_impact(impact: Impact) -> str:
    if impact.option == 1:
        losses = ", ".join(f"{name} {format_ratio(ratio)}" for name, ratio in impact.degradation_max_ratio.items())
        return f"maximum loss next to a VM that loads one resource: {losses}"
    if impact.option == 2:
        return f"up to {impact.identical_max_count} identical VMs on one host degrade little"
    used = ", ".join(f"{name} {value:,.10g}" for name, value in impact.usage.items())
    return f"maximum usage: {used}"


def _format_quantity(count: int, noun: str) -> str:
    return format_count(count, noun) if count else f"no {noun}s"
