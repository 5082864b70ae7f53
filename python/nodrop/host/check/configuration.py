"""A1 to A12: host configuration according to clause 6.1 and annex D. Advisory: the text requires none of it by name."""

from functools import partial

from nodrop.host.check.rule import (
    CheckRule,
    Condition,
    build_condition,
    build_unknown_condition,
    combine_all,
    combine_any,
    get_setting,
    judge_observation,
)
from nodrop.host.check.tuning_commands import (
    add_queues,
    build_empty_remedy,
    create_vfs,
    disable_irqbalance,
    disable_turbo,
    isolate_cpus,
    list_nics,
    list_noisy_services,
    move_cards,
    raise_limits,
    reserve_large_pages,
    steer_interrupts,
    stop_background_work,
    use_polling_driver,
)
from nodrop.model.chd import HostDescriptor, NumaNode
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list

BARE_METAL_CLAUSE = "6.1.1"
VIRTUAL_CLAUSE = "6.1.2"
POLLING_DRIVERS = frozenset({"vfio-pci", "igb_uio", "uio_pci_generic", "uio_hv_generic"})
"""Drivers that hand a card to a polling program."""
OFF_VALUES = ("none", "off", "inactive", "not running", "no", "0")
IRQBALANCE_VERDICTS = {"running": False, "not running": True}
MAPPINGS_MIN = 65530
"""Linux default (Documentation/admin-guide/sysctl/vm.rst); DPDK with many pages needs as many."""
LOCKED_BYTES_MIN = 2**30
DIGITS_MAX = 20


def parse_isolated_cpus(host: HostDescriptor) -> tuple[int, ...] | None:
    """Return the CPUs isolated from the scheduler; None: unknown."""
    setting = get_setting(host, "isolated_cpus")
    return None if not setting.known else parse_cpu_list((setting.value or "").replace("none", ""))


def _judge_polling(host: HostDescriptor) -> Condition:
    """Judge by cards without kernel driver, polling virtual switches and DPDK programs."""
    drivers = [
        judge_observation(
            f"driver of {nic.id} {nic.model.value or ''}".rstrip(), nic.driver, lambda name: name in POLLING_DRIVERS
        )
        for nic in list_nics(host)
    ]
    switches = [
        judge_observation(f"acceleration of {switch.name}", switch.acceleration, lambda how: how == "dpdk")
        for switch in host.capabilities.vswitches
    ]
    programs = get_setting(host, "polling_processes")
    running = judge_observation("DPDK programs", programs, lambda text: text != "none")
    return combine_any(*drivers, *switches, running)


def _judge_isolation(host: HostDescriptor) -> Condition:
    """Judge by isolation, nohz_full and rcu_nocbs; nohz_full implies rcu_nocbs."""
    cpus = parse_isolated_cpus(host)
    isolated = judge_observation(
        "isolated CPUs", get_setting(host, "isolated_cpus"), lambda _: None if cpus is None else bool(cpus)
    )
    if not isolated.holds:
        return isolated
    required_cpus = set(cpus or ())
    tickless = judge_observation(
        "CPUs without ticks (nohz_full)", get_setting(host, "nohz_full"), lambda text: _covers(text, required_cpus)
    )
    callback_free = combine_any(
        tickless,
        judge_observation(
            "CPUs without callbacks (rcu_nocbs)",
            get_setting(host, "rcu_nocbs"),
            lambda text: _covers(text, required_cpus),
        ),
    )
    return combine_all(isolated, tickless, callback_free._replace(evidence=callback_free.evidence[1:]))


def _covers(text: str, required_cpus: set[int]) -> bool | None:
    if text == "all":
        return True
    cpus = parse_cpu_list(text.replace("none", "").replace("(null)", ""))
    return None if cpus is None else required_cpus <= set(cpus)


def parse_interrupt_cpus(host: HostDescriptor) -> set[int] | None:
    """Return the CPUs that handle NIC interrupts; None: unknown, or no NIC."""
    setting = get_setting(host, "nic_irq_cpus")
    lists = [parse_cpu_list(part.rpartition("=")[2]) for part in (setting.value or "").split()] if setting.known else []
    if not lists or not all(lists):
        return None
    return {cpu for cpus in lists for cpu in cpus or ()}


def _judge_interrupts(host: HostDescriptor) -> Condition:
    setting = get_setting(host, "nic_irq_cpus")
    cpus = parse_isolated_cpus(host)
    targets = parse_interrupt_cpus(host)
    routing = judge_observation("interrupts of cards go to CPUs", setting, lambda _: None if targets is None else True)
    if targets is None:
        return routing
    if cpus is None:
        return combine_all(
            routing, build_unknown_condition("isolated CPUs", get_setting(host, "isolated_cpus").why or "not recorded")
        )
    if not cpus:
        return combine_all(
            routing, build_condition("CPUs kept free of them", False, "none, as no CPU is isolated", setting.source)
        )
    overlap = format_cpu_list(targets & set(cpus))
    return combine_all(
        routing, build_condition("isolated CPUs with interrupts", not overlap, overlap or "none", setting.source)
    )


def _is_off(text: str) -> bool:
    return text.strip().lower().startswith(OFF_VALUES)


def _judge_background(host: HostDescriptor) -> Condition:
    restless = list_noisy_services(host)
    services = (
        f"{' '.join(restless)} among those running" if restless else "none of those known to wake up by themselves"
    )
    return combine_all(
        judge_observation("services", get_setting(host, "services"), lambda _: not restless, services),
        judge_observation("firewall", get_setting(host, "firewall"), _is_off),
    )


def _judge_clock_rate(host: HostDescriptor) -> Condition:
    turbo, governor = host.capabilities.processor.turbo, host.capabilities.processor.governor
    if turbo.supported.value is False:
        return build_condition("turbo supported", True, "no", turbo.supported.source)
    condition = judge_observation("turbo on", turbo.enabled, lambda on: not on)
    return condition._replace(evidence=(*condition.evidence, *judge_observation("governor", governor).evidence))


def _judge_locality(host: HostDescriptor) -> Condition:
    """Judge whether each card is on a node with CPUs for VMs."""
    cards = [
        build_condition(nic.id, *_judge_node_cpus(node), nic.node.source)
        for node in host.resources.numa_nodes
        for nic in node.nics
    ]
    unplaced = [
        build_unknown_condition(f"node of {nic.id}", nic.node.why or "not said") for nic in host.resources.unplaced_nics
    ]
    return combine_all(*cards, *unplaced) if cards or unplaced else build_unknown_condition("cards", "none found")


def _judge_node_cpus(node: NumaNode) -> tuple[bool | None, str]:
    """Return whether VMs may use CPUs of a node."""
    eligible = [state.eligible.value for state in node.cpus.cpu.values()]
    if True in eligible:
        return True, f"on node {node.id}, whose CPUs are eligible for VMs"
    if None in eligible:
        return None, f"unknown: on node {node.id}, with CPUs of unknown eligibility for VMs"
    return False, f"on node {node.id}, which has no CPU eligible for VMs"


def _has_several_queues(text: str) -> bool | None:
    """Return whether every card has several queues."""
    counts = [_parse_number(part.rpartition("=")[2]) for part in text.split()]
    return None if not counts or None in counts else all(count != 1 for count in counts)


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX else None


def _judge_pinning(host: HostDescriptor) -> Condition:
    return combine_all(
        judge_observation(
            "memory a process may lock, in bytes",
            get_setting(host, "locked_memory_max"),
            lambda text: text == "unlimited" or _is_at_least(text, LOCKED_BYTES_MIN),
        ),
        judge_observation(
            "mappings a process may have",
            get_setting(host, "max_map_count"),
            lambda text: _is_at_least(text, MAPPINGS_MIN),
        ),
    )


def _is_at_least(text: str, least: int) -> bool | None:
    number = _parse_number(text)
    return None if number is None else number >= least


def _judge_large_pages(host: HostDescriptor) -> Condition:
    facts = []
    for node in host.resources.numa_nodes:
        pages = node.memory.large_pages
        for each in pages:
            label = f"pages of {each.size_bytes >> 20} MiB on node {node.id}"
            facts.append((node.id, judge_observation(label, each.total_count, lambda count: count > 0)))
    if not facts:
        return build_unknown_condition("large pages", "the descriptor holds none")
    nodes = {number for number, _ in facts}
    return combine_all(*(combine_any(*(fact for at, fact in facts if at == number)) for number in sorted(nodes)))


def _judge_sriov(host: HostDescriptor) -> Condition:
    ports = [(port.pci_id, port.sriov) for nic in list_nics(host) for port in nic.ports]
    if not ports:
        return build_unknown_condition("cards", "none found")
    shared = [
        judge_observation(f"virtual functions of {name}", sriov.configured_count, lambda count: count > 0)
        for name, sriov in ports
        if sriov
    ]
    return (
        combine_any(*shared) if shared else build_condition("ports with SR-IOV", False, "none", "sysfs sriov_totalvfs")
    )


_advice = partial(CheckRule, required=False, control_plane=False)

RULES = (
    _advice(
        "A1",
        "polling drivers",
        "An interrupt per packet costs more than the packet itself; a polling driver needs none.",
        _judge_polling,
        use_polling_driver,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A2",
        "CPUs isolated for the data plane",
        "Other tasks scheduled on the CPU of a packet thread evict its caches and delay it.",
        _judge_isolation,
        isolate_cpus,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A3",
        "interrupts kept off these CPUs",
        "An interrupt may stop a packet thread for longer than the card's queue can buffer.",
        _judge_interrupts,
        steer_interrupts,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A4",
        "irqbalance off",
        "It moves interrupts to CPUs that look idle, including those isolated for packets.",
        lambda host: judge_observation("irqbalance", get_setting(host, "irqbalance"), IRQBALANCE_VERDICTS.get),
        disable_irqbalance,
        "annex D",
    ),
    _advice(
        "A5",
        "no unnecessary services, no firewall",
        "Services that wake up periodically and packet filter rules reduce the packet rate.",
        _judge_background,
        stop_background_work,
        "annex D",
    ),
    _advice(
        "A6",
        "fixed clock rate: turbo off",
        "With turbo the clock depends on temperature and on other cores; annex D measured without it.",
        _judge_clock_rate,
        disable_turbo,
        "annex D",
    ),
    _advice(
        "A7",
        "cards local to the cores that serve them",
        "Each packet of a card on another socket crosses the link between processors.",
        _judge_locality,
        move_cards,
        "annex A",
    ),
    _advice(
        "A8",
        "flows spread over queues by the card (RSS)",
        "With one queue, a single core has to process all packets.",
        lambda host: judge_observation("receive queues of cards", get_setting(host, "nic_queues"), _has_several_queues),
        add_queues,
        VIRTUAL_CLAUSE,
    ),
    _advice(
        "A9",
        "no locks between threads",
        "Threads that share data wait for each other; this depends on the VNF's design and is not visible on the host.",
        None,
        build_empty_remedy,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A10",
        "memory for devices can be pinned",
        "Cards access memory by DMA, so it has to be pinned, which limits must allow.",
        _judge_pinning,
        raise_limits,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A11",
        "large pages reserved on every node",
        "Large pages only help if reserved on the node whose cores use them.",
        _judge_large_pages,
        reserve_large_pages,
        BARE_METAL_CLAUSE,
    ),
    _advice(
        "A12",
        "cards divided by SR-IOV",
        "A virtual function gives a VM direct access to the card, bypassing the hypervisor and its switch.",
        _judge_sriov,
        create_vfs,
        VIRTUAL_CLAUSE,
    ),
)
"""In the order of clause 6.1 and annex D; A11 and A12 are rows of tables 2 and 3."""
