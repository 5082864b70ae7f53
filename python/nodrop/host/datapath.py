"""Settings of the data path: interrupt affinity and queues of NICs, polling programs, limits for pinned memory.

Read from plain files, without privileges.
"""

import re
from collections.abc import Callable

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.host.netdevs import CLASS as NET
from nodrop.host.netdevs import list_device_interfaces
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list

IRQ = "/proc/irq"
MAP_COUNT = "/proc/sys/vm/max_map_count"
DMA_LIMIT = "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit"
LIMITS = "/proc/self/limits"
DPDK_RUNTIME = "/run/dpdk"
RESCTRL = "/sys/fs/resctrl"
_LOCKED = re.compile(r"^Max locked memory\s+(\d+|unlimited)\s", re.MULTILINE)


def describe_datapath(source: Source) -> dict[str, Observation[str]]:
    """Return `nic_irq_cpus`, `nic_queues`, `polling_processes`, `locked_memory_max` and other settings by name."""
    cards = tuple(list_device_interfaces(source.tree))
    return {
        "nic_irq_cpus": _observe_cards(source, cards, _read_irq_cpus, f"{IRQ}/*/smp_affinity_list"),
        "nic_queues": _observe_cards(source, cards, _read_queues, f"{NET}/*/queues"),
        "polling_processes": _observe_polling_processes(source),
        "locked_memory_max": _observe_locked_memory(source),
        "max_map_count": _read_number(source, MAP_COUNT),
        "dma_entry_limit": _read_number(source, DMA_LIMIT),
        "resctrl": _observe_resctrl(source),
    }


def _observe_cards(
    source: Source, cards: tuple[str, ...], of: Callable[[FileTree, str], str | None], place: str
) -> Observation[str]:
    """Return one word per NIC, e.g. `eth0=0-1 eth1=2`."""
    if not source.tree.exists(NET):
        return source.moment.unknown(source.tree.failure_reason(NET), NET)
    if not cards:
        return source.moment.reported("none", NET, "no interface has a device behind it")
    texts = {card: of(source.tree, card) for card in cards}
    missing = [card for card, text in texts.items() if text is None]
    if missing:
        return source.moment.unknown(f"nothing is said of {' '.join(missing)}", place)
    return source.moment.reported(" ".join(f"{card}={text}" for card, text in texts.items()), place)


def _read_irq_cpus(tree: FileTree, card: str) -> str | None:
    """Return the CPUs that handle the NIC's interrupts, or those allowed to if only these are reported."""
    device = f"{NET}/{card}/device"
    cpus: set[int] = set()
    numbers = (
        tree.list_directory(f"{device}/msi_irqs")
        or tree.list_directory(f"{device}/../msi_irqs")
        or _find_legacy_interrupt(tree, f"{device}/irq")
    )
    for number in numbers:
        text = tree.read_text(f"{IRQ}/{number}/effective_affinity_list") or tree.read_text(
            f"{IRQ}/{number}/smp_affinity_list"
        )
        cpus.update(parse_cpu_list(text or "") or ())
    return format_cpu_list(cpus) or None


def _find_legacy_interrupt(tree: FileTree, path: str) -> tuple[str, ...]:
    """Return the legacy interrupt of a NIC without MSI."""
    number = tree.read_number(path)
    return (str(number),) if number else ()


def _read_queues(tree: FileTree, card: str) -> str | None:
    """Return the number of receive queues (RSS)."""
    count = sum(name.startswith("rx-") for name in tree.list_directory(f"{NET}/{card}/queues"))
    return str(count) if count else None


def _observe_polling_processes(source: Source) -> Observation[str]:
    """Return the file prefixes of running DPDK programs."""
    if not source.live and not source.tree.exists(DPDK_RUNTIME):
        return source.moment.unknown(source.tree.failure_reason(DPDK_RUNTIME), DPDK_RUNTIME)
    runs = [
        name for name in source.tree.list_directory(DPDK_RUNTIME) if source.tree.exists(f"{DPDK_RUNTIME}/{name}/config")
    ]
    return source.moment.reported(" ".join(runs) or "none", DPDK_RUNTIME)


def _observe_locked_memory(source: Source) -> Observation[str]:
    text = source.tree.read_text(LIMITS)
    match = _LOCKED.search(text or "")
    if match is None:
        return source.moment.unknown(source.tree.failure_reason(LIMITS) or "it names no such limit", LIMITS)
    return source.moment.reported(match[1], LIMITS, "of the process that looked, in bytes")


def _read_number(source: Source, path: str) -> Observation[str]:
    number = source.tree.read_number(path)
    return (
        source.moment.unknown(source.tree.failure_reason(path), path)
        if number is None
        else source.moment.reported(str(number), path)
    )


def _observe_resctrl(source: Source) -> Observation[str]:
    """Return the resources that resctrl can partition; `off` if it is not mounted."""
    if not source.live and not source.tree.exists(RESCTRL):
        return source.moment.unknown(source.tree.failure_reason(RESCTRL), RESCTRL)
    kinds = source.tree.list_directory(f"{RESCTRL}/info")
    return source.moment.reported(" ".join(kinds) or "off", f"{RESCTRL}/info")
