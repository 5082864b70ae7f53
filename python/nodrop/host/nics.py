"""Network cards and accelerators of a machine: model by pci.ids, location and users of their ports.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4; "PCI bandwidth limit" after annex A.
"""

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from nodrop.host import netdevs, pci, ports
from nodrop.host.inputs import NOT_CAPTURED, Source
from nodrop.host.pci import INTEL, PciFunction
from nodrop.host.ports import PortContext
from nodrop.model.chd import Accelerator, Nic, NumaNode, VSwitch
from nodrop.model.observation import Observation, ObservationTime

NETWORK = 0x02
"""PCI base class of network controllers."""
NOT_PCI = "it is on no PCI bus"
ENCRYPTION, PROCESSING = 0x10, 0x12
"""PCI base classes. Source: PCI Code and ID Assignment Specification."""
CO_PROCESSOR = 0x0B40
"""PCI class and subclass."""
QUICK_ASSIST = frozenset(
    {0x0435, 0x37C8, 0x19E2, 0x18A0, 0x18EE, 0x6F54, 0x4940, 0x4942, 0x4944, 0x4946, 0x4948, 0x578A}
)
"""Intel crypto co-processors. Source: Linux, include/linux/pci_ids.h and drivers/crypto/intel/qat."""
STREAMING = frozenset({0x0B25, 0x0CFE, 0x11FB, 0x1212})
"""Intel copy and analytics engines, listed as system peripherals. Source: Linux, drivers/dma/idxd/init.c."""
PCI_IDS_FILES = ("/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/var/lib/pciutils/pci.ids")
"""This machine's list, also used for captures of other machines."""
MISSING = "no pci.ids on this machine to name it by"


class HostDevices(NamedTuple):
    """Cards of a machine, each with its NUMA node if known."""

    nics: tuple[Nic, ...]
    accelerators: tuple[Accelerator, ...]


def describe_devices(source: Source, switches: tuple[VSwitch, ...] = ()) -> HostDevices:
    """Describe all cards, with the virtual switches of their ports. Virtual interfaces are not ports."""
    functions = pci.list_functions(source.tree)
    context = ports.collect_context(source, functions, switches)
    return HostDevices(
        nics=(*_list_cards(context, functions), *_list_non_pci_cards(context)),
        accelerators=tuple(_describe_accelerators(context, functions)),
    )


def _list_cards(context: PortContext, functions: tuple[PciFunction, ...]) -> Iterator[Nic]:
    physical = (each for each in functions if each.base_class == NETWORK and not each.virtual_of)
    for card, card_functions in itertools.groupby(physical, key=lambda function: function.card):
        yield _build_card(context, card, tuple(card_functions))


def _build_card(context: PortContext, card: str, functions: tuple[PciFunction, ...]) -> Nic:
    source, first = context.source, functions[0]
    path = pci.read_path(source, first)
    model = load_pci_names().observe_device(source.moment, first.vendor, first.device)
    return Nic(
        id=card,
        node=pci.find_node(source, first.path),
        vendor=load_pci_names().observe_vendor(source.moment, first.vendor),
        model=model,
        driver=_observe_driver(source, functions),
        firmware=_observe_firmware(source, functions),
        pci_generation=path.generation,
        pci_generation_max=path.generation_max,
        lane_count=path.lanes,
        lane_count_max=path.lanes_max,
        pci_limit_bps=path.limit_bps,
        ports=tuple(port for each in functions for port in ports.describe_ports(context, each, model)),
    )


def _observe_driver(source: Source, functions: tuple[PciFunction, ...]) -> Observation[str]:
    """Return the driver of the interface if there is one: a paravirtual card has a different one on the bus."""
    drivers = dict.fromkeys(each for function in functions if (each := _read_driver_name(source, function)))
    path = f"{functions[0].path}/driver"
    return source.moment.reported(", ".join(drivers), path) if drivers else source.moment.unknown("none is bound", path)


def _read_driver_name(source: Source, function: PciFunction) -> str:
    for interface in netdevs.list_interfaces(source.tree, function):
        link = source.tree.read_link(f"{netdevs.CLASS}/{interface}/device/driver")
        if link:
            return link.rsplit("/", 1)[-1]
    return ports.read_driver(source, function)


def _observe_firmware(source: Source, functions: tuple[PciFunction, ...]) -> Observation[str]:
    if source.network is None:
        return source.moment.unknown(NOT_CAPTURED, "ioctl ethtool")
    reason = "it has no interface in the kernel"
    for function in functions:
        for interface in netdevs.list_interfaces(source.tree, function):
            version, reason = source.network.read_firmware(interface)
            if version:
                return source.moment.reported(version, "ioctl ethtool")
    return source.moment.unknown(reason, "ioctl ethtool")


def _list_non_pci_cards(context: PortContext) -> Iterator[Nic]:
    """Yield cards on other buses: of a system on chip, of a hypervisor, on USB."""
    source = context.source
    for name in netdevs.list_device_interfaces(source.tree):
        device = f"{netdevs.CLASS}/{name}/device"
        real = source.tree.resolve_path(device) or device
        # A paravirtual device stands below its function; one on USB, further below that of its controller.
        if not any(pci.ADDRESS.fullmatch(part) for part in real.split("/")[-2:]):
            bound = (source.tree.read_link(f"{device}/driver") or "").rsplit("/", 1)[-1]
            yield Nic(
                id=real.rsplit("/", 1)[-1],
                node=pci.find_node(source, device),
                vendor=source.moment.unknown(NOT_PCI, device),
                model=source.moment.unknown(NOT_PCI, device),
                driver=source.moment.reported(bound, f"{device}/driver")
                if bound
                else source.moment.unknown("none is bound", f"{device}/driver"),
                pci_limit_bps=source.moment.unknown(NOT_PCI, device),
                ports=(ports.describe_non_pci_port(context, name),),
            )


def assign_to_nodes(nodes: tuple[NumaNode, ...], devices: HostDevices) -> tuple[NumaNode, ...]:
    """Return the nodes with their cards."""
    return tuple(
        node.replace(
            nics=tuple(nic for nic in devices.nics if nic.node.value == node.id),
            accelerators=tuple(each for each in devices.accelerators if each.node.value == node.id),
        )
        for node in nodes
    )


def find_unplaced(nodes: tuple[NumaNode, ...], devices: HostDevices) -> HostDevices:
    """Return the cards that are on none of these nodes."""
    ids = {node.id for node in nodes}
    return HostDevices(
        tuple(nic for nic in devices.nics if nic.node.value not in ids),
        tuple(each for each in devices.accelerators if each.node.value not in ids),
    )


def _describe_accelerators(context: PortContext, functions: tuple[PciFunction, ...]) -> Iterator[Accelerator]:
    """Yield the accelerators of a machine; virtual functions only count towards their physical function."""
    source = context.source
    for each in functions:
        kind = _get_accelerator_kind(each)
        if kind and not each.virtual_of:
            yield Accelerator(
                pci_id=each.id,
                kind=kind,
                node=pci.find_node(source, each.path),
                vendor=load_pci_names().observe_vendor(source.moment, each.vendor),
                model=load_pci_names().observe_device(source.moment, each.vendor, each.device),
                in_use=ports.observe_in_use(context, each),
                vf_count=_count_vfs(context, each),
            )


def _get_accelerator_kind(function: PciFunction) -> Literal["crypto", "other"] | None:
    intel = function.vendor == INTEL
    if function.base_class == ENCRYPTION or (intel and function.device in QUICK_ASSIST):
        return "crypto"
    if function.base_class == PROCESSING or function.class_code >> 8 == CO_PROCESSOR:
        return "other"
    return "other" if intel and function.device in STREAMING else None


def _count_vfs(context: PortContext, function: PciFunction) -> Observation[int]:
    source, path = context.source, f"{function.path}/sriov_numvfs"
    count = source.tree.read_number(path)
    if count is not None and 0 <= count < 1 << 16:
        return source.moment.reported(count, path)
    if source.tree.exists(function.path) and not source.tree.exists(path):
        return source.moment.inferred(0, function.path, "it cannot be shared by SR-IOV")
    reason = source.tree.failure_reason(path) if count is None else f"holds {count}, no number of virtual functions"
    return source.moment.unknown(reason, path)


class PciNames:
    """A pci.ids file: vendor lines, followed by device lines indented by a tab."""

    def __init__(self, text: str, source: str) -> None:
        """Take the file's text and path."""
        self._text = "\n" + text
        self._source = source

    def observe_vendor(self, moment: ObservationTime, vendor: int | None) -> Observation[str]:
        """Return the name of a vendor; its number if it is not listed."""
        if vendor is None:
            return moment.unknown("its number cannot be read")
        return self._observe_name(moment, self._find_after(f"\n{vendor:04x}  ", 0), f"{vendor:04x}")

    def observe_device(self, moment: ObservationTime, vendor: int | None, device: int | None) -> Observation[str]:
        """Return the name of a device; the numbers of vendor and device if it is not listed."""
        if vendor is None or device is None:
            return moment.unknown("its number cannot be read")
        return self._observe_name(moment, self._find_device(vendor, device), f"{vendor:04x}:{device:04x}")

    def _find_device(self, vendor: int, device: int) -> str:
        start = self._text.find(f"\n{vendor:04x}  ")
        if start < 0:
            return ""
        line = self._text.find("\n", start + 1)
        while line >= 0 and self._text[line + 1 : line + 2] in ("\t", "#", "\n"):
            if self._text.startswith(f"\n\t{device:04x}  ", line):
                return self._find_after(f"\n\t{device:04x}  ", line)
            line = self._text.find("\n", line + 1)
        return ""

    def _find_after(self, prefix: str, begin: int) -> str:
        start = self._text.find(prefix, begin)
        return "" if start < 0 else self._text[start + len(prefix) :].split("\n", 1)[0].strip()

    def _observe_name(self, moment: ObservationTime, name: str, number: str) -> Observation[str]:
        if name:
            return moment.seen(name, self._source, "database")
        return moment.reported(number, "/sys/bus/pci", MISSING if not self._source else f"not in {self._source}")


@functools.cache
def load_pci_names() -> PciNames:
    """Load this machine's list; empty if there is none."""
    for place in PCI_IDS_FILES:
        try:
            return PciNames(Path(place).read_text(encoding="utf-8", errors="replace"), place)
        except OSError:
            continue
    return PciNames("", "")
