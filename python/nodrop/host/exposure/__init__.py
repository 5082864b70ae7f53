"""Host features that the virtualization stack exposes to VM placement: annex A, table A.1, for this host."""

from collections.abc import Callable

from nodrop.host.exposure import kubernetes, libvirt, openstack
from nodrop.host.inputs import ProgramOutput
from nodrop.model.exposure import ExposedFeature, StackExposure

__all__ = ["FEATURES", "query_exposures"]
YES, NEEDED, DEPENDS, DEVICE = "Yes", "Needs to be exposed", "Depends on cloud OS", "Exposed using Device ID"
REQUIRED, OPTIONAL = "Required", "Optional"


def _build_feature(key: str, name: str, reported: tuple[str, str, str], reason: str) -> ExposedFeature:
    return ExposedFeature(
        key=key, name=name, at_hypervisor=reported[0], at_orchestrator=reported[1], priority=reported[2], why=reason
    )


FEATURES: tuple[ExposedFeature, ...] = (
    _build_feature("hypervisor", "Hypervisor Enabled (e.g. KVM)", (YES, YES, REQUIRED), "no VM runs without it"),
    _build_feature("iommu", "IOMMU", (YES, DEPENDS, REQUIRED), "VMs are given devices through it"),
    _build_feature(
        "direct-cache",
        "Direct cache access for Ethernet adapters",
        (NEEDED, NEEDED, REQUIRED),
        "cards reach the cache without a trip to memory",
    ),
    _build_feature(
        "memory", "Memory Available", (YES, YES, REQUIRED), "how many VMs fit, and what is left for the host"
    ),
    _build_feature(
        "large-pages",
        "Large Pages Available",
        ("Currently not exposed", YES, REQUIRED),
        "those that are free can be given to a VM",
    ),
    _build_feature("nic", "PCI I/O device present (NIC)", (DEVICE, NEEDED, REQUIRED), "its kind says what it can do"),
    _build_feature("crypto", "PCI Crypto device present", (DEVICE, NEEDED, OPTIONAL), "for VNFs that encrypt"),
    _build_feature(
        "pci-socket",
        "PCI Device attachment socket",
        (NEEDED, NEEDED, REQUIRED),
        "a card and the cores that serve it belong to one socket",
    ),
    _build_feature(
        "pci-bandwidth",
        "PCI bandwidth limit",
        (NEEDED, NEEDED, REQUIRED),
        "a slot may carry less than its card's ports",
    ),
    _build_feature(
        "sriov", "SR-IOV device present", (YES, NEEDED, REQUIRED), "how many virtual functions can be given"
    ),
    _build_feature(
        "cpu", "CPU Model & Flags", (YES, DEPENDS, REQUIRED), "whether a VM's image runs there, and how well"
    ),
    _build_feature("ovs", "Software Accelerated OVS", (NEEDED, NEEDED, OPTIONAL), "what a virtual interface can carry"),
    _build_feature(
        "cores",
        "Core Availability",
        (NEEDED, NEEDED, REQUIRED),
        "which cores are free, and which threads share one",
    ),
    _build_feature(
        "isolation", "Core Isolation", (NEEDED, NEEDED, REQUIRED), "cores that the host itself leaves alone"
    ),
    _build_feature(
        "core-socket", "Core allocation (Socket)", (NEEDED, NEEDED, REQUIRED), "which socket a free core belongs to"
    ),
    _build_feature("kernel", "Kernel version", (NEEDED, NEEDED, REQUIRED), "drivers, DPDK and OVS depend on it"),
    _build_feature(
        "tlb", "TLB and IOTLB sizes", ("", "", ""), "clause 8.1.1.1 asks for them; table A.1 has no such row"
    ),
)
"""The first 16 are ETSI's, cells as printed."""


def query_exposures(
    run: Callable[..., ProgramOutput], hostname: str, uri: str = libvirt.SYSTEM
) -> tuple[StackExposure, ...]:
    """Query which features libvirt, OpenStack and Kubernetes expose; an unavailable one reports why.

    Args:
        run: runs a program with a time limit.
        hostname: the host's name in the orchestrators.
        uri: the libvirt daemon.
    """
    return (
        libvirt.query_libvirt_exposure(run, uri),
        openstack.query_openstack(hostname),
        kubernetes.query_kubernetes(run, hostname),
    )
