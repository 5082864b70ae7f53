"""VM Configuration as libvirt's domain XML.

Source: ETSI GS NFV-PER 001 clauses 7.2 (deterministic threads, memory and large pages) and 8.2.2.4.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.etree import ElementTree as xml

from nodrop.errors import ConfigError
from nodrop.vm.config import guest
from nodrop.vm.config.devices import add_disks, add_interfaces, add_other_devices, collect_interface_notes
from nodrop.vm.config.instance import Instance, find_architecture
from nodrop.vm.config.limitations import format_xml_comment, to_plain_line

DomainType = Literal["kvm", "qemu"]
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class DomainOptions(NamedTuple):
    """Options in addition to VMD and placement."""

    images: tuple[str, ...] = ()
    """Files or block devices for the VM's disks, in order; the first one boots."""
    type: DomainType = "kvm"
    """`qemu`: emulated, without KVM. For trials only, not for measurements."""


DEFAULT_OPTIONS = DomainOptions()


def write_domain(instance: Instance, options: DomainOptions = DEFAULT_OPTIONS) -> str:
    """Return the domain for `virsh define`, with its limitations as comments. Raises ConfigError."""
    root = xml.Element("domain", type=options.type)
    for note in collect_notes(instance, options):
        root.append(xml.Comment(format_xml_comment(note)))
    _add_identity(root, instance)
    _add_memory(root, instance, options.type)
    _add_cpus(root, instance, bool(options.images))
    _add_system(root, instance, options.type)
    devices = xml.SubElement(root, "devices")
    add_disks(devices, options.images)
    add_interfaces(devices, instance)
    add_other_devices(devices, instance)
    _refuse_unwritable(root)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"


def collect_notes(instance: Instance, options: DomainOptions = DEFAULT_OPTIONS) -> tuple[str, ...]:
    """Collect limitations and required actions for the user of the domain."""
    return (
        *_list_guest_notes(instance),
        *_list_host_notes(instance, options),
        *collect_interface_notes(instance),
        *_list_disk_notes(instance, options),
    )


def _add_identity(root: xml.Element, instance: Instance) -> None:
    _add_leaf(root, "name", instance.name)
    _add_leaf(root, "uuid", instance.uuid)
    if instance.placement.vm != instance.name and to_plain_line(instance.placement.vm):
        _add_leaf(root, "title", to_plain_line(instance.placement.vm))
    size, unit = guest.split_memory_unit(sum(each.memory_bytes for each in guest.list_cells(instance)))
    _add_leaf(root, "memory", size, unit=unit)
    _add_leaf(root, "currentMemory", size, unit=unit)


def _add_memory(root: xml.Element, instance: Instance, kind: DomainType) -> None:
    cells = guest.list_cells(instance)
    backing = xml.SubElement(root, "memoryBacking")
    sizes = sorted({each.page_bytes for each in cells if each.page_bytes})
    if sizes:
        pages = xml.SubElement(backing, "hugepages")
        for size in sizes:
            number, unit = guest.split_memory_unit(size)
            nodeset = ",".join(str(each.id) for each in cells if each.page_bytes == size)
            xml.SubElement(pages, "page", size=str(number), unit=unit, nodeset=nodeset)
    xml.SubElement(backing, "nosharepages")
    if kind == "kvm" and not instance.profile.memory_oversubscription_allowed:
        xml.SubElement(backing, "locked")
    if _is_shared(instance):
        xml.SubElement(backing, "source", type="memfd")
        xml.SubElement(backing, "access", mode="shared")
    tune = xml.SubElement(root, "numatune")
    xml.SubElement(tune, "memory", mode="strict", nodeset=_join(instance.nodes))
    for each in cells:
        xml.SubElement(tune, "memnode", cellid=str(each.id), mode="strict", nodeset=str(each.host_node))


def _add_cpus(root: xml.Element, instance: Instance, has_disk: bool) -> None:
    _add_leaf(root, "vcpu", len(instance.cpu_of), placement="static")
    if has_disk:
        _add_leaf(root, "iothreads", 1)
    tune = xml.SubElement(root, "cputune")
    for vcpu, cpu in instance.cpu_of.items():
        xml.SubElement(tune, "vcpupin", vcpu=str(vcpu), cpuset=str(cpu))
    if instance.placement.emulator_cpus:
        emulator_cpus = _join(instance.placement.emulator_cpus)
        xml.SubElement(tune, "emulatorpin", cpuset=emulator_cpus)
        if has_disk:
            xml.SubElement(tune, "iothreadpin", iothread="1", cpuset=emulator_cpus)


def _add_system(root: xml.Element, instance: Instance, kind: DomainType) -> None:
    arm = find_architecture(instance) == "aarch64"
    system = xml.SubElement(root, "os", {"firmware": "efi"} if arm else {})
    _add_leaf(system, "type", "hvm", arch="aarch64" if arm else "x86_64", machine="virt" if arm else "q35")
    features = xml.SubElement(root, "features")
    xml.SubElement(features, "acpi")
    if not arm:
        xml.SubElement(features, "apic")
    if not arm and instance.has_device:
        xml.SubElement(features, "ioapic", driver="qemu")
    if not arm and kind == "kvm" and not instance.profile.cpu_oversubscription_allowed:
        xml.SubElement(xml.SubElement(features, "kvm"), "hint-dedicated", state="on")
    _add_cpu_model(root, instance, kind)
    xml.SubElement(root, "clock", offset="utc")


def _add_cpu_model(root: xml.Element, instance: Instance, kind: DomainType) -> None:
    mode = {"mode": "host-passthrough" if kind == "kvm" else "maximum"}
    if kind == "kvm" and find_architecture(instance) == "x86_64":
        mode["migratable"] = "off"
    cpu = xml.SubElement(root, "cpu", {**mode, "check": "none"})
    shape = guest.compute_topology(instance)
    parts = {"sockets": shape.sockets, "dies": 1, "cores": shape.cores, "threads": shape.threads}
    xml.SubElement(cpu, "topology", {name: str(count) for name, count in parts.items()})
    numa = xml.SubElement(cpu, "numa")
    cells = guest.list_cells(instance)
    for each in cells:
        size, unit = guest.split_memory_unit(each.memory_bytes)
        cpus_attribute = {"cpus": _join(each.vcpus)} if each.vcpus else {}
        shared = {"memAccess": "shared"} if _is_shared(instance) else {}
        cell = xml.SubElement(
            numa, "cell", {"id": str(each.id), **cpus_attribute, "memory": str(size), "unit": unit, **shared}
        )
        distances = xml.SubElement(cell, "distances")
        for other in cells:
            value = guest.compute_distance(instance, each, other)
            xml.SubElement(distances, "sibling", id=str(other.id), value=str(value))


def _is_shared(instance: Instance) -> bool:
    """Return whether a virtual switch process needs access to the guest's memory."""
    kinds = {line.vswitch_kind for each in instance.placement.sets for line in each.interfaces}
    return bool(kinds & {"ovs-dpdk", "vpp"})


def _list_guest_notes(instance: Instance) -> Iterator[str]:
    for each in guest.list_cells(instance):
        first, vcpu_set = guest.find_cell(instance, each.piece).id, instance.pieces[each.piece].placed.index
        if each.id != first:
            yield (
                f"vCPU set {vcpu_set} has memory of two kinds: its large pages are node {first} of the guest, its "
                f"normal memory is node {each.id}, which has no CPUs. Large pages of the guest's own: on node {first}."
            )
    shape, sets = guest.compute_topology(instance), len(instance.pieces)
    if shape.sockets > sets:
        yield (
            f"The guest sees {shape.sockets} sockets for {sets} vCPU sets: all its sockets have to be of one size, and "
            "none may hold vCPUs of two sets."
        )
    paired = any(each.requested.pairs for each in instance.pieces)
    if paired and shape.threads == 1:
        yield (
            "The guest sees no hyperthreads: the requested pairs are not all on threads of one core, or not adjacent "
            "(0 and 1, 2 and 3 ...)."
        )


def _list_host_notes(instance: Instance, options: DomainOptions) -> Iterator[str]:
    if instance.host.capabilities.processor.architecture.value is None:
        yield f"The host's architecture is not known; this is for {find_architecture(instance)}."
    if options.type == "qemu":
        yield "Emulated, not virtualised, and its memory is not locked: for trials, not for measurements."
    if not instance.placement.emulator_cpus:
        yield (
            "The placement names no CPUs for the hypervisor's own threads, so these may run on the vCPUs' CPUs. "
            "Add <emulatorpin> with CPUs that no VM uses."
        )


def _list_disk_notes(instance: Instance, options: DomainOptions) -> Iterator[str]:
    if not options.images:
        yield "No disk: no image given. The first image boots."
    for number, disk in enumerate(instance.profile.disks):
        if number >= len(options.images):
            kind = f" ({disk.kind})" if disk.kind else ""
            yield f"Disk {number} of {disk.size_bytes} bytes{kind} is missing: no image given for it."


def _refuse_unwritable(root: xml.Element) -> None:
    """Raise ConfigError for characters not allowed in XML. Source: XML 1.0, production 2 (Char)."""
    for element in root.iter():
        for value in (*element.attrib.values(), element.text or ""):
            if UNWRITABLE.search(value):
                raise ConfigError(
                    f"{element.tag}: {value!r} contains characters not allowed in XML; choose another name"
                )


def _add_leaf(parent: xml.Element, name: str, text: str | int, **attributes: str) -> None:
    xml.SubElement(parent, name, attributes).text = str(text)


def _join(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(numbers)))
