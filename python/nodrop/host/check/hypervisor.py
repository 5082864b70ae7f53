"""Y1 to Y9: requirements of clause 7.2 for the hypervisor and its host."""

from collections.abc import Callable
from functools import partial

from nodrop.host.check.remedy import (
    IOMMU_ON,
    add_kernel_arguments,
    describe_bios_setting,
    describe_missing_hardware,
    enable_module_parameter,
    install_package,
)
from nodrop.host.check.rule import CheckRule, Condition, Remedy, build_condition, judge_feature, judge_observation
from nodrop.model.chd import HostDescriptor

NESTED_PAGING = {"Intel": ("kvm_intel", "ept"), "AMD": ("kvm_amd", "npt"), "Hygon": ("kvm_amd", "npt")}
DOMAIN = "virsh domcapabilities --virttype kvm"
GROUPS = "ls /sys/kernel/iommu_groups"
NO_SPLIT = "/sys/module/kvm/parameters/nx_huge_pages"


def _judge_capability(name: str, label: str) -> Callable[[HostDescriptor], Condition]:
    """Return a judge of whether the hypervisor has a capability enabled; without a hypervisor it fails."""

    def judge(host: HostDescriptor) -> Condition:
        hypervisor = host.capabilities.hypervisor
        if hypervisor.kind.value == "none":
            return build_condition("hypervisor", False, "none", hypervisor.kind.source)
        fact = judge_feature(label, getattr(hypervisor.capabilities, name))
        return fact._replace(evidence=(*judge_observation("hypervisor", hypervisor.kind).evidence, *fact.evidence))

    return judge


def _with_hypervisor(then: Callable[[HostDescriptor], Remedy]) -> Callable[[HostDescriptor], Remedy]:
    """Return the remedy for an installed hypervisor; otherwise how to install one."""

    def remedy(host: HostDescriptor) -> Remedy:
        if host.capabilities.hypervisor.kind.value not in ("none", "qemu"):
            return then(host)
        get = install_package(host, "qemu-system libvirt-daemon-system", "qemu-kvm libvirt")
        return Remedy(
            get,
            f"first, as KVM needs the processor's extensions, {describe_bios_setting(host, 'virtualization')}",
            "virt-host-validate",
        )

    return remedy


def _enable_nested_paging(host: HostDescriptor) -> Remedy:
    lacking = describe_missing_hardware(host, "nested paging (EPT, NPT)")
    module, parameter = NESTED_PAGING.get(host.capabilities.processor.vendor.value or "", ("kvm", "tdp_mmu"))
    if host.capabilities.hypervisor.capabilities.slat.supported.value is False:
        return Remedy(by_hand=lacking, verify=f"cat /sys/module/{module}/parameters/{parameter}")
    return enable_module_parameter(module, parameter, lacking)


def _keep_pages_unsplit(host: HostDescriptor) -> Remedy:
    """Return how to stop the kernel from splitting large pages as a hardware vulnerability mitigation."""
    nested_paging = _enable_nested_paging(host)
    if not nested_paging.fix:
        return nested_paging
    return Remedy(
        fix=f"echo never > {NO_SPLIT}",
        by_hand="only where every guest is trusted, as it gives up a protection against iTLB multihit; "
        f"and nested paging has to be on: {nested_paging.verify}",
        verify=f"cat {NO_SPLIT} && {nested_paging.verify}",
    )


def _enable_iommu(host: HostDescriptor) -> Remedy:
    arguments = IOMMU_ON.get(host.capabilities.processor.vendor.value or "", "iommu=pt")
    return Remedy(
        fix=add_kernel_arguments(host, arguments),
        by_hand=f"first {describe_bios_setting(host, 'iommu')}; after the command reboot",
        verify=GROUPS,
    )


def _enable_remapping(host: HostDescriptor) -> Remedy:
    return _enable_iommu(host)._replace(
        verify="journalctl -k --grep 'remapping' && cat /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
    )


def _use_host_cpu(_: HostDescriptor) -> Remedy:
    return Remedy(
        by_hand="give VMs the processor as it is: <cpu mode='host-passthrough'/> in libvirt, cpu_mode=host-passthrough "
        "in nova.conf; it needs KVM, not emulation",
        verify=f'{DOMAIN} | grep -A1 "host-passthrough"',
    )


def _use_libvirt(host: HostDescriptor) -> Remedy:
    return Remedy(
        fix=install_package(host, "libvirt-daemon-system", "libvirt"),
        by_hand="a manager that pins: libvirt does (vcpupin, numatune); `nodrop vm config` writes it for a placement",
        verify="virsh capabilities | xmllint --xpath '//host/topology/cells' -",
    )


def _reserve_pages(host: HostDescriptor) -> Remedy:
    nodes = [node.id for node in host.resources.numa_nodes] or [0]
    return _use_libvirt(host)._replace(
        fix=" && ".join(
            f"echo 8 > /sys/devices/system/node/node{node}/hugepages/hugepages-1048576kB/nr_hugepages" for node in nodes
        ),
        by_hand="pages of 1 GiB are best set aside at boot, before memory is in pieces: "
        "default_hugepagesz=1G hugepagesz=1G hugepages=N",
        verify="virsh freepages --all",
    )


_require = partial(CheckRule, clause="7.2")
_require_for_data_plane = partial(_require, control_plane=False)

RULES = (
    _require(
        "Y1",
        "hypervisor uses second-level translation",
        "What the processor can do helps only where the hypervisor uses it and the BIOS enabled it.",
        _judge_capability("slat", "SLAT"),
        _with_hypervisor(_enable_nested_paging),
    ),
    _require(
        "Y2",
        "hypervisor uses second-level translation of large pages",
        "If the hypervisor maps a VM's large pages in small ones, their advantage is gone.",
        _judge_capability("slat_large_pages", "SLAT of large pages"),
        _with_hypervisor(_keep_pages_unsplit),
    ),
    _require_for_data_plane(
        "Y3",
        "hypervisor uses the IOMMU",
        "Without it a card cannot be handed to a VM, and every packet goes through the hypervisor.",
        _judge_capability("iommu_slat", "I/O SLAT"),
        _with_hypervisor(_enable_iommu),
    ),
    _require_for_data_plane(
        "Y4",
        "hypervisor uses large pages in the IOMMU",
        "Small pages in the IOMMU evict each other from the IOTLB at packet rates.",
        _judge_capability("iommu_slat_large_pages", "I/O SLAT of large pages"),
        _with_hypervisor(_enable_iommu),
        required=False,
    ),
    _require_for_data_plane(
        "Y5",
        "hypervisor uses interrupt remapping",
        "Else the hypervisor passes on each interrupt, and a guest could forge those of others.",
        _judge_capability("interrupt_remapping", "interrupt remapping"),
        _with_hypervisor(_enable_remapping),
    ),
    _require(
        "Y6",
        "no emulation of instructions",
        "A guest whose instructions the processor knows must run them there, not in software.",
        _judge_capability("no_instruction_emulation", "no instruction emulation"),
        _with_hypervisor(_use_host_cpu),
    ),
    _require_for_data_plane(
        "Y7",
        "threads can be pinned to CPUs",
        "Threads that exchange packets have to stay where they share a cache.",
        _judge_capability("cpu_pinning", "CPU pinning"),
        _with_hypervisor(_use_libvirt),
    ),
    _require_for_data_plane(
        "Y8",
        "memory can be pinned to NUMA nodes",
        "Memory of another node is reached over the link between processors: a far trip for every packet.",
        _judge_capability("numa_memory_pinning", "memory pinning"),
        _with_hypervisor(_use_libvirt),
    ),
    _require_for_data_plane(
        "Y9",
        "large pages can be pinned to NUMA nodes",
        "Large pages help fully only on the node of the cores that use them.",
        _judge_capability("numa_large_page_pinning", "large page pinning"),
        _with_hypervisor(_reserve_pages),
    ),
)
"""Required unless the clause marks them `not present in all hypervisors`. Libvirt now supports Y8 and Y9, unsupported
according to the clause in 2014."""
