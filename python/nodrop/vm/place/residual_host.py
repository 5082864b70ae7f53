"""The descriptor of a host after a placement, with the remaining resources."""

from typing import TypeVar

from nodrop.model.chd import (
    Accelerator,
    Bandwidth,
    CpuState,
    HostDescriptor,
    LargePages,
    Nic,
    NodeLink,
    NumaNode,
    Port,
    Use,
    Vf,
    VSwitch,
)
from nodrop.model.observation import Observation
from nodrop.model.placement import PlacedInterface, PlacedSet, Placement

T = TypeVar("T")
PLACEMENT_SOURCE = "placement"


def subtract_placement(host: HostDescriptor, placement: Placement) -> HostDescriptor:
    """Return the descriptor of a host with the VM placed. Changed halves have no hash."""
    nodes = {node.id: node for node in host.resources.numa_nodes}
    for each in placement.sets:
        nodes[each.node] = _with_set(nodes[each.node], each, placement.vm)
    interfaces = [interface for each in placement.sets for interface in each.interfaces]
    devices = frozenset(device for each in placement.sets for device in each.devices)
    resources = host.resources.replace(
        sha256="",
        numa_nodes=tuple(
            node.replace(
                nics=_list_nics(nodes[node.id].nics, interfaces, placement.vm),
                accelerators=_list_accelerators(node.accelerators, devices),
            )
            for node in nodes.values()
        ),
        links=tuple(_build_link(each, placement) for each in host.resources.links),
        unplaced_nics=_list_nics(host.resources.unplaced_nics, interfaces, placement.vm),
        unplaced_accelerators=_list_accelerators(host.resources.unplaced_accelerators, devices),
    )
    vswitches = tuple(_build_vswitch(each, interfaces) for each in host.capabilities.vswitches)
    update: dict[str, object] = {"resources": resources}
    if vswitches != host.capabilities.vswitches:
        update["capabilities"] = host.capabilities.replace(vswitches=vswitches, sha256="")
    return host.replace(**update)


def _observe_placed(before: Observation[T], value: T, vm: str = "") -> Observation[T]:
    """Return an observation with the value after the placement, not measured."""
    reason = f"{vm} placed" if vm else "a VM placed"
    return before.replace(value=value, source=PLACEMENT_SOURCE, confidence="declared", why=reason)


def _observe_increased(before: Observation[T], added: float, vm: str) -> Observation[T]:
    """Return an increased count; an unknown one remains unknown."""
    if before.value is None or not added:
        return before
    return _observe_placed(before, before.value + added, vm)  # type: ignore[operator,arg-type]


def _with_set(node: NumaNode, placed: PlacedSet, vm: str) -> NumaNode:
    cpus = {
        cpu: _build_cpu(state, vm) if cpu in placed.cpus.values() else state for cpu, state in node.cpus.cpu.items()
    }
    normal = node.memory.normal
    free = _observe_increased(normal.free_bytes, -min(placed.normal_bytes, normal.free_bytes.value or 0), vm)
    usage = normal.usage_ratio
    if usage.value is not None and normal.total_bytes.value:
        usage = _observe_placed(usage, min(1.0, usage.value + placed.normal_bytes / normal.total_bytes.value), vm)
    memory = node.memory.replace(
        large_pages=tuple(_build_pages(each, placed, vm) for each in node.memory.large_pages),
        normal=normal.replace(free_bytes=free, usage_ratio=usage),
        bandwidth=_build_used(node.memory.bandwidth, placed.bandwidth_bytes_per_s, vm),
    )
    return node.replace(cpus=node.cpus.replace(cpu=cpus), memory=memory)


def _build_cpu(state: CpuState, vm: str) -> CpuState:
    use: Use = "shared" if state.use.value == "shared" else "dedicated"
    return state.replace(
        in_use=_observe_placed(state.in_use, True, vm),
        use=_observe_placed(state.use, use, vm),
        owners=(*state.owners, vm),
    )


def _build_pages(pages: LargePages, placed: PlacedSet, vm: str) -> LargePages:
    if pages.size_bytes != placed.large_page_bytes:
        return pages
    return pages.replace(used_count=_observe_increased(pages.used_count, placed.large_page_count, vm))


def _build_used(bandwidth: Bandwidth, added: float, vm: str) -> Bandwidth:
    return bandwidth.replace(used_bytes_per_s=_observe_increased(bandwidth.used_bytes_per_s, added, vm))


def _build_link(link: NodeLink, placement: Placement) -> NodeLink:
    added = sum(each.bytes_per_s for each in placement.links if {each.a, each.b} == {link.a, link.b})
    return link.replace(bandwidth=_build_used(link.bandwidth, added, placement.vm))


def _list_nics(nics: tuple[Nic, ...], interfaces: list[PlacedInterface], vm: str) -> tuple[Nic, ...]:
    return tuple(nic.replace(ports=tuple(_build_port(port, interfaces, vm) for port in nic.ports)) for nic in nics)


def _build_port(port: Port, interfaces: list[PlacedInterface], vm: str) -> Port:
    interface_by_pci_id = {
        each.pci_id: each for each in interfaces if each.port_pci_id == port.pci_id and each.mode != "vswitch"
    }
    if not interface_by_pci_id:
        return port
    whole = port.pci_id in interface_by_pci_id
    update: dict[str, object] = {
        "in_use": _observe_placed(port.in_use, True, vm),
        "use": _observe_placed(port.use, "dedicated" if whole else "shared", vm),
    }
    if whole:
        update["owners"] = (*port.owners, vm)
    elif port.sriov:
        vfs = tuple(
            _build_vf(vf, interface_by_pci_id[vf.pci_id], vm) if vf.pci_id in interface_by_pci_id else vf
            for vf in port.sriov.vfs
        )
        update["sriov"] = port.sriov.replace(vfs=vfs)
    return port.replace(**update)


def _build_vf(vf: Vf, interface: PlacedInterface, vm: str) -> Vf:
    update: dict[str, object] = {"in_use": _observe_placed(vf.in_use, True, vm), "owner": vm}
    if interface.bandwidth_bps:
        update["pacing_bps"] = _observe_placed(vf.pacing_bps, interface.bandwidth_bps, vm)
    return vf.replace(**update)


def _list_accelerators(accelerators: tuple[Accelerator, ...], assigned: frozenset[str]) -> tuple[Accelerator, ...]:
    return tuple(
        each.replace(in_use=_observe_placed(each.in_use, True)) if each.pci_id in assigned else each
        for each in accelerators
    )


def _build_vswitch(vswitch: VSwitch, interfaces: list[PlacedInterface]) -> VSwitch:
    switch_interfaces = [each for each in interfaces if each.vswitch == vswitch.name]
    if not switch_interfaces:
        return vswitch
    return vswitch.replace(
        used_bps=_observe_increased(vswitch.used_bps, sum(each.bandwidth_bps or 0.0 for each in switch_interfaces), ""),
        virtual_interface_count=_observe_increased(vswitch.virtual_interface_count, len(switch_interfaces), ""),
    )
