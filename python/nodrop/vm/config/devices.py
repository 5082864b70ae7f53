"""Disks, network interfaces and other devices of libvirt's domain XML."""

import hashlib
from collections.abc import Iterator
from pathlib import PurePath
from shlex import quote
from xml.etree import ElementTree as xml

from nodrop.errors import ConfigError
from nodrop.model.placement import PlacedInterface
from nodrop.vm.config import guest
from nodrop.vm.config.instance import Instance, PlacedPiece, find_architecture, parse_pci_address

VHOST_USER = ("ovs-dpdk", "vpp")
SOCKETS = {"ovs-dpdk": "/var/run/openvswitch", "vpp": "/var/run/vpp"}
BUS_STEP = 32
"""Range of bus numbers for each expander bus of the guest."""


def add_disks(devices: xml.Element, images: tuple[str, ...]) -> None:
    """Add one disk per image, served by the I/O thread."""
    for number, image in enumerate(images):
        form = "qcow2" if PurePath(image).suffix == ".qcow2" else "raw"
        block = image.startswith("/dev/")
        disk = xml.SubElement(devices, "disk", type="block" if block else "file", device="disk")
        xml.SubElement(disk, "driver", name="qemu", type=form, cache="none", io="native", iothread="1")
        xml.SubElement(disk, "source", {"dev" if block else "file": image})
        xml.SubElement(disk, "target", dev=_build_disk_name(number), bus="virtio")
        if number == 0:
            xml.SubElement(disk, "boot", order="1")


def add_interfaces(devices: xml.Element, instance: Instance) -> None:
    """Add every interface in the VMD's order, each on the guest's NUMA node with its vCPUs."""
    buses = _add_buses(devices, instance)
    for piece, line in instance.lines:
        element = _add_interface(devices, instance, piece, line)
        _set_address(element, buses, piece.number)


def add_other_devices(devices: xml.Element, instance: Instance) -> None:
    """Add accelerators, the guest's IOMMU, and the fixed devices of every domain."""
    for piece in instance.pieces:
        for address in piece.placed.devices:
            _build_host_device(devices, address)
    if instance.has_device:
        arm = find_architecture(instance) == "aarch64"
        iommu = xml.SubElement(devices, "iommu", model="smmuv3" if arm else "intel")
        if not arm:
            xml.SubElement(iommu, "driver", intremap="on", caching_mode="on", iotlb="on")
    xml.SubElement(devices, "console", type="pty")
    xml.SubElement(devices, "memballoon", model="none")


def collect_interface_notes(instance: Instance) -> Iterator[str]:
    """Collect settings to make on the host, which the XML cannot express."""
    for piece, line in instance.lines:
        label = f"Interface {line.index} of vCPU set {piece.placed.index}"
        if line.mode == "sriov" and line.bandwidth_bps:
            yield f"{label}: {_format_pacing_note(instance, line)}"
        if line.mode == "vswitch" and line.vswitch_kind in VHOST_USER:
            path = build_socket_path(instance, piece, line)
            yield f"{label}: virtual switch {line.vswitch} has to connect as a client to {path}."
            if line.bandwidth_bps:
                yield f"{label}: its {_convert_to_mbps(line)} Mbit/s have to be limited in the switch itself."


def build_socket_path(instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> str:
    """Return the path of a vhost-user socket; short, as socket names are limited."""
    short = hashlib.sha256(instance.uuid.encode()).hexdigest()[:8]
    return f"{SOCKETS[line.vswitch_kind]}/vhu-{short}-{piece.placed.index}-{line.index}"


def _add_interface(devices: xml.Element, instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> xml.Element:
    if line.mode == "dedicated":
        return _build_host_device(devices, line.pci_id)
    add = _add_vf if line.mode == "sriov" else _add_virtual
    return add(devices, instance, piece, line)


def _add_vf(devices: xml.Element, instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> xml.Element:
    element = xml.SubElement(devices, "interface", type="hostdev", managed="yes")
    xml.SubElement(element, "mac", address=instance.compute_mac(piece.placed.index, line.index))
    _add_address(xml.SubElement(element, "source"), line.pci_id, type="pci")
    return element


def _add_virtual(devices: xml.Element, instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> xml.Element:
    if not line.vswitch:
        raise ConfigError(
            f"placement of {instance.placement.vm!r}: interface {line.index} of vCPU set {piece.placed.index} has no "
            "virtual switch; libvirt requires one"
        )
    user = line.vswitch_kind in VHOST_USER
    element = xml.SubElement(devices, "interface", type="vhostuser" if user else "bridge")
    xml.SubElement(element, "mac", address=instance.compute_mac(piece.placed.index, line.index))
    if user:
        xml.SubElement(element, "source", type="unix", path=build_socket_path(instance, piece, line), mode="server")
    else:
        xml.SubElement(element, "source", bridge=line.vswitch)
        if line.vswitch_kind in ("ovs", "ovn"):
            xml.SubElement(element, "virtualport", type="openvswitch")
    xml.SubElement(element, "model", type="virtio")
    queues = str(max(1, len(piece.placed.cpus)))
    xml.SubElement(element, "driver", {"queues": queues} if user else {"name": "vhost", "queues": queues})
    if line.bandwidth_bps and not user:
        bandwidth = xml.SubElement(element, "bandwidth")
        for direction in ("inbound", "outbound"):
            xml.SubElement(bandwidth, direction, average=str(max(1, round(line.bandwidth_bps / 8 / 1024))))
    return element


def _build_host_device(devices: xml.Element, address: str) -> xml.Element:
    element = xml.SubElement(devices, "hostdev", mode="subsystem", type="pci", managed="yes")
    _add_address(xml.SubElement(element, "source"), address)
    return element


def _add_address(parent: xml.Element, address: str, **more: str) -> None:
    pci_address = parse_pci_address(address)
    parts = {each: f"0x{digits}" for each, digits in pci_address._asdict().items()}
    xml.SubElement(parent, "address", {**more, **parts})


def _add_buses(devices: xml.Element, instance: Instance) -> dict[int, int]:
    """Add expander buses on the guest's nodes with a port for each interface; return the first port by piece.

    Only for guests with several nodes with vCPUs, which could not locate devices otherwise.
    """
    buses: dict[int, int] = {}
    if len(instance.pieces) < 2:
        return buses
    index, root = 0, 0
    for piece in instance.pieces:
        if not piece.placed.interfaces:
            continue
        root += 1
        index += 1
        bus = _build_controller(devices, index, "pcie-expander-bus")
        target = xml.SubElement(bus, "target", busNr=str(256 - root * BUS_STEP))
        xml.SubElement(target, "node").text = str(guest.find_cell(instance, piece.number).id)
        buses[piece.number] = index + 1
        for slot in range(len(piece.placed.interfaces)):
            port = _build_controller(devices, index + 1 + slot, "pcie-root-port")
            place = {
                "type": "pci",
                "domain": "0x0000",
                "bus": f"0x{index:02x}",
                "slot": f"0x{slot:02x}",
                "function": "0x0",
            }
            xml.SubElement(port, "address", place)
        index += len(piece.placed.interfaces)
    return buses


def _build_controller(devices: xml.Element, index: int, model: str) -> xml.Element:
    return xml.SubElement(devices, "controller", type="pci", index=str(index), model=model)


def _set_address(element: xml.Element, buses: dict[int, int], piece: int) -> None:
    if piece in buses:
        place = {
            "type": "pci",
            "domain": "0x0000",
            "bus": f"0x{buses[piece]:02x}",
            "slot": "0x00",
            "function": "0x0",
        }
        xml.SubElement(element, "address", place)
        buses[piece] += 1


def _format_pacing_note(instance: Instance, line: PlacedInterface) -> str:
    vf = instance.find_vf(line)
    if vf and vf.port.netdev:
        return (
            f"before the start: ip link set {quote(vf.port.netdev)} vf {vf.number} max_tx_rate {_convert_to_mbps(line)}"
        )
    return f"its function {line.pci_id} has to be limited to {_convert_to_mbps(line)} Mbit/s; its port is unknown."


def _convert_to_mbps(line: PlacedInterface) -> int:
    return round((line.bandwidth_bps or 0) / 1e6)


def _build_disk_name(number: int) -> str:
    """Return vda to vdz, vdaa ..., as named by the kernel."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return f"vd{letters}"
