"""R1 to R18: items to record with a benchmark according to RFC 8204 section 3.3."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nodrop.host.check.rule import get_setting
from nodrop.model.chd import HostDescriptor, Nic
from nodrop.model.hostcheck import CheckEvidence, CheckStatus, HostCheck
from nodrop.model.observation import Observation

CLAUSE = "RFC 8204 3.3"
AnyObservation = (
    Observation[str] | Observation[int] | Observation[float] | Observation[bool] | Observation[tuple[str, ...]]
)


class RecordItem(NamedTuple):
    """One item to record."""

    id: str
    title: str
    leaves: Callable[[HostDescriptor], Sequence[AnyObservation]]
    """All have to be known."""


def check_records(host: HostDescriptor) -> tuple[HostCheck, ...]:
    """Check whether each item is recorded: pass, or unknown if missing."""
    return tuple(_check(item, host) for item in RECORD_ITEMS)


def _check(item: RecordItem, host: HostDescriptor) -> HostCheck:
    leaves = item.leaves(host)
    missing = [leaf for leaf in leaves if not leaf.known]
    status: CheckStatus = "pass" if leaves and not missing else "unknown"
    return HostCheck(
        id=item.id,
        title=item.title,
        clause=CLAUSE,
        required=False,
        status=status,
        evidence=tuple(_build_evidence(leaf) for leaf in leaves)
        or (CheckEvidence(value="missing: none found", source=""),),
        why="Setups can be compared only if this is known for both.",
        verify="nodrop host describe",
    )


def _build_evidence(leaf: AnyObservation) -> CheckEvidence:
    if not leaf.known:
        return CheckEvidence(value=f"missing: {leaf.why or 'not detected'}", source=leaf.source)
    return CheckEvidence(
        value=" ".join(map(str, leaf.value)) if isinstance(leaf.value, tuple) else str(leaf.value), source=leaf.source
    )


def _list_nics(host: HostDescriptor) -> Iterable[Nic]:
    placed = (nic for node in host.resources.numa_nodes for nic in node.nics)
    return (*placed, *host.resources.unplaced_nics)


def _select_settings(*names: str) -> Callable[[HostDescriptor], Sequence[AnyObservation]]:
    return lambda host: [get_setting(host, name) for name in names]


def _list_sizes(host: HostDescriptor) -> list[AnyObservation]:
    return [node.memory.total_bytes for node in host.resources.numa_nodes]


def _list_hypervisor(host: HostDescriptor) -> list[AnyObservation]:
    hypervisor = host.capabilities.hypervisor
    return [hypervisor.kind] if hypervisor.kind.value == "none" else [hypervisor.kind, hypervisor.version]


def _list_switches(host: HostDescriptor) -> list[AnyObservation]:
    """Return the virtual switches; their absence, once checked, is known too."""
    nothing: AnyObservation = Observation(value="none", source="host describe", confidence="reported")
    return [leaf for each in host.capabilities.vswitches for leaf in (each.kind, each.version)] or [nothing]


def _list_large_pages(host: HostDescriptor) -> list[AnyObservation]:
    return [pages.total_count for node in host.resources.numa_nodes for pages in node.memory.large_pages]


RECORD_ITEMS = (
    RecordItem("R1", "platform", lambda host: [host.host.product]),
    RecordItem("R2", "processor", lambda host: [host.capabilities.processor.vendor, host.capabilities.processor.model]),
    RecordItem(
        "R3",
        "cores that are enabled",
        lambda host: [host.capabilities.processor.core_count, host.capabilities.processor.threads_per_core_count],
    ),
    RecordItem("R4", "microcode", lambda host: [host.capabilities.processor.microcode]),
    RecordItem("R5", "memory: kind and size", lambda host: [host.capabilities.memory.kind, *_list_sizes(host)]),
    RecordItem(
        "R6",
        "memory modules: size, speed, slot",
        lambda host: [leaf for each in host.capabilities.memory.modules for leaf in (each.size_bytes, each.speed_mtps)],
    ),
    RecordItem(
        "R7",
        "cards: maker, model, firmware",
        lambda host: [leaf for nic in _list_nics(host) for leaf in (nic.vendor, nic.model, nic.firmware)],
    ),
    RecordItem(
        "R8",
        "cards: slots as they run",
        lambda host: [leaf for nic in _list_nics(host) for leaf in (nic.pci_generation, nic.lane_count)],
    ),
    RecordItem("R9", "interrupts of cards", _select_settings("nic_irq_cpus", "irqbalance")),
    RecordItem("R10", "BIOS: version and date", lambda host: [host.host.bios]),
    RecordItem(
        "R11",
        "power management: governor, idle states, turbo",
        lambda host: [
            host.capabilities.processor.governor,
            host.capabilities.processor.idle_states,
            host.capabilities.processor.turbo.enabled,
        ],
    ),
    RecordItem("R12", "operating system", lambda host: [host.host.os]),
    RecordItem("R13", "kernel", lambda host: [host.host.kernel]),
    RecordItem("R14", "kernel command line", _select_settings("kernel_cmdline")),
    RecordItem("R15", "hypervisor: kind and version", _list_hypervisor),
    RecordItem("R16", "virtual switches: kind and version", _list_switches),
    RecordItem("R17", "CPUs isolated", _select_settings("isolated_cpus")),
    RecordItem("R18", "memory in large pages", _list_large_pages),
)
