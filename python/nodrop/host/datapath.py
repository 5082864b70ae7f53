"""Settings along the path of packets: which CPUs a card's interrupts go to, how many queues it has, what polls, and how
much memory devices may pin. Plain files, no privilege."""

import re
from collections.abc import Callable

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list

NET = "/sys/class/net"
IRQ = "/proc/irq"
MAP_COUNT = "/proc/sys/vm/max_map_count"
DMA_LIMIT = "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit"
LIMITS = "/proc/self/limits"
DPDK_RUNTIME = "/run/dpdk"
RESCTRL = "/sys/fs/resctrl"
_LOCKED = re.compile(r"^Max locked memory\s+(\d+|unlimited)\s", re.MULTILINE)


def describe(source: Source) -> dict[str, Observation[str]]:
    """Settings by name: `nic_irq_cpus`, `nic_queues`, `polling_processes`, `locked_memory_max`, `max_map_count`,
    `dma_entry_limit`, `resctrl`, `rps_cpus`."""
    cards = _cards(source.tree)
    return {
        "nic_irq_cpus": _per_card(source, cards, _irq_cpus, f"{IRQ}/*/smp_affinity_list"),
        "nic_queues": _per_card(source, cards, _queues, f"{NET}/*/queues"),
        "polling_processes": _polling_processes(source),
        "locked_memory_max": _locked_memory(source),
        "max_map_count": _read_number(source, MAP_COUNT),
        "dma_entry_limit": _read_number(source, DMA_LIMIT),
        "resctrl": _resctrl(source),
    }


def _cards(tree: FileTree) -> tuple[str, ...]:
    """Interfaces that have a device behind them: cards, not bridges or veth."""
    return tuple(name for name in tree.names(NET) if tree.exists(f"{NET}/{name}/device"))


def _per_card(
    source: Source, cards: tuple[str, ...], of: Callable[[FileTree, str], str | None], where: str
) -> Observation[str]:
    """A word for each card, as `eth0=0-1 eth1=2`."""
    if not source.tree.exists(NET):
        return source.moment.unknown(source.tree.why(NET), NET)
    if not cards:
        return source.moment.reported("none", NET, "no interface has a device behind it")
    found = {card: of(source.tree, card) for card in cards}
    missing = [card for card, text in found.items() if text is None]
    if missing:
        return source.moment.unknown(f"nothing is said of {' '.join(missing)}", where)
    return source.moment.reported(" ".join(f"{card}={text}" for card, text in found.items()), where)


def _irq_cpus(tree: FileTree, card: str) -> str | None:
    """CPUs that the card's interrupts go to; where the kernel does not say, those they may go to."""
    device = f"{NET}/{card}/device"
    found: set[int] = set()
    numbers = (
        tree.names(f"{device}/msi_irqs")
        or tree.names(f"{device}/../msi_irqs")
        or _legacy_interrupt(tree, f"{device}/irq")
    )
    for number in numbers:
        text = tree.text(f"{IRQ}/{number}/effective_affinity_list") or tree.text(f"{IRQ}/{number}/smp_affinity_list")
        found.update(parse_cpu_list(text or "") or ())
    return format_cpu_list(found) or None


def _legacy_interrupt(tree: FileTree, path: str) -> tuple[str, ...]:
    """The one interrupt of a card without message-signalled ones."""
    number = tree.number(path)
    return (str(number),) if number else ()


def _queues(tree: FileTree, card: str) -> str | None:
    """Receive queues, among which a card spreads flows."""
    count = sum(name.startswith("rx-") for name in tree.names(f"{NET}/{card}/queues"))
    return str(count) if count else None


def _polling_processes(source: Source) -> Observation[str]:
    """Names that running DPDK programs gave themselves (their file prefix)."""
    if not source.live and not source.tree.exists(DPDK_RUNTIME):
        return source.moment.unknown(source.tree.why(DPDK_RUNTIME), DPDK_RUNTIME)
    runs = [name for name in source.tree.names(DPDK_RUNTIME) if source.tree.exists(f"{DPDK_RUNTIME}/{name}/config")]
    return source.moment.reported(" ".join(runs) or "none", DPDK_RUNTIME)


def _locked_memory(source: Source) -> Observation[str]:
    text = source.tree.text(LIMITS)
    found = _LOCKED.search(text or "")
    if found is None:
        return source.moment.unknown(source.tree.why(LIMITS) or "it names no such limit", LIMITS)
    return source.moment.reported(found[1], LIMITS, "of the process that looked, in bytes")


def _read_number(source: Source, path: str) -> Observation[str]:
    number = source.tree.number(path)
    return (
        source.moment.unknown(source.tree.why(path), path)
        if number is None
        else source.moment.reported(str(number), path)
    )


def _resctrl(source: Source) -> Observation[str]:
    """What of caches and memory bandwidth can be divided; `off` where nothing is mounted."""
    if not source.live and not source.tree.exists(RESCTRL):
        return source.moment.unknown(source.tree.why(RESCTRL), RESCTRL)
    kinds = source.tree.names(f"{RESCTRL}/info")
    return source.moment.reported(" ".join(kinds) or "off", f"{RESCTRL}/info")
