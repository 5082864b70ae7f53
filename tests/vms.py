"""VMs as descriptors."""

from pathlib import Path

from nodrop.model.vmd import (
    HypervisorRequirements,
    Interface,
    ProcessorRequirements,
    Profile,
    SetLink,
    SetMemory,
    VcpuSet,
    VmDescriptor,
)

GIB = 2**30
GBPS = 1e9
EXAMPLES = Path(__file__).parents[1] / "examples" / "vm"
SMALL = """\
name: x
vcpu_sets:
  - vcpus: 0-3
    pairs: [[0, 1], [2, 3]]
    memory: {total_bytes: 4GB, large_page_bytes: 1GB, large_page_count: 2}
    interfaces:
      - {mode: sriov, speed_bps: 10Gbps, bandwidth_bps: 5 Gbps}
  - vcpus: 4,5
    memory: {total_bytes: 2GB}
links:
  - {sets: [0, 1], bandwidth_bps: 100Mbps}
"""
"""As people write one; messages about its mistakes quote its lines."""


def sample() -> VmDescriptor:
    """Return the printed sample of clause 8.2.2.4: 14 vCPUs in two sets, as nodrop reads it."""
    return VmDescriptor(
        name="etsi-8.2.2.4",
        profiles=(
            Profile(
                vcpu_sets=(
                    VcpuSet(
                        vcpus=tuple(range(8)),
                        pairs=((0, 1), (2, 3), (4, 5), (6, 7)),
                        memory=SetMemory(total_bytes=10 * GIB, large_page_bytes=GIB, large_page_count=4),
                        interfaces=(
                            Interface(speed_bps=10 * GBPS, bandwidth_bps=10 * GBPS, mode="dedicated"),
                            Interface(speed_bps=10 * GBPS, bandwidth_bps=5 * GBPS, mode="sriov"),
                        ),
                    ),
                    VcpuSet(
                        vcpus=tuple(range(8, 14)),
                        pairs=((8, 9), (10, 11), (12, 13)),
                        memory=SetMemory(total_bytes=4 * GIB, large_page_bytes=GIB, large_page_count=2),
                    ),
                ),
                links=(SetLink(sets=(0, 1), bandwidth_bps=0.1 * GBPS),),
            ),
        ),
    )


def forwarder(vcpus: int = 2) -> VmDescriptor:
    """Return a small VM on a virtual switch, for any host."""
    return VmDescriptor(
        name="forwarder",
        profiles=(
            Profile(
                processor=ProcessorRequirements(vendor="Intel", reference_mhz=2700),
                hypervisor=HypervisorRequirements(kind="kvm"),
                vcpu_sets=(VcpuSet(vcpus=tuple(range(vcpus)), memory=SetMemory(total_bytes=GIB)),),
            ),
        ),
    )
