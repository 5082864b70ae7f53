"""Ports of network cards and their virtual functions: speed, users, eligibility for VMs."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from nodrop.host import libvirt, netdevs, network
from nodrop.host.cpu_users import DeviceUsers, find_device_users, name_process
from nodrop.host.inputs import NOT_CAPTURED, Source
from nodrop.host.network import KernelInterface
from nodrop.host.pci import PciFunction
from nodrop.model.chd import Port, Sriov, Use, Vf, VSwitch
from nodrop.model.observation import Observation

HOST = "host"
"""Owner of ports used by the host itself."""
_VF_LINK = re.compile(r"virtfn(\d+)")
_SPEED = re.compile(
    r"(?:(?<![A-Za-z0-9.])(\d{1,3}(?:\.5)?)[ -]?(?:GBASE|GbE|Gb/s|Gb\b|GE\b|G\b|Gigabit)|(?<=[ -])Gigabit)"
)
_DOWN = ("down", "lowerlayerdown", "notpresent")


class PortContext(NamedTuple):
    """Data shared by all ports, read once."""

    source: Source
    functions: Mapping[str, PciFunction]
    interfaces: Mapping[str, KernelInterface]
    interfaces_why: str
    routed: frozenset[str]
    routed_why: str
    holders: DeviceUsers
    owners: Mapping[str, str]
    """VMs by PCI address of their passthrough devices."""
    switches: Mapping[str, str]
    """Virtual switches by interface, or by the PCI address of a device that the switch drives itself."""


class PortEvidence(NamedTuple):
    """Source and reason of an observation."""

    source: str
    why: str


class PortState(NamedTuple):
    """Availability of a port or a virtual function."""

    eligible: Observation[bool]
    in_use: Observation[bool]
    use: Observation[Use]
    owners: tuple[str, ...] = ()
    vswitch: str = ""


def collect_context(source: Source, functions: tuple[PciFunction, ...], switches: tuple[VSwitch, ...]) -> PortContext:
    """Collect the data shared by all ports."""
    interfaces, reason = source.network.read_interfaces() if source.network else ({}, NOT_CAPTURED)
    routed, routed_why = netdevs.read_routed_interfaces(source.tree)
    handed_over = any(_list_device_files(source, each) for each in functions)
    return PortContext(
        source=source,
        functions={each.id: each for each in functions},
        interfaces=interfaces,
        interfaces_why=reason,
        routed=routed,
        routed_why=routed_why,
        holders=find_device_users(source.tree) if handed_over else DeviceUsers({}, ""),
        owners={device: f"VM {vm.name}" for vm in libvirt.list_domains(source) for device in vm.devices},
        switches={port: switch.name for switch in switches for port in switch.ports.value or ()},
    )


def describe_ports(context: PortContext, function: PciFunction, model: Observation[str]) -> tuple[Port, ...]:
    """Return the ports of a function: one, except for cards with several ports per function."""
    interfaces = netdevs.list_interfaces(context.source.tree, function)
    return tuple(_describe_port(context, function, each, model) for each in interfaces or ("",))


def describe_non_pci_port(context: PortContext, interface: str) -> Port:
    """Return the port of a card on another bus than PCI."""
    state = _observe_kernel_state(context, None, interface)
    return _build_port(context.source, ("", interface), _observe_type_speed(context.source, interface), state)


def _describe_port(context: PortContext, function: PciFunction, interface: str, model: Observation[str]) -> Port:
    """Return the current state of a port."""
    source = context.source
    sriov = _describe_sriov(context, function, interface)
    state = _observe_state(context, function, interface)
    if sriov and (vfs := sriov.vfs):
        state = _with_vfs(context, state, function, len(vfs), [each.owner for each in vfs if each.in_use.value])
    speed = _observe_type_speed(source, interface)
    model_speed = None if speed.known else _observe_speed_by_model(source, model)
    return _build_port(source, (function.id, interface), model_speed or speed, state).replace(sriov=sriov)


def _build_port(source: Source, place: tuple[str, str], speed: Observation[int], state: PortState) -> Port:
    pci_id, interface = place
    return Port(
        pci_id=pci_id,
        netdev=interface,
        speed_bps=speed,
        link_speed_bps=_link_speed(source, interface),
        link=_observe_link(source, interface),
        eligible=state.eligible,
        in_use=state.in_use,
        use=state.use,
        owners=state.owners,
        vswitch=state.vswitch,
    )


def read_driver(source: Source, function: PciFunction) -> str:
    """Return the driver bound to a function; empty: none."""
    return (source.tree.read_link(f"{function.path}/driver") or "").rsplit("/", 1)[-1]


def observe_in_use(context: PortContext, function: PciFunction) -> Observation[bool]:
    """Return whether a device other than a network card is in use."""
    source, bound = context.source, read_driver(context.source, function)
    if _is_user_space_driver(bound):
        return _observe_user_space_state(context, function, bound).in_use
    path = f"{function.path}/driver"
    if not bound:
        return source.moment.inferred(False, path, "no driver is bound")
    return source.moment.unknown(f"the kernel has it, by {bound}, and does not say for whom", path)


def _observe_state(context: PortContext, function: PciFunction, interface: str) -> PortState:
    bound = read_driver(context.source, function)
    if _is_user_space_driver(bound):
        return _observe_user_space_state(context, function, bound)
    if interface:
        return _observe_kernel_state(context, function, interface)
    moment, path = context.source.moment, f"{function.path}/driver"
    if not bound:
        reason = "no driver is bound"
        return _free_state(context, path, reason)
    if places := netdevs.list_net_directories(context.source.tree, function):
        elsewhere = PortEvidence(places[-1], "its interface is in another network namespace")
        unsaid: Observation[bool] = moment.unknown(elsewhere.why, elsewhere.source)
        return PortState(unsaid, moment.inferred(True, *elsewhere), moment.inferred("dedicated", *elsewhere))
    reason = f"bound to {bound}, without an interface"
    return PortState(moment.unknown(reason, path), moment.unknown(reason, path), moment.unknown(reason, path))


def _observe_user_space_state(context: PortContext, function: PciFunction, bound: str) -> PortState:
    """Return the state of a function driven by a program or a VM."""
    source, moment, path = context.source, context.source.moment, f"{function.path}/driver"
    eligible = moment.reported(True, path, f"bound to {bound}")
    if switch := context.switches.get(function.id):
        return _build_used_state(
            context, eligible, "shared", (switch,), PortEvidence(path, f"driven by {switch}")
        )._replace(vswitch=switch)
    if vm := context.owners.get(function.id):
        return _build_used_state(context, eligible, "dedicated", (vm,), PortEvidence("libvirt", f"given to {vm}"))
    files = _list_device_files(source, function)
    if processes := context.holders.find_processes(files):
        owners = tuple(name_process(source.tree, process) for process in processes)
        return _build_used_state(
            context, eligible, "dedicated", owners, PortEvidence(f"/proc/{processes[0]}/fd", f"{files[0]} is open")
        )
    if not files or context.holders.why:
        reason = context.holders.why or "its device file is not known"
        return PortState(eligible, moment.unknown(reason, "/proc/*/fd"), moment.unknown(reason, "/proc/*/fd"))
    return _free_state(context, "/proc/*/fd", f"no process has {files[0]} open")._replace(eligible=eligible)


def _observe_kernel_state(context: PortContext, function: PciFunction | None, interface: str) -> PortState:
    """Return the state of a function with a kernel interface."""
    source, moment = context.source, context.source.moment
    built = netdevs.find_stack(source.tree, interface)
    family = (interface, *built.uppers)
    names = (*family, function.id) if function else family
    switch = next((context.switches[each] for each in names if each in context.switches), "")
    switch = switch or next(iter(built.bridges), "")
    path = f"{netdevs.CLASS}/{interface}"
    if switch:
        eligible = moment.reported(True, path, f"through {switch}")
        return _build_used_state(context, eligible, "shared", (switch,), PortEvidence(path, f"on {switch}"))._replace(
            vswitch=switch
        )
    if used := next((each for each in family if _is_used_by_host(context, each)), ""):
        reason = "it has an address or a route of the host" + (f", through {used}" if used != interface else "")
        return _build_used_state(
            context, moment.reported(False, path, reason), "shared", (HOST,), PortEvidence(path, reason)
        )
    if processes := context.holders.find_processes(_list_device_files(source, function) if function else ()):
        owners = tuple(name_process(source.tree, process) for process in processes)
        reason = "its device file is open"
        return _build_used_state(
            context, moment.inferred(True, path, reason), "dedicated", owners, PortEvidence(path, reason)
        )
    if built.uppers:
        reason = f"{', '.join(built.uppers)} stands on it"
        return _build_used_state(
            context, moment.inferred(False, path, reason), "shared", (HOST,), PortEvidence(path, reason)
        )
    if not context.interfaces and context.routed_why:
        reason = f"whether the host uses it: {context.routed_why}"
        return PortState(moment.unknown(reason, path), moment.unknown(reason, path), moment.unknown(reason, path))
    return _free_state(context, path, "no address, no route, on no bridge")


def _is_used_by_host(context: PortContext, interface: str) -> bool:
    facts = context.interfaces.get(interface)
    return interface in context.routed or bool(facts and facts.addresses)


def _free_state(context: PortContext, source: str, reason: str) -> PortState:
    moment = context.source.moment
    return PortState(
        moment.inferred(True, source, reason),
        moment.inferred(False, source, reason),
        moment.inferred("none", source, reason),
    )


def _build_used_state(
    context: PortContext,
    eligible: Observation[bool],
    use: Literal["dedicated", "shared"],
    owners: tuple[str, ...],
    evidence: PortEvidence,
) -> PortState:
    moment = context.source.moment
    return PortState(eligible, moment.inferred(True, *evidence), moment.inferred(use, *evidence), owners)


def _with_vfs(
    context: PortContext, state: PortState, function: PciFunction, count: int, owners: list[str]
) -> PortState:
    """Merge the use of virtual functions into the state of their port."""
    moment, source = context.source.moment, f"{function.path}/sriov_numvfs"
    reason = f"by its {count} virtual functions" + (f"; itself: {state.eligible.why}" if state.eligible.why else "")
    state = state._replace(eligible=moment.inferred(True, source, reason))
    if not owners:
        return state
    reason = f"{len(owners)} of its virtual functions are in use"
    everybody = tuple(dict.fromkeys((*state.owners, *(each for each in owners if each))))
    return state._replace(
        in_use=moment.inferred(True, source, reason), use=moment.inferred("shared", source, reason), owners=everybody
    )


def _describe_sriov(context: PortContext, function: PciFunction, interface: str) -> Sriov | None:
    source, tree, moment = context.source, context.source.tree, context.source.moment
    path = f"{function.path}/sriov_totalvfs"
    if not tree.exists(path):
        return None
    total = tree.read_number(path)
    if total is None or not 0 <= total < 1 << 16:
        reason = tree.failure_reason(path) if total is None else f"holds {total}, no number of virtual functions"
        observed_total: Observation[int] = moment.unknown(reason, path)
    else:
        observed_total = moment.reported(total, path)
    links = sorted(
        (int(match[1]), each) for each in tree.list_directory(function.path) if (match := _VF_LINK.fullmatch(each))
    )
    limits = context.interfaces.get(interface)
    vfs = tuple(_describe_vf(context, function, number, link, limits) for number, link in links[: observed_total.value])
    mode, reason = source.network.read_eswitch(function.id) if source.network else (None, NOT_CAPTURED)
    return Sriov(
        total_count=observed_total,
        configured_count=_observe_configured_vfs(source, function, observed_total.value, len(links)),
        vfs=tuple(each for each in vfs if each),
        eswitch=moment.reported(mode, "netlink devlink") if mode else moment.unknown(reason, "netlink devlink"),
    )


def _observe_configured_vfs(source: Source, function: PciFunction, total: int | None, listed: int) -> Observation[int]:
    path = f"{function.path}/sriov_numvfs"
    count = source.tree.read_number(path)
    if count is None:
        return source.moment.unknown(source.tree.failure_reason(path), path)
    if count < 0 or (total is not None and count > total):
        return source.moment.unknown(f"holds {count}, of {total} at most", path)
    if count != listed:
        return source.moment.unknown(f"holds {count}, but {listed} are listed", path)
    return source.moment.reported(count, path)


def _describe_vf(
    context: PortContext, physical: PciFunction, number: int, link: str, limits: KernelInterface | None
) -> Vf | None:
    source, moment = context.source, context.source.moment
    target = (source.tree.read_link(f"{physical.path}/{link}") or "").rsplit("/", 1)[-1]
    function = context.functions.get(target)
    if function is None:
        return None
    interfaces = (
        () if _is_user_space_driver(read_driver(source, function)) else netdevs.list_interfaces(source.tree, function)
    )
    state = _observe_state(context, function, next(iter(interfaces), ""))
    limit = limits.vf_limits_mbps.get(number) if limits else None
    reason = context.interfaces_why or "the driver says nothing of it"
    return Vf(
        pci_id=function.id,
        in_use=state.in_use,
        owner=", ".join(state.owners),
        pacing_bps=moment.unknown(reason, "netlink IFLA_VF_RATE")
        if limit is None
        else moment.reported(limit * 1e6, "netlink IFLA_VF_RATE"),
    )


def _observe_type_speed(source: Source, interface: str) -> Observation[int]:
    modes, reason = (
        source.network.read_link_modes(interface)
        if interface and source.network
        else ((), _explain_missing_interface(interface))
    )
    fastest = network.find_fastest_bps(modes)
    if fastest is None:
        return source.moment.unknown(reason or "the driver names no speeds", "netlink ethtool")
    return source.moment.reported(fastest, "netlink ethtool")


def _observe_speed_by_model(source: Source, model: Observation[str]) -> Observation[int] | None:
    """Return the speed in the model name of pci.ids; None: not in the name."""
    speeds = [match[1] for match in _SPEED.finditer(model.value or "")] if model.confidence == "database" else []
    if not speeds:
        return None
    fastest = max(float(each or 1) for each in speeds)
    return source.moment.seen(
        int(fastest * 10**9), model.source, "database", f"by the name of its model: {model.value}"
    )


def _link_speed(source: Source, interface: str) -> Observation[int]:
    path = f"{netdevs.CLASS}/{interface}/speed"
    if not interface:
        return source.moment.unknown(_explain_missing_interface(interface))
    mbps = source.tree.read_number(path)
    if mbps is None:
        down = source.tree.read_text(f"{netdevs.CLASS}/{interface}/operstate") in _DOWN
        return source.moment.unknown("the link is down" if down else source.tree.failure_reason(path), path)
    if not 0 < mbps <= network.FASTEST_MBPS:
        return source.moment.unknown(f"holds {mbps}: the driver does not know", path)
    return source.moment.reported(mbps * 10**6, path)


def _observe_link(source: Source, interface: str) -> Observation[bool]:
    if not interface:
        return source.moment.unknown(_explain_missing_interface(interface))
    path, other = f"{netdevs.CLASS}/{interface}/carrier", f"{netdevs.CLASS}/{interface}/operstate"
    carrier = source.tree.read_text(path)
    if carrier in ("0", "1"):
        return source.moment.reported(carrier == "1", path)
    if source.tree.read_text(other) in _DOWN:
        return source.moment.reported(False, other, "the interface is down")
    return source.moment.unknown(source.tree.failure_reason(path) or f"holds {carrier!r}, 0 or 1 expected", path)


def _explain_missing_interface(interface: str) -> str:
    return NOT_CAPTURED if interface else "it has no interface in the kernel"


def _is_user_space_driver(bound: str) -> bool:
    return "vfio" in bound or "uio" in bound or bound == "pciback"


def _list_device_files(source: Source, function: PciFunction) -> tuple[str, ...]:
    """Return the device files through which user space accesses a function."""
    tree = source.tree
    group = (tree.read_link(f"{function.path}/iommu_group") or "").rsplit("/", 1)[-1]
    files = [f"/dev/vfio/{group}"] if group and "vfio" in read_driver(source, function) else []
    files += [f"/dev/vfio/devices/{each}" for each in tree.list_directory(f"{function.path}/vfio-dev")]
    files += [f"/dev/{each}" for each in tree.list_directory(f"{function.path}/uio")]
    files += [f"/dev/infiniband/{each}" for each in tree.list_directory(f"{function.path}/infiniband_verbs")]
    return tuple(files)
