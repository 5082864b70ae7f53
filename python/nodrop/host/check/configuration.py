"""A1 to A12: how a host is set up, after clause 6.1 and what annex D did. Advice: the text requires none of it by name."""

from collections.abc import Iterator

from nodrop.cpus import listed, ranges
from nodrop.host.check.remedy import bios, install, kernel_arguments
from nodrop.host.check.rule import Fact, Remedy, Rule, both, either, seen, setting, told, untold
from nodrop.model.chd import HostDescriptor, Nic, NumaNode

BARE = "6.1.1"
VIRTUAL = "6.1.2"
POLLED = frozenset({"vfio-pci", "igb_uio", "uio_pci_generic", "uio_hv_generic"})
"""Drivers that leave a card to a program, which polls it."""
NOISY = frozenset(
    {
        "apt-daily",
        "avahi-daemon",
        "bluetooth",
        "cups",
        "fwupd",
        "ModemManager",
        "packagekit",
        "snapd",
        "tracker-miner-fs",
        "unattended-upgrades",
        "updatedb",
    }
)
"""Services that a host of VMs does not need, and that wake up by themselves."""
QUIET = ("none", "off", "inactive", "not running", "no", "0")
LEAST_MAPPINGS = 65530
"""What Linux allows a process by itself (Documentation/admin-guide/sysctl/vm.rst); DPDK with many pages needs as many."""
LEAST_LOCKED_BYTES = 2**30


def isolated(host: HostDescriptor) -> tuple[int, ...] | None:
    """CPUs kept free of the scheduler; None: not known."""
    found = setting(host, "isolated_cpus")
    return None if not found.known else listed((found.value or "").replace("none", ""))


def advised(host: HostDescriptor) -> str:
    """CPUs to isolate where none are: all but the first core of every node, as the kernel writes them."""
    kept = {cpu for node in host.resources.numa_nodes for cpu in _first_core(node)}
    return ranges(cpu for node in host.resources.numa_nodes for cpu in node.cpus.ids if cpu not in kept)


def _first_core(node: NumaNode) -> tuple[int, ...]:
    return min(node.cpus.sibling_sets, default=())


def _nics(host: HostDescriptor) -> Iterator[Nic]:
    for node in host.resources.numa_nodes:
        yield from node.nics
    yield from host.resources.unplaced_nics


def _polling(host: HostDescriptor) -> Fact:
    """A card without a kernel driver, a virtual switch that polls, or a DPDK program."""
    drivers = [
        seen(f"driver of {nic.id} {nic.model.value or ''}".rstrip(), nic.driver, lambda name: name in POLLED)
        for nic in _nics(host)
    ]
    switches = [
        seen(f"acceleration of {switch.name}", switch.acceleration, lambda how: how == "dpdk")
        for switch in host.capabilities.vswitches
    ]
    programs = setting(host, "polling_processes")
    running = seen("DPDK programs", programs, lambda text: text != "none")
    return either(*drivers, *switches, running)


def _isolation(host: HostDescriptor) -> Fact:
    """Isolated, without ticks and without callbacks; the kernel spares callbacks wherever it spares ticks."""
    cpus = isolated(host)
    kept = seen("isolated CPUs", setting(host, "isolated_cpus"), lambda _: bool(cpus))
    if not kept.holds:
        return kept
    wanted = set(cpus or ())
    without_ticks = seen("CPUs without ticks (nohz_full)", setting(host, "nohz_full"), lambda text: _covers(text, wanted))
    without_callbacks = either(
        without_ticks,
        seen("CPUs without callbacks (rcu_nocbs)", setting(host, "rcu_nocbs"), lambda text: _covers(text, wanted)),
    )
    return both(kept, without_ticks, without_callbacks._replace(evidence=without_callbacks.evidence[1:]))


def _covers(text: str, wanted: set[int]) -> bool | None:
    cpus = listed(text.replace("none", "").replace("(null)", ""))
    return None if cpus is None else wanted <= set(cpus)


def _interrupts(host: HostDescriptor) -> Fact:
    found = setting(host, "nic_irq_cpus")
    cpus = isolated(host)
    went = seen("interrupts of cards go to CPUs", found, lambda text: None if text == "none" else True)
    if went.holds is None:
        return went
    hit = {cpu for part in (found.value or "").split() for cpu in listed(part.rpartition("=")[2]) or ()}
    if cpus is None:
        return both(went, untold("isolated CPUs", setting(host, "isolated_cpus").why or "not recorded"))
    if not cpus:
        return both(went, told("CPUs kept free of them", False, "none, as no CPU is isolated", found.source))
    both_at = ranges(hit & set(cpus))
    return both(went, told("isolated CPUs that get some", not both_at, both_at or "none", found.source))


def _balance(host: HostDescriptor) -> Fact:
    return seen("irqbalance", setting(host, "irqbalance"), _is_off)


def _is_off(text: str) -> bool:
    return text.strip().lower().startswith(QUIET)


def _background(host: HostDescriptor) -> Fact:
    services = setting(host, "services")
    noisy = sorted(NOISY & {name.removesuffix(".service") for name in (services.value or "").replace(",", " ").split()})
    shown = f"{' '.join(noisy)} among those running" if noisy else "none of those known to wake up by themselves"
    return both(
        seen("services", services, lambda _: not noisy, shown),
        seen("firewall", setting(host, "firewall"), _is_off),
    )


def _clock_rate(host: HostDescriptor) -> Fact:
    """On or off, as long as it is known."""
    turbo, governor = host.capabilities.processor.turbo, host.capabilities.processor.governor
    decided = seen("turbo on", turbo.enabled, lambda _: True)
    if turbo.supported.value is False:
        decided = seen("turbo supported", turbo.supported, lambda _: True)
    return decided._replace(evidence=(*decided.evidence, *seen("governor", governor).evidence))


def _local(host: HostDescriptor) -> Fact:
    """Each card on a node whose CPUs VMs may have."""
    facts = []
    for node in host.resources.numa_nodes:
        eligible = [state.eligible.value for state in node.cpus.cpu.values()]
        holds = True if True in eligible else None if None in eligible else False
        for nic in node.nics:
            cpus = "has CPUs for VMs" if holds else "has no CPU for VMs" if holds is False else "nothing says which CPUs VMs may have"
            facts.append(told(f"{nic.id}", holds, f"on node {node.id}, which {cpus}" if holds is not None else f"on node {node.id}; {cpus}", nic.node.source))
    for nic in host.resources.unplaced_nics:
        facts.append(untold(f"node of {nic.id}", nic.node.why or "the kernel does not say"))
    return both(*facts) if facts else untold("cards", "none was found")


def _steering(host: HostDescriptor) -> Fact:
    """Several receive queues, among which the card spreads flows (RSS)."""
    return seen(
        "receive queues of cards",
        setting(host, "nic_queues"),
        lambda text: None if text == "none" else all(part.rpartition("=")[2] not in ("", "0", "1") for part in text.split()),
    )


def _pinned(host: HostDescriptor) -> Fact:
    return both(
        seen("memory a process may lock, in bytes", setting(host, "locked_memory_max"), _is_plenty),
        seen("mappings of a process", setting(host, "max_map_count"), lambda text: int(text) >= LEAST_MAPPINGS),
    )


def _is_plenty(text: str) -> bool:
    return text == "unlimited" or int(text) >= LEAST_LOCKED_BYTES


def _reserved(host: HostDescriptor) -> Fact:
    facts = []
    for node in host.resources.numa_nodes:
        pages = node.memory.large_pages
        for each in pages:
            label = f"pages of {each.size_bytes >> 20} MiB on node {node.id}"
            facts.append((node.id, seen(label, each.total_count, lambda count: count > 0)))
    if not facts:
        return untold("large pages", "the descriptor holds none")
    nodes = {number for number, _ in facts}
    return both(*(either(*(fact for at, fact in facts if at == number)) for number in sorted(nodes)))


def _functions(host: HostDescriptor) -> Fact:
    ports = [(port.pci_id, port.sriov) for nic in _nics(host) for port in nic.ports]
    if not ports:
        return untold("cards", "none was found")
    shared = [
        seen(f"virtual functions of {name}", sriov.configured_count, lambda count: count > 0)
        for name, sriov in ports
        if sriov
    ]
    return either(*shared) if shared else told("ports with SR-IOV", False, "none", "sysfs sriov_totalvfs")
