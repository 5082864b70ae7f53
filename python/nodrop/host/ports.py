"""Ports of network cards and their virtual functions: speed, users, eligibility for VMs."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from nodrop.host import libvirt, netdevs, network
from nodrop.host.device_users import DeviceUsers, find_device_users, name_process
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
    interfaces, why = source.network.interfaces() if source.network else ({}, NOT_CAPTURED)
    routed, routed_why = netdevs.read_routed_interfaces(source.tree)
    handed_over = any(_device_files(source, each) for each in functions)
    return PortContext(
        source=source,
        functions={each.id: each for each in functions},
        interfaces=interfaces,
        interfaces_why=why,
        routed=routed,
        routed_why=routed_why,
        holders=find_device_users(source.tree) if handed_over else DeviceUsers({}, ""),
        owners={device: f"VM {vm.name}" for vm in libvirt.list_domains(source) for device in vm.devices},
        switches={port: switch.name for switch in switches for port in switch.ports.value or ()},
    )


def describe_ports(around: PortContext, function: PciFunction, model: Observation[str]) -> tuple[Port, ...]:
    """Return the ports of a function: one, except for cards with several ports per function."""
    interfaces = netdevs.list_interfaces(around.source.tree, function)
    return tuple(_port(around, function, each, model) for each in interfaces or ("",))


def describe_non_pci_port(around: PortContext, interface: str) -> Port:
    """Return the port of a card on another bus than PCI."""
    state = _kernel_state(around, None, interface)
    return _build_port(around.source, ("", interface), _type_speed(around.source, interface), state)


def _port(around: PortContext, function: PciFunction, interface: str, model: Observation[str]) -> Port:
    """Return the current state of a port."""
    source = around.source
    sriov = _sriov(around, function, interface)
    state = _state(around, function, interface)
    if sriov and (vfs := sriov.vfs):
        state = _with_vfs(around, state, function, len(vfs), [each.owner for each in vfs if each.in_use.value])
    speed = _type_speed(source, interface)
    named = None if speed.known else _speed_by_model(source, model)
    return _build_port(source, (function.id, interface), named or speed, state).model_copy(update={"sriov": sriov})


def _build_port(source: Source, place: tuple[str, str], speed: Observation[int], state: PortState) -> Port:
    pci_id, interface = place
    return Port(
        pci_id=pci_id,
        netdev=interface,
        speed_bps=speed,
        link_speed_bps=_link_speed(source, interface),
        link=_link(source, interface),
        eligible=state.eligible,
        in_use=state.in_use,
        use=state.use,
        owners=state.owners,
        vswitch=state.vswitch,
    )


def read_driver(source: Source, function: PciFunction) -> str:
    """Return the driver bound to a function; empty: none."""
    return (source.tree.link(f"{function.path}/driver") or "").rsplit("/", 1)[-1]


def observe_in_use(around: PortContext, function: PciFunction) -> Observation[bool]:
    """Return whether a device other than a network card is in use."""
    source, bound = around.source, read_driver(around.source, function)
    if _is_user_space_driver(bound):
        return _user_space_state(around, function, bound).in_use
    path = f"{function.path}/driver"
    if not bound:
        return source.moment.inferred(False, path, "no driver is bound")
    return source.moment.unknown(f"the kernel has it, by {bound}, and does not say for whom", path)


def _state(around: PortContext, function: PciFunction, interface: str) -> PortState:
    bound = read_driver(around.source, function)
    if _is_user_space_driver(bound):
        return _user_space_state(around, function, bound)
    if interface:
        return _kernel_state(around, function, interface)
    moment, path = around.source.moment, f"{function.path}/driver"
    if not bound:
        why = "no driver is bound"
        return _free_state(around, path, why)
    if places := netdevs.list_net_directories(around.source.tree, function):
        elsewhere = PortEvidence(places[-1], "its interface is in another network namespace")
        unsaid: Observation[bool] = moment.unknown(elsewhere.why, elsewhere.source)
        return PortState(unsaid, moment.inferred(True, *elsewhere), moment.inferred("dedicated", *elsewhere))
    why = f"bound to {bound}, without an interface"
    return PortState(moment.unknown(why, path), moment.unknown(why, path), moment.unknown(why, path))


def _user_space_state(around: PortContext, function: PciFunction, bound: str) -> PortState:
    """Return the state of a function driven by a program or a VM."""
    source, moment, path = around.source, around.source.moment, f"{function.path}/driver"
    eligible = moment.reported(True, path, f"bound to {bound}")
    if switch := around.switches.get(function.id):
        return _used_state(around, eligible, "shared", (switch,), PortEvidence(path, f"driven by {switch}"))._replace(
            vswitch=switch
        )
    if vm := around.owners.get(function.id):
        return _used_state(around, eligible, "dedicated", (vm,), PortEvidence("libvirt", f"given to {vm}"))
    files = _device_files(source, function)
    if found := around.holders.of(files):
        owners = tuple(name_process(source.tree, process) for process in found)
        return _used_state(
            around, eligible, "dedicated", owners, PortEvidence(f"/proc/{found[0]}/fd", f"{files[0]} is open")
        )
    if not files or around.holders.why:
        why = around.holders.why or "its device file is not known"
        return PortState(eligible, moment.unknown(why, "/proc/*/fd"), moment.unknown(why, "/proc/*/fd"))
    return _free_state(around, "/proc/*/fd", f"no process has {files[0]} open")._replace(eligible=eligible)


def _kernel_state(around: PortContext, function: PciFunction | None, interface: str) -> PortState:
    """Return the state of a function with a kernel interface."""
    source, moment = around.source, around.source.moment
    built = netdevs.find_stack(source.tree, interface)
    family = (interface, *built.uppers)
    names = (*family, function.id) if function else family
    switch = next((around.switches[each] for each in names if each in around.switches), "")
    switch = switch or next(iter(built.bridges), "")
    path = f"{netdevs.CLASS}/{interface}"
    if switch:
        eligible = moment.reported(True, path, f"through {switch}")
        return _used_state(around, eligible, "shared", (switch,), PortEvidence(path, f"on {switch}"))._replace(
            vswitch=switch
        )
    if used := next((each for each in family if _is_used_by_host(around, each)), ""):
        why = "it has an address or a route of the host" + (f", through {used}" if used != interface else "")
        return _used_state(around, moment.reported(False, path, why), "shared", (HOST,), PortEvidence(path, why))
    if found := around.holders.of(_device_files(source, function) if function else ()):
        owners = tuple(name_process(source.tree, process) for process in found)
        why = "its device file is open"
        return _used_state(around, moment.inferred(True, path, why), "dedicated", owners, PortEvidence(path, why))
    if built.uppers:
        why = f"{', '.join(built.uppers)} stands on it"
        return _used_state(around, moment.inferred(False, path, why), "shared", (HOST,), PortEvidence(path, why))
    if not around.interfaces and around.routed_why:
        why = f"whether the host uses it: {around.routed_why}"
        return PortState(moment.unknown(why, path), moment.unknown(why, path), moment.unknown(why, path))
    return _free_state(around, path, "no address, no route, on no bridge")


def _is_used_by_host(around: PortContext, interface: str) -> bool:
    known = around.interfaces.get(interface)
    return interface in around.routed or bool(known and known.addresses)


def _free_state(around: PortContext, source: str, why: str) -> PortState:
    moment = around.source.moment
    return PortState(
        moment.inferred(True, source, why), moment.inferred(False, source, why), moment.inferred("none", source, why)
    )


def _used_state(
    around: PortContext,
    eligible: Observation[bool],
    use: Literal["dedicated", "shared"],
    owners: tuple[str, ...],
    seen: PortEvidence,
) -> PortState:
    moment = around.source.moment
    return PortState(eligible, moment.inferred(True, *seen), moment.inferred(use, *seen), owners)


def _with_vfs(around: PortContext, state: PortState, function: PciFunction, count: int, owners: list[str]) -> PortState:
    """Merge the use of virtual functions into the state of their port."""
    moment, source = around.source.moment, f"{function.path}/sriov_numvfs"
    why = f"by its {count} virtual functions" + (f"; itself: {state.eligible.why}" if state.eligible.why else "")
    state = state._replace(eligible=moment.inferred(True, source, why))
    if not owners:
        return state
    why = f"{len(owners)} of its virtual functions are in use"
    everybody = tuple(dict.fromkeys((*state.owners, *(each for each in owners if each))))
    return state._replace(
        in_use=moment.inferred(True, source, why), use=moment.inferred("shared", source, why), owners=everybody
    )


def _sriov(around: PortContext, function: PciFunction, interface: str) -> Sriov | None:
    source, tree, moment = around.source, around.source.tree, around.source.moment
    path = f"{function.path}/sriov_totalvfs"
    if not tree.exists(path):
        return None
    total = tree.number(path)
    if total is None or not 0 <= total < 1 << 16:
        why = tree.why(path) if total is None else f"holds {total}, no number of virtual functions"
        total_seen: Observation[int] = moment.unknown(why, path)
    else:
        total_seen = moment.reported(total, path)
    links = sorted((int(match[1]), each) for each in tree.names(function.path) if (match := _VF_LINK.fullmatch(each)))
    limits = around.interfaces.get(interface)
    vfs = tuple(_vf(around, function, number, link, limits) for number, link in links[: total_seen.value])
    mode, why = source.network.eswitch(function.id) if source.network else (None, NOT_CAPTURED)
    return Sriov(
        total_count=total_seen,
        configured_count=_configured_vfs(source, function, total_seen.value, len(links)),
        vfs=tuple(each for each in vfs if each),
        eswitch=moment.reported(mode, "netlink devlink") if mode else moment.unknown(why, "netlink devlink"),
    )


def _configured_vfs(source: Source, function: PciFunction, total: int | None, listed: int) -> Observation[int]:
    path = f"{function.path}/sriov_numvfs"
    found = source.tree.number(path)
    if found is None:
        return source.moment.unknown(source.tree.why(path), path)
    if found < 0 or (total is not None and found > total):
        return source.moment.unknown(f"holds {found}, of {total} at most", path)
    if found != listed:
        return source.moment.unknown(f"holds {found}, but {listed} are listed", path)
    return source.moment.reported(found, path)


def _vf(
    around: PortContext, physical: PciFunction, number: int, link: str, limits: KernelInterface | None
) -> Vf | None:
    source, moment = around.source, around.source.moment
    target = (source.tree.link(f"{physical.path}/{link}") or "").rsplit("/", 1)[-1]
    function = around.functions.get(target)
    if function is None:
        return None
    interfaces = (
        () if _is_user_space_driver(read_driver(source, function)) else netdevs.list_interfaces(source.tree, function)
    )
    state = _state(around, function, next(iter(interfaces), ""))
    limit = limits.vf_limits_mbps.get(number) if limits else None
    why = around.interfaces_why or "the driver says nothing of it"
    return Vf(
        pci_id=function.id,
        in_use=state.in_use,
        owner=", ".join(state.owners),
        pacing_bps=moment.unknown(why, "netlink IFLA_VF_RATE")
        if limit is None
        else moment.reported(limit * 1e6, "netlink IFLA_VF_RATE"),
    )


def _type_speed(source: Source, interface: str) -> Observation[int]:
    modes, why = (
        source.network.link_modes(interface) if interface and source.network else ((), _no_interface(interface))
    )
    fastest = network.find_fastest_bps(modes)
    if fastest is None:
        return source.moment.unknown(why or "the driver names no speeds", "netlink ethtool")
    return source.moment.reported(fastest, "netlink ethtool")


def _speed_by_model(source: Source, model: Observation[str]) -> Observation[int] | None:
    """Return the speed in the model name of pci.ids; None: not in the name."""
    found = [match[1] for match in _SPEED.finditer(model.value or "")] if model.confidence == "database" else []
    if not found:
        return None
    fastest = max(float(each or 1) for each in found)
    return source.moment.seen(
        int(fastest * 10**9), model.source, "database", f"by the name of its model: {model.value}"
    )


def _link_speed(source: Source, interface: str) -> Observation[int]:
    path = f"{netdevs.CLASS}/{interface}/speed"
    if not interface:
        return source.moment.unknown(_no_interface(interface))
    found = source.tree.number(path)
    if found is None:
        down = source.tree.text(f"{netdevs.CLASS}/{interface}/operstate") in _DOWN
        return source.moment.unknown("the link is down" if down else source.tree.why(path), path)
    if not 0 < found <= network.FASTEST_MBPS:
        return source.moment.unknown(f"holds {found}: the driver does not know", path)
    return source.moment.reported(found * 10**6, path)


def _link(source: Source, interface: str) -> Observation[bool]:
    if not interface:
        return source.moment.unknown(_no_interface(interface))
    path, other = f"{netdevs.CLASS}/{interface}/carrier", f"{netdevs.CLASS}/{interface}/operstate"
    found = source.tree.text(path)
    if found in ("0", "1"):
        return source.moment.reported(found == "1", path)
    if source.tree.text(other) in _DOWN:
        return source.moment.reported(False, other, "the interface is down")
    return source.moment.unknown(source.tree.why(path) or f"holds {found!r}, 0 or 1 expected", path)


def _no_interface(interface: str) -> str:
    return NOT_CAPTURED if interface else "it has no interface in the kernel"


def _is_user_space_driver(bound: str) -> bool:
    return "vfio" in bound or "uio" in bound or bound == "pciback"


def _device_files(source: Source, function: PciFunction) -> tuple[str, ...]:
    """Return the device files through which user space accesses a function."""
    tree = source.tree
    group = (tree.link(f"{function.path}/iommu_group") or "").rsplit("/", 1)[-1]
    found = [f"/dev/vfio/{group}"] if group and "vfio" in read_driver(source, function) else []
    found += [f"/dev/vfio/devices/{each}" for each in tree.names(f"{function.path}/vfio-dev")]
    found += [f"/dev/{each}" for each in tree.names(f"{function.path}/uio")]
    found += [f"/dev/infiniband/{each}" for each in tree.names(f"{function.path}/infiniband_verbs")]
    return tuple(found)
