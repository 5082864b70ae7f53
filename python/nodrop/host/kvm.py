"""KVM's support for the nine capabilities, from its module, the IOMMU and libvirt.

Source: ETSI GS NFV-PER 001 clause 8.1.1.3; Linux, Documentation/admin-guide/kernel-parameters.txt (kvm, kvm-intel,
kvm-amd, vfio_iommu_type1).
"""

import re

from nodrop.host import libvirt, observations
from nodrop.host.inputs import Source
from nodrop.host.iommu_units import CLASS, GROUPS, IommuUnit, read_iommu_units
from nodrop.model.chd import HypervisorCapabilities
from nodrop.model.observation import Feature, Observation

MODULES = {
    "kvm_intel": "",
    "kvm_amd": "",
    "kvm_hv": "",
    "kvm_pvm": "by kvm_pvm, without the processor's own virtualization: it runs only kernels made for it",
}
"""Modules that run guests, with a note."""
VFIO = "/sys/module/vfio_iommu_type1"
NODES, PAGES = "/sys/devices/system/node", "/sys/kernel/mm/hugepages"
NO_IOMMU = "no IOMMU visible: absent or disabled"
PER_VM_WHY = "configured per VM; nothing to enable on the host"


def find_module(source: Source) -> str:
    """Return the module that runs KVM's guests; empty: none."""
    tree = source.tree
    module = next((name for name in MODULES if tree.exists(f"/sys/module/{name}")), "")
    if module or not tree.exists("/sys/module/kvm"):
        return module
    # Arm and s390 have it built in, without a module that runs the guests.
    return "kvm" if tree.exists("/dev/kvm") or not tree.exists("/sys/module/kvm/initstate") else ""


def describe_capabilities(source: Source) -> HypervisorCapabilities:
    """Describe the nine capabilities with their evidence."""
    loaded = find_module(source)
    slat = _describe_slat(source, loaded)
    iommu_units = read_iommu_units(source)
    return HypervisorCapabilities(
        slat=slat,
        slat_large_pages=_describe_slat_large_pages(source, loaded, slat),
        iommu_slat=_describe_iommu_slat(source),
        iommu_slat_large_pages=_describe_iommu_large_pages(source, iommu_units),
        interrupt_remapping=_describe_remapping(source, iommu_units),
        no_instruction_emulation=_describe_no_emulation(source, loaded),
        cpu_pinning=describe_pinning(source, "cpu_pinning") or Feature(),
        numa_memory_pinning=describe_pinning(source, "numa_memory_pinning") or Feature(),
        numa_large_page_pinning=describe_pinning(source, "numa_large_page_pinning") or Feature(),
    )


def _describe_slat(source: Source, loaded: str) -> Feature:
    moment, tree = source.moment, source.tree
    names = {"kvm_intel": "ept", "kvm_amd": "npt"}
    if loaded == "kvm_pvm":
        return _build_uniform_feature(
            moment.inferred(False, "/sys/module/kvm_pvm", "kvm_pvm keeps copies of the guests' page tables instead")
        )
    if loaded not in names:
        return _build_uniform_feature(
            moment.inferred(True, f"/sys/module/{loaded}", "KVM knows no other way on this architecture")
        )
    path = f"/sys/module/{loaded}/parameters/{names[loaded]}"
    enabled = observations.observe_switch(source, path)
    if enabled.value:
        return _build_uniform_feature(enabled)
    flags = _read_cpu_flags(source)
    supported: Observation[bool] = moment.unknown(tree.failure_reason("/proc/cpuinfo"), "/proc/cpuinfo")
    if flags:
        supported = moment.reported(names[loaded] in flags, "/proc/cpuinfo")
    return Feature(supported=supported, enabled=enabled)


def _describe_slat_large_pages(source: Source, loaded: str, slat: Feature) -> Feature:
    """Return whether second-level tables support large pages, and whether they are used, unsplit or split."""
    moment = source.moment
    if slat.supported.value is False:
        return _build_uniform_feature(slat.supported)
    if loaded != "kvm_intel":
        module_path, reason = f"/sys/module/{loaded}", "second-level tables have the page sizes of the others"
        supported = moment.inferred(True, module_path, reason)
    elif "ept_1gb" in _read_cpu_flags(source):
        supported = moment.inferred(True, "/proc/cpuinfo", "ept_1gb: 1 GiB, hence 2 MiB too")
    else:
        supported = moment.unknown("in register IA32_VMX_EPT_VPID_CAP; no ept_1gb in /proc/cpuinfo", "/proc/cpuinfo")
    if not slat.enabled.value or supported.value is None:
        return Feature(supported=supported, enabled=slat.enabled if slat.enabled.value is False else supported)
    path = "/sys/module/kvm/parameters/nx_huge_pages"
    splits = observations.observe_switch(source, path)
    reason = (
        "used, but nx_huge_pages splits those that hold code" if splits.value else "used where second-level tables are"
    )
    return Feature(
        supported=supported, enabled=moment.inferred(True, path if splits.value else slat.enabled.source, reason)
    )


def _describe_iommu_slat(source: Source) -> Feature:
    moment = source.moment
    if not _is_iommu_on(source):
        return Feature(supported=moment.unknown(NO_IOMMU, CLASS), enabled=_observe_iommu_off(source))
    reason = "devices are in IOMMU groups, by which VFIO gives a VM's memory to a device"
    loaded = source.tree.exists(VFIO) or source.tree.exists("/sys/module/iommufd")
    note = "" if loaded else "; VFIO is not loaded yet"
    return _build_uniform_feature(moment.inferred(True, GROUPS, reason + note))


def _describe_iommu_large_pages(source: Source, units: tuple[IommuUnit, ...]) -> Feature:
    moment = source.moment
    supported: Observation[bool] = moment.unknown(
        "this IOMMU does not say it in sysfs" if _is_iommu_on(source) else NO_IOMMU, CLASS
    )
    if units:
        every = all(unit.has_page_size("2M") and unit.has_page_size("1G") for unit in units)
        supported = moment.reported(
            every, units[0].path, "CAP.SLLPS of every unit, or AMD's tables, which hold all sizes"
        )
    if not _is_iommu_on(source):
        return Feature(supported=supported, enabled=_observe_iommu_off(source))
    path = f"{VFIO}/parameters/disable_hugepages"
    disabled = observations.observe_switch(source, path)
    if disabled.value is None:
        return Feature(supported=supported, enabled=disabled)
    return Feature(
        supported=supported, enabled=moment.reported(not disabled.value, path, f"holds {'NY'[disabled.value]}")
    )


def _describe_remapping(source: Source, units: tuple[IommuUnit, ...]) -> Feature:
    moment, path = source.moment, "/proc/interrupts"
    text = source.tree.read_text(path)
    if text is None:
        enabled: Observation[bool] = moment.unknown(source.tree.failure_reason(path), path)
    else:
        match = re.search(r"\bIR-(?:PCI|IO-APIC|HPET|DMAR)\S*", text)
        enabled = moment.reported(bool(match), path, match[0] if match else "no interrupt is remapped")
    supported: Observation[bool] = moment.unknown(
        "this IOMMU does not say it in sysfs" if _is_iommu_on(source) else NO_IOMMU, CLASS
    )
    if units:
        supported = moment.reported(all(unit.remaps for unit in units), units[0].path, "every unit")
    elif enabled.value:
        supported = moment.inferred(True, path, "it is in use")
    return Feature(supported=supported, enabled=enabled)


def _describe_no_emulation(source: Source, loaded: str) -> Feature:
    """Return whether guests get the host's CPU model unchanged, so that no instruction is emulated."""
    moment = source.moment
    offered, capabilities = (
        libvirt.parse_xml(text) for text in (source.libvirt().domain_capabilities, source.libvirt().capabilities)
    )
    if loaded == "kvm_pvm":
        unknown: Observation[bool] = moment.unknown(MODULES[loaded], f"/sys/module/{loaded}")
        return Feature(supported=unknown, enabled=unknown)
    if capabilities is not None and not capabilities.findall("guest/arch/domain[@type='kvm']"):
        return _build_uniform_feature(moment.reported(False, "libvirt capabilities", "libvirt offers no VMs of KVM"))
    if offered is None:
        reason = "KVM runs guests' code on the processor itself, if they are given the host's CPU model"
        supported = moment.inferred(True, f"/sys/module/{loaded}", reason)
    else:
        mode = offered.find("cpu/mode[@name='host-passthrough']")
        is_passthrough = mode is not None and mode.get("supported") == "yes"
        by_kvm = offered.findtext("domain") == "kvm"
        reason = "host-passthrough" + (
            "" if by_kvm else f" for VMs of {offered.findtext('domain') or 'an unknown kind'}"
        )
        supported = moment.reported(is_passthrough and by_kvm, "libvirt domcapabilities", reason)
    if not supported.value:
        return _build_uniform_feature(supported)
    running = libvirt.list_domains(source)
    if not running:
        return Feature(supported=supported, enabled=moment.inferred(True, supported.source, PER_VM_WHY))
    passthrough_count = sum(each.host_cpu for each in running)
    reason = f"{passthrough_count} of {len(running)} running VMs have the host's CPU model"
    return Feature(supported=supported, enabled=moment.reported(passthrough_count == len(running), "libvirt", reason))


def describe_pinning(source: Source, name: str) -> Feature | None:
    """Return support for pinning threads and memory of VMs, which the kernel provides to any VM manager."""
    moment, tree = source.moment, source.tree
    if feature := _describe_pinning_by_libvirt(source, name):
        return feature
    if name == "cpu_pinning":
        path, reason = (
            "sched_setaffinity(2)",
            "virtual CPUs are threads, which the kernel keeps on the CPUs it is given",
        )
        return Feature(supported=moment.inferred(True, path, reason), enabled=moment.inferred(True, path, PER_VM_WHY))
    nodes = [each for each in tree.list_directory(NODES) if re.fullmatch(r"node\d+", each)]
    if not nodes:
        reason = "a kernel without NUMA nodes" if tree.exists("/sys/devices/system") else tree.failure_reason(NODES)
        is_local = tree.live and tree.exists("/sys/devices/system")
        return _build_uniform_feature(
            moment.inferred(False, NODES, reason) if is_local else moment.unknown(reason, NODES)
        )
    if name == "numa_memory_pinning":
        reason = f"the kernel keeps memory on the nodes it is given; {len(nodes)} here"
        return Feature(supported=moment.inferred(True, NODES, reason), enabled=moment.inferred(True, NODES, PER_VM_WHY))
    return _describe_large_pages_by_node(source, nodes) if name == "numa_large_page_pinning" else None


def _describe_pinning_by_libvirt(source: Source, name: str) -> Feature | None:
    """Return pinning support as reported by libvirt: CPUs and memory of each node."""
    moment, reported = source.moment, libvirt.parse_xml(source.libvirt().capabilities)
    cells = reported.findall("host/topology/cells/cell") if reported is not None else []
    if not cells or name == "numa_large_page_pinning":
        return None
    counts = {
        "cpu_pinning": ("vcpupin", "cpus/cpu", "CPUs"),
        "numa_memory_pinning": ("numatune", "memory", "nodes with memory"),
    }
    means, path, counted = counts[name]
    number = sum(len(cell.findall(path)) for cell in cells)
    place = "libvirt capabilities"
    return Feature(
        supported=moment.reported(number > 0, place, f"{means}; {number} {counted}"),
        enabled=moment.inferred(number > 0, place, PER_VM_WHY),
    )


def _describe_large_pages_by_node(source: Source, nodes: list[str]) -> Feature:
    moment, tree = source.moment, source.tree
    places = [f"{NODES}/{node}/hugepages" for node in nodes]
    sizes = sorted({size for place in places for size in tree.list_directory(place)})
    if not sizes:
        reason = tree.failure_reason(places[0]) or "no sizes listed"
        return _build_uniform_feature(moment.unknown(reason, places[0]))
    counts = [
        tree.read_number(f"{place}/{size}/nr_hugepages") for place in places for size in tree.list_directory(place)
    ]
    path = f"{NODES}/node*/hugepages"
    supported = moment.reported(True, path, ", ".join(size.removeprefix("hugepages-") for size in sizes))
    if any(each for each in counts):
        return Feature(supported=supported, enabled=moment.reported(True, path, "pages are set aside"))
    if None in counts:
        return Feature(supported=supported, enabled=moment.unknown("their numbers cannot be read", path))
    return Feature(supported=supported, enabled=moment.reported(False, path, "no page is set aside on any node"))


def _is_iommu_on(source: Source) -> bool:
    """Return whether devices are in IOMMU groups, i.e. the kernel drives an IOMMU."""
    return bool(source.tree.list_directory(GROUPS))


def _read_cpu_flags(source: Source) -> frozenset[str]:
    """Return the flags of the first processor, including the VMX flags."""
    lines = (source.tree.read_text("/proc/cpuinfo") or "").split("\n\n", 1)[0].splitlines()
    return frozenset(
        flag for line in lines if line.startswith(("flags", "vmx flags")) for flag in line.partition(":")[2].split()
    )


def _build_uniform_feature(observation: Observation[bool]) -> Feature:
    return Feature(supported=observation, enabled=observation)


def _observe_iommu_off(source: Source) -> Observation[bool]:
    if source.tree.exists(GROUPS) or source.live:
        return source.moment.reported(False, GROUPS, "no device is in an IOMMU group")
    return source.moment.unknown(source.tree.failure_reason(GROUPS), GROUPS)
