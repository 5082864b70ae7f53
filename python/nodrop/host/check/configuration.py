"""A1 to A12: how a host is set up, after clause 6.1 and annex D. Advice: the text requires none of it by name."""

from functools import partial

from nodrop.host.check.rule import Fact, Rule, both, either, seen, setting, told, untold
from nodrop.host.check.tuning_commands import (
    by_functions,
    by_isolating,
    by_more_queues,
    by_moving_cards,
    by_polling,
    by_raising_limits,
    by_reserving,
    by_steering_interrupts,
    nics,
    noisy,
    nothing,
    without_background,
    without_irqbalance,
    without_turbo,
)
from nodrop.model.chd import HostDescriptor, NumaNode
from nodrop.system.cpu_sets import listed, ranges

BARE = "6.1.1"
VIRTUAL = "6.1.2"
POLLED = frozenset({"vfio-pci", "igb_uio", "uio_pci_generic", "uio_hv_generic"})
"""Drivers that leave a card to a program, which polls it."""
QUIET = ("none", "off", "inactive", "not running", "no", "0")
LEAST_MAPPINGS = 65530
"""What Linux allows by itself (Documentation/admin-guide/sysctl/vm.rst); DPDK with many pages needs as many."""
LEAST_LOCKED_BYTES = 2**30
MOST_DIGITS = 20


def isolated(host: HostDescriptor) -> tuple[int, ...] | None:
    """CPUs kept free of the scheduler; None: not known."""
    found = setting(host, "isolated_cpus")
    return None if not found.known else listed((found.value or "").replace("none", ""))


def _polling(host: HostDescriptor) -> Fact:
    """A card without a kernel driver, a virtual switch that polls, or a DPDK program."""
    drivers = [
        seen(f"driver of {nic.id} {nic.model.value or ''}".rstrip(), nic.driver, lambda name: name in POLLED)
        for nic in nics(host)
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
    kept = seen("isolated CPUs", setting(host, "isolated_cpus"), lambda _: None if cpus is None else bool(cpus))
    if not kept.holds:
        return kept
    wanted = set(cpus or ())
    without_ticks = seen(
        "CPUs without ticks (nohz_full)", setting(host, "nohz_full"), lambda text: _covers(text, wanted)
    )
    without_callbacks = either(
        without_ticks,
        seen("CPUs without callbacks (rcu_nocbs)", setting(host, "rcu_nocbs"), lambda text: _covers(text, wanted)),
    )
    return both(kept, without_ticks, without_callbacks._replace(evidence=without_callbacks.evidence[1:]))


def _covers(text: str, wanted: set[int]) -> bool | None:
    if text == "all":
        return True
    cpus = listed(text.replace("none", "").replace("(null)", ""))
    return None if cpus is None else wanted <= set(cpus)


def interrupt_cpus(host: HostDescriptor) -> set[int] | None:
    """CPUs that interrupts of network cards go to; None: not known, or there is no card."""
    found = setting(host, "nic_irq_cpus")
    lists = [listed(part.rpartition("=")[2]) for part in (found.value or "").split()] if found.known else []
    if not lists or not all(lists):
        return None
    return {cpu for cpus in lists for cpu in cpus or ()}


def _interrupts(host: HostDescriptor) -> Fact:
    found = setting(host, "nic_irq_cpus")
    cpus = isolated(host)
    targets = interrupt_cpus(host)
    went = seen("interrupts of cards go to CPUs", found, lambda _: None if targets is None else True)
    if targets is None:
        return went
    if cpus is None:
        return both(went, untold("isolated CPUs", setting(host, "isolated_cpus").why or "not recorded"))
    if not cpus:
        return both(went, told("CPUs kept free of them", False, "none, as no CPU is isolated", found.source))
    both_at = ranges(targets & set(cpus))
    return both(went, told("isolated CPUs that get some", not both_at, both_at or "none", found.source))


def _balance(host: HostDescriptor) -> Fact:
    return seen("irqbalance", setting(host, "irqbalance"), {"running": False, "not running": True}.get)


def _is_off(text: str) -> bool:
    return text.strip().lower().startswith(QUIET)


def _background(host: HostDescriptor) -> Fact:
    restless = noisy(host)
    shown = f"{' '.join(restless)} among those running" if restless else "none of those known to wake up by themselves"
    return both(
        seen("services", setting(host, "services"), lambda _: not restless, shown),
        seen("firewall", setting(host, "firewall"), _is_off),
    )


def _clock_rate(host: HostDescriptor) -> Fact:
    turbo, governor = host.capabilities.processor.turbo, host.capabilities.processor.governor
    if turbo.supported.value is False:
        return told("turbo supported", True, "no", turbo.supported.source)
    found = seen("turbo on", turbo.enabled, lambda on: not on)
    return found._replace(evidence=(*found.evidence, *seen("governor", governor).evidence))


def _local(host: HostDescriptor) -> Fact:
    """Each card on a node whose CPUs VMs may have."""
    cards = [
        told(nic.id, *_cpus_beside(node), nic.node.source) for node in host.resources.numa_nodes for nic in node.nics
    ]
    unplaced = [untold(f"node of {nic.id}", nic.node.why or "not said") for nic in host.resources.unplaced_nics]
    return both(*cards, *unplaced) if cards or unplaced else untold("cards", "none was found")


def _cpus_beside(node: NumaNode) -> tuple[bool | None, str]:
    """Whether VMs may have CPUs of a node."""
    eligible = [state.eligible.value for state in node.cpus.cpu.values()]
    if True in eligible:
        return True, f"on node {node.id}, whose CPUs VMs may have"
    if None in eligible:
        return None, f"unknown, it is on node {node.id}, and nothing says which of its CPUs VMs may have"
    return False, f"on node {node.id}, of which VMs may have no CPU"


def _steering(host: HostDescriptor) -> Fact:
    """Several receive queues, among which the card spreads flows (RSS)."""
    return seen("receive queues of cards", setting(host, "nic_queues"), _are_several)


def _are_several(text: str) -> bool | None:
    """Of every card."""
    counts = [_number(part.rpartition("=")[2]) for part in text.split()]
    return None if not counts or None in counts else all(count != 1 for count in counts)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def _pinned(host: HostDescriptor) -> Fact:
    return both(
        seen(
            "memory a process may lock, in bytes",
            setting(host, "locked_memory_max"),
            lambda text: text == "unlimited" or _is_least(text, LEAST_LOCKED_BYTES),
        ),
        seen(
            "mappings a process may have",
            setting(host, "max_map_count"),
            lambda text: _is_least(text, LEAST_MAPPINGS),
        ),
    )


def _is_least(text: str, least: int) -> bool | None:
    number = _number(text)
    return None if number is None else number >= least


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
    ports = [(port.pci_id, port.sriov) for nic in nics(host) for port in nic.ports]
    if not ports:
        return untold("cards", "none was found")
    shared = [
        seen(f"virtual functions of {name}", sriov.configured_count, lambda count: count > 0)
        for name, sriov in ports
        if sriov
    ]
    return either(*shared) if shared else told("ports with SR-IOV", False, "none", "sysfs sriov_totalvfs")


_advice = partial(Rule, required=False, control_plane=False)

RULES = (
    _advice(
        "A1",
        "drivers that poll",
        BARE,
        "An interrupt for every packet costs more than the packet; a polling driver takes none.",
        _polling,
        by_polling,
    ),
    _advice(
        "A2",
        "CPUs isolated for the data plane",
        BARE,
        "What the scheduler puts beside a packet thread empties its caches and makes it wait.",
        _isolation,
        by_isolating,
    ),
    _advice(
        "A3",
        "interrupts kept off those CPUs",
        BARE,
        "An interrupt stops whatever its CPU does, for longer than a card's queue may last.",
        _interrupts,
        by_steering_interrupts,
    ),
    _advice(
        "A4",
        "irqbalance off",
        "annex D",
        "It moves interrupts to CPUs that look idle, also to those kept free for packets.",
        _balance,
        without_irqbalance,
    ),
    _advice(
        "A5",
        "no needless services, no firewall",
        "annex D",
        "Services that wake up by themselves, and rules that every packet is held against, cost rate.",
        _background,
        without_background,
    ),
    _advice(
        "A6",
        "clock rate fixed: turbo off",
        "annex D",
        "With turbo the rate of a core depends on heat and on what the others do; annex D measured without it.",
        _clock_rate,
        without_turbo,
    ),
    _advice(
        "A7",
        "cards local to the cores that serve them",
        "annex A",
        "From a card at another socket each packet crosses the link between processors.",
        _local,
        by_moving_cards,
    ),
    _advice(
        "A8",
        "flows spread over queues by the card",
        VIRTUAL,
        "With one queue all packets go through one core, however many there are.",
        _steering,
        by_more_queues,
    ),
    _advice(
        "A9",
        "no locks between threads",
        BARE,
        "Threads that share structures wait for each other: a matter of the VNF's design, which no host shows.",
        None,
        nothing,
    ),
    _advice(
        "A10",
        "memory for devices can be pinned",
        BARE,
        "Cards write into memory by themselves, so it has to stay where it is, and be allowed to.",
        _pinned,
        by_raising_limits,
    ),
    _advice(
        "A11",
        "large pages set aside on every node",
        BARE,
        "Large pages help only if there are some, on the node whose cores use them.",
        _reserved,
        by_reserving,
    ),
    _advice(
        "A12",
        "cards divided by SR-IOV",
        VIRTUAL,
        "A virtual function gives a VM a card of its own, past the hypervisor and its switch.",
        _functions,
        by_functions,
    ),
)
"""In the order in which clause 6.1 and annex D mention them; A11 and A12 are rows of tables 2 and 3."""
