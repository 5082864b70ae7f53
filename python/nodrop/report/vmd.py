"""What a VM needs of a host, in plain words."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nodrop.model.vmd import HypervisorCapability, Impact, Interface, Profile, SetMemory, VcpuSet, VmDescriptor
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bytes, format_ratio

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
    "dedicated": "a port of its own",
    "sriov": "a virtual function (SR-IOV) of a port",
    "vswitch": "a virtual switch",
}
LONE_THREADS = {
    "require": "the others too on sibling threads",
    "isolate": "each of the others on a core whose other threads stay empty",
    "prefer": "",
}


def render_requirements(vmd: VmDescriptor, remarks: Sequence[str]) -> RenderableType:
    """A VM's descriptor for people: how big, what each profile asks, and what was not clear in it."""
    parts: list[RenderableType] = [Text(f"{vmd.name}: {format_profile_size(vmd.profiles[0])}", style="bold")]
    if vmd.image:
        parts.append(Text(f"Image {vmd.image}"))
    if len(vmd.profiles) > 1:
        parts.append(
            Text(f"{len(vmd.profiles)} profiles, tried in this order; the first that a host meets is used there.")
        )
    if remarks:
        parts += [Text(), Text("To be confirmed", style="bold yellow"), *_listed(remarks)]
    for index, profile in enumerate(vmd.profiles, 1):
        parts += [Text(), Text(_title(profile, index, len(vmd.profiles)), style="bold"), _table(_rows(profile))]
    return Group(*parts)


def format_profile_size(profile: Profile) -> str:
    """How big it is in a line: `14 vCPUs, 14 GiB of memory, 2 interfaces`."""
    interfaces = sum(len(each.interfaces) for each in profile.vcpu_sets)
    memory = f"{format_bytes(profile.memory_bytes)} of memory"
    return f"{_many(profile.vcpu_count, 'vCPU')}, {memory}, {_many(interfaces, 'interface')}"


def _listed(sentences: Iterable[str]) -> Iterator[RenderableType]:
    for each in sentences:
        yield Padding(Text(each), (0, 0, 0, 2))


def _title(profile: Profile, index: int, count: int) -> str:
    name = f" ({profile.name})" if profile.name else ""
    size = f": {format_profile_size(profile)}" if index > 1 else ""
    return f"Profile {index} of {count}{name}{size}" if count > 1 else f"What a host has to have{name}"


def _table(rows: Iterable[Row]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2), pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    last = ""
    for name, text in rows:
        table.add_row(Text("" if name == last else f"  {name}"), Text(text))
        last = name
    return table


def _rows(profile: Profile) -> Iterator[Row]:
    yield "processor", _processor(profile)
    asked = profile.memory
    speed = f"{asked.speed_min_mtps} MT/s or faster" if asked.speed_min_mtps else ""
    channels = f"{asked.channels_min_count} channels populated" if asked.channels_min_count else ""
    if speed or channels:
        yield "memory", ", ".join(filter(None, (speed, channels)))
    yield from (("hypervisor", text) for text in _hypervisor(profile))
    yield from _topology(profile)
    for index, each in enumerate(profile.vcpu_sets):
        yield from ((f"vCPU set {index}", text) for text in _set(each, profile))
    for link in profile.links:
        yield "between sets", f"{link.sets[0]} and {link.sets[1]}: {_rate(link.bandwidth_bps)}"
    for disk in profile.disks:
        kind = f" {disk.kind}" if disk.kind else ""
        yield "disk", f"{format_bytes(disk.size_bytes)}{kind}, {'its own' if disk.dedicated else 'may be shared'}"
    for device in profile.other_io:
        yield "device", f"{device.count} x {device.kind}{f' {device.model}' if device.model else ''}"
    if profile.impact:
        yield "impact", _impact(profile.impact)
    if profile.kpis:
        yield "it then does", ", ".join(f"{name} {value:,.10g}" for name, value in profile.kpis.items())
    if profile.scales_with_cores:
        yield "", "more vCPUs make up for slower ones"


def _processor(profile: Profile) -> str:
    asked = profile.processor
    model = asked.model or " ".join(filter(None, (asked.vendor, asked.architecture)))
    rank = f"rank {asked.rank_min:g} or higher" if asked.rank_min is not None else ""
    parts = (
        f"{model} or its equal" if asked.model else f"{model}, any model" if model else "any",
        f"or {', '.join(asked.alternatives)}" if asked.alternatives else "",
        f"declared at {asked.reference_mhz:g} MHz" if asked.reference_mhz else "",
        rank,
        f"with {', '.join(asked.isa_extensions)}" if asked.isa_extensions else "",
    )
    return ", ".join(filter(None, parts))


def _hypervisor(profile: Profile) -> Iterator[str]:
    asked = profile.hypervisor
    version = f" {asked.version_min} or later" if asked.version_min else ""
    yield (
        (asked.kind or "any") + version + (", with an accelerated virtual switch" if asked.accelerated_vswitch else "")
    )
    if asked.capabilities:
        yield f"supported and enabled: {', '.join(CAPABILITIES[each] for each in asked.capabilities)}"


def _topology(profile: Profile) -> Iterator[Row]:
    if profile.topology == "unrestricted":
        yield "topology", "none: vCPUs, memory and interfaces may be anywhere on the host"
    elif profile.separate_nodes and len(profile.vcpu_sets) > 1:
        yield "topology", "each vCPU set on a NUMA node of its own"
    over = [
        *(["CPUs"] if profile.cpu_oversubscription_allowed else []),
        *(["memory"] if profile.memory_oversubscription_allowed else []),
    ]
    if over:
        yield "sharing", f"{' and '.join(over)} may be oversubscribed"


def _set(each: VcpuSet, profile: Profile) -> Iterator[str]:
    where = "" if profile.topology == "unrestricted" else ", all on one NUMA node"
    yield f"{_many(len(each.vcpus), 'vCPU')} ({format_cpu_list(each.vcpus)}){where}"
    if each.pairs:
        pairs = ", ".join("+".join(map(str, pair)) for pair in each.pairs)
        yield f"on the threads of one core each: {pairs}"
    lone = LONE_THREADS[profile.thread_policy]
    if lone and len(each.vcpus) > sum(len(pair) for pair in each.pairs):
        yield lone
    yield _memory(each.memory)
    yield from (f"interface {index}: {_interface(one)}" for index, one in enumerate(each.interfaces))


def _memory(memory: SetMemory) -> str:
    pages = memory.large_page_count * (memory.large_page_bytes or 0)
    rest = memory.total_bytes - pages
    text = f"{format_bytes(memory.total_bytes)} of memory"
    if pages:
        size = format_bytes(memory.large_page_bytes or 0)
        text += f": {_many(memory.large_page_count, 'large page')} of {size}, {format_bytes(rest)} in usual pages"
    if memory.bandwidth_bytes_per_s:
        text += f"; {memory.bandwidth_bytes_per_s / 1e9:g} GB/s"
    return text


def _interface(interface: Interface) -> str:
    text = f"{MODES[interface.mode]} of {_rate(interface.speed_bps)} or faster"
    if interface.mode == "vswitch":
        text = f"{MODES[interface.mode]} on a port of {_rate(interface.speed_bps)} or faster"
    if interface.bandwidth_bps:
        return f"{text}, {_rate(interface.bandwidth_bps)} of it"
    return f"{text}, all of it" if interface.mode == "dedicated" else f"{text}, nothing reserved"


def _rate(rate_bps: float) -> str:
    """A speed as it is on a data sheet: `10 Gb/s`, `100 Mb/s`."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate_bps >= scale:
            return f"{rate_bps / scale:g} {prefix}b/s"
    return f"{rate_bps:g} b/s"


def _impact(impact: Impact) -> str:
    if impact.option == 1:
        losses = ", ".join(f"{name} {format_ratio(ratio)}" for name, ratio in impact.degradation_max_ratio.items())
        return f"loses at most this beside a VM that strains one thing: {losses}"
    if impact.option == 2:
        return f"up to {impact.identical_max_count} of it on one host degrade little"
    used = ", ".join(f"{name} {value:,.10g}" for name, value in impact.usage.items())
    return f"uses at worst: {used}"


def _many(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
