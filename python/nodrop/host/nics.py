"""Network cards and accelerators of a machine: what they are, where they are attached, who has their ports.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4; "PCI bandwidth limit" after annex A.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.host import accelerators, netdevs, pci, ports
from nodrop.host.inputs import NOT_CAPTURED, Source
from nodrop.host.pci import PciFunction
from nodrop.host.pci_names import load_pci_names
from nodrop.host.ports import PortContext
from nodrop.model.chd import Accelerator, Nic, NumaNode, VSwitch
from nodrop.model.observation import Observation

NETWORK = 0x02
"""Base class of network controllers."""
NOT_PCI = "it is on no PCI bus"


class HostDevices(NamedTuple):
    """Cards of a machine, each with the node it is on as far as that is known."""

    nics: tuple[Nic, ...]
    accelerators: tuple[Accelerator, ...]


def describe(source: Source, switches: tuple[VSwitch, ...] = ()) -> HostDevices:
    """All cards, their ports beside the virtual switches they are on. Virtual interfaces are no ports."""
    functions = pci.list_functions(source.tree)
    around = ports.collect_context(source, functions, switches)
    return HostDevices(
        nics=(*_cards(around, functions), *_non_pci_cards(around)),
        accelerators=tuple(accelerators.describe(around, functions)),
    )


def _cards(around: PortContext, functions: tuple[PciFunction, ...]) -> Iterator[Nic]:
    physical = (each for each in functions if each.base_class == NETWORK and not each.virtual_of)
    for card, found in itertools.groupby(physical, key=lambda function: function.card):
        yield _card(around, card, tuple(found))


def _card(around: PortContext, card: str, functions: tuple[PciFunction, ...]) -> Nic:
    source, first = around.source, functions[0]
    path = pci.read_path(source, first)
    model = load_pci_names().device(source.moment, first.vendor, first.device)
    return Nic(
        id=card,
        node=pci.find_node(source, first.path),
        vendor=load_pci_names().vendor(source.moment, first.vendor),
        model=model,
        driver=_driver(source, functions),
        firmware=_firmware(source, functions),
        pci_generation=path.generation,
        pci_generation_max=path.generation_max,
        lane_count=path.lanes,
        lane_count_max=path.lanes_max,
        pci_limit_bps=path.limit_bps,
        ports=tuple(port for each in functions for port in ports.describe_ports(around, each, model)),
    )


def _driver(source: Source, functions: tuple[PciFunction, ...]) -> Observation[str]:
    """Of the interface where there is one: a paravirtual card has another on the bus."""
    found = dict.fromkeys(each for function in functions if (each := _driver_of(source, function)))
    path = f"{functions[0].path}/driver"
    return source.moment.reported(", ".join(found), path) if found else source.moment.unknown("none is bound", path)


def _driver_of(source: Source, function: PciFunction) -> str:
    for interface in netdevs.list_interfaces(source.tree, function):
        link = source.tree.link(f"{netdevs.CLASS}/{interface}/device/driver")
        if link:
            return link.rsplit("/", 1)[-1]
    return ports.read_driver(source, function)


def _firmware(source: Source, functions: tuple[PciFunction, ...]) -> Observation[str]:
    if source.network is None:
        return source.moment.unknown(NOT_CAPTURED, "ioctl ethtool")
    why = "it has no interface in the kernel"
    for function in functions:
        for interface in netdevs.list_interfaces(source.tree, function):
            found, why = source.network.firmware(interface)
            if found:
                return source.moment.reported(found, "ioctl ethtool")
    return source.moment.unknown(why, "ioctl ethtool")


def _non_pci_cards(around: PortContext) -> Iterator[Nic]:
    """Cards on other buses: of a system on chip, of a hypervisor, on USB."""
    source = around.source
    for name in netdevs.list_device_interfaces(source.tree):
        device = f"{netdevs.CLASS}/{name}/device"
        real = source.tree.real(device) or device
        # A paravirtual device stands below its function; one on USB, further below that of its controller.
        if not any(pci.ADDRESS.fullmatch(part) for part in real.split("/")[-2:]):
            bound = (source.tree.link(f"{device}/driver") or "").rsplit("/", 1)[-1]
            yield Nic(
                id=real.rsplit("/", 1)[-1],
                node=pci.find_node(source, device),
                vendor=source.moment.unknown(NOT_PCI, device),
                model=source.moment.unknown(NOT_PCI, device),
                driver=source.moment.reported(bound, f"{device}/driver")
                if bound
                else source.moment.unknown("none is bound", f"{device}/driver"),
                pci_limit_bps=source.moment.unknown(NOT_PCI, device),
                ports=(ports.describe_non_pci_port(around, name),),
            )


def assign_to_nodes(nodes: tuple[NumaNode, ...], devices: HostDevices) -> tuple[NumaNode, ...]:
    """Nodes with the cards that are on them."""
    return tuple(
        node.model_copy(
            update={
                "nics": tuple(nic for nic in devices.nics if nic.node.value == node.id),
                "accelerators": tuple(each for each in devices.accelerators if each.node.value == node.id),
            }
        )
        for node in nodes
    )


def find_unplaced(nodes: tuple[NumaNode, ...], devices: HostDevices) -> HostDevices:
    """Cards that are on none of these nodes."""
    ids = {node.id for node in nodes}
    return HostDevices(
        tuple(nic for nic in devices.nics if nic.node.value not in ids),
        tuple(each for each in devices.accelerators if each.node.value not in ids),
    )
