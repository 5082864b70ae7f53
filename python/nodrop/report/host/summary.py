"""The main facts of a host in words: identity, processor, memory, hypervisor and nodes."""

from collections.abc import Iterator

from nodrop.model.chd import HostDescriptor, LargePages, NumaNode, Processor
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bytes, format_count


def list_host_summary(host: HostDescriptor) -> Iterator[tuple[str, str]]:
    """Yield names and values that identify the machine and its parts; unknown values are empty."""
    identity, processor = host.host, host.capabilities.processor
    yield "host", pick_first_known(identity.hostname, identity.id)
    yield "product", pick_first_known(identity.product)
    yield "BIOS", pick_first_known(identity.bios)
    yield (
        "system",
        ", ".join(
            filter(
                None,
                (pick_first_known(identity.os), f"kernel {identity.kernel.value}" if identity.kernel.value else ""),
            )
        ),
    )
    kind = identity.virtualization.value
    yield "runs on", "" if kind is None else "bare metal" if kind == "none" else f"{kind} (a virtual machine)"
    yield "processor", ", ".join(_list_processor(processor))
    yield "caches", ", ".join(_list_caches(processor))
    yield "clock", ", ".join(_list_clock(processor))
    yield "memory", ", ".join(_list_memory(host))
    yield "hypervisor for VMs", ", ".join(_list_hypervisor(host))
    yield "vSwitches", "; ".join(_list_vswitches(host))


def pick_first_known(*observed: Observation[str]) -> str:
    """Return the first known text; empty if none is known."""
    return next((each.value for each in observed if each.value), "")


def describe_node(node: NumaNode) -> str:
    """Return a NUMA node in one line."""
    memory = node.memory
    parts = [
        f"CPUs {format_cpu_list(node.cpus.ids)} on {format_count(len(node.cpus.sibling_sets), 'core')}"
        if node.cpus.ids
        else "no CPUs",
        f"{format_memory_size(memory.total_bytes)} of memory",
        *(format_pages(each) + " large pages free" for each in memory.large_pages if each.total_count.value),
        *(f"{nic.model.value or nic.id}" for nic in node.nics),
    ]
    return ", ".join(parts)


def _list_processor(processor: Processor) -> Iterator[str]:
    yield pick_first_known(processor.model, processor.architecture) or "not known"
    signature = (processor.family.value, processor.model_number.value, processor.stepping.value)
    if None not in signature:
        yield "family {}, model {}, stepping {}".format(*signature)
    for count, one, many in (
        (processor.socket_count.value, "socket", "sockets"),
        (processor.core_count.value, "core", "cores"),
        (processor.threads_per_core_count.value, "thread per core", "threads per core"),
    ):
        if count is not None:
            yield format_count(count, one, many)


def _list_caches(processor: Processor) -> Iterator[str]:
    for cache in processor.caches:
        if cache.size_bytes.value:
            kind = {"data": "d", "instruction": "i", "unified": ""}[cache.kind]
            count = cache.instance_count.value
            times = f"{count} x " if count and count > 1 else ""
            yield f"L{cache.level}{kind} {times}{format_bytes(cache.size_bytes.value)}"


def _list_clock(processor: Processor) -> Iterator[str]:
    for observed, name in (
        (processor.base_mhz, "base"),
        (processor.max_mhz, "at most"),
        (processor.current_mhz, "now"),
    ):
        if observed.value:
            yield f"{name} {observed.value / 1000:.2f} GHz"
    if processor.governor.value:
        yield f"governor {processor.governor.value}"


def _list_memory(host: HostDescriptor) -> Iterator[str]:
    sizes = [node.memory.total_bytes.value for node in host.resources.numa_nodes]
    known_sizes = [size for size in sizes if size is not None]
    if known_sizes:
        yield format_bytes(sum(known_sizes)) + (
            "" if len(known_sizes) == len(sizes) else " on the nodes that report it"
        )
    memory = host.capabilities.memory
    if memory.kind.value:
        yield memory.kind.value
    if memory.speed_mtps.value:
        yield f"{memory.speed_mtps.value} MT/s"
    if memory.channels_populated_count.value:
        yield f"{memory.channels_populated_count.value} of {memory.channels_count.value or '?'} channels populated"


def _list_hypervisor(host: HostDescriptor) -> Iterator[str]:
    hypervisor = host.capabilities.hypervisor
    if hypervisor.kind.value:
        yield " ".join(filter(None, (hypervisor.kind.value, hypervisor.version.value)))
    for observed, name in ((hypervisor.emulator_version, "QEMU"), (hypervisor.manager_version, "libvirt")):
        if observed.value:
            yield f"{name} {observed.value}"


def _list_vswitches(host: HostDescriptor) -> Iterator[str]:
    for switch in host.capabilities.vswitches:
        kind = " ".join(filter(None, (switch.kind.value, switch.version.value)))
        yield f"{switch.name} ({kind})" if kind else switch.name


def format_pages(pages: LargePages) -> str:
    """Return the free and all pages of a size: `1G 4/8`."""
    total, used = pages.total_count.value, pages.used_count.value
    free = "?" if total is None or used is None else str(total - used)
    return f"{_format_page_size(pages.size_bytes)} {free}/{'?' if total is None else total}"


def _format_page_size(size_bytes: int) -> str:
    """Return a page size as kernels and clouds name it: `2M`, `1G`."""
    return format_bytes(size_bytes).replace(" ", "").removesuffix("iB")


def format_memory_size(observed: Observation[int]) -> str:
    """Return a size; `?` if unknown."""
    return "?" if observed.value is None else format_bytes(observed.value)
