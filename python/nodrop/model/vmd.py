"""The VM Descriptor (VMD): a VM's requirements on a host for its declared performance. ETSI GS NFV-PER 001 clause 8.2.

Sizes are in bytes (a 1 GB page is 2^30), rates in bit/s, memory bandwidths in bytes/s.
"""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

Topology = Literal["restricted", "unrestricted"]
ThreadPolicy = Literal["require", "isolate", "prefer"]
"""As Nova's hw:cpu_thread_policy: on sibling threads; on cores whose siblings stay empty; on siblings if available."""
InterfaceMode = Literal["dedicated", "sriov", "vswitch"]
"""fully-dedicated, shared-sriov, shared-vswitch."""
HypervisorCapability = Literal[
    "slat",
    "slat_large_pages",
    "iommu_slat",
    "iommu_slat_large_pages",
    "interrupt_remapping",
    "no_instruction_emulation",
    "cpu_pinning",
    "numa_memory_pinning",
    "numa_large_page_pinning",
]
"""Clause 8.2.2.3, by the names of `HypervisorCapabilities`."""


class ProcessorRequirements(Value):
    """Clause 8.2.2.1."""

    vendor: str = ""
    model: str = ""
    architecture: str = ""
    isa_extensions: tuple[str, ...] = ()
    reference_mhz: float | None = Field(default=None, gt=0)
    """Base clock at which the KPIs were measured."""
    rank_min: float | None = None
    """In the ranking of the placement; None: the rank of `model`, if set."""
    alternatives: tuple[str, ...] = ()
    """Further suitable models."""


class MemoryRequirements(Value):
    """Clause 8.2.2.2."""

    speed_min_mtps: int | None = Field(default=None, gt=0)
    channels_min_count: int | None = Field(default=None, gt=0)


class HypervisorRequirements(Value):
    """Clause 8.2.2.3."""

    kind: str = ""
    version_min: str = ""
    capabilities: tuple[HypervisorCapability, ...] = ()
    """Each must be supported and enabled. The two sets of the clause are written out."""
    accelerated_vswitch: bool = False


class Interface(Value):
    """A network interface of the VM."""

    speed_bps: float = Field(gt=0)
    """Speed of the port behind it."""
    bandwidth_bps: float | None = Field(default=None, gt=0)
    """Required bandwidth; None: all of a dedicated port, nothing reserved on a shared one."""
    mode: InterfaceMode


class SetMemory(Value):
    """Memory of a vCPU set."""

    total_bytes: int = Field(gt=0)
    large_page_bytes: int | None = Field(default=None, gt=0)
    large_page_count: int = Field(default=0, ge=0)
    bandwidth_bytes_per_s: float | None = Field(default=None, gt=0)


class VcpuSet(Value):
    """vCPUs that must be in one processor, with the resources that must be near them. Clause 8.2.2.4."""

    vcpus: tuple[int, ...] = Field(min_length=1)
    pairs: tuple[tuple[int, ...], ...] = ()
    """vCPUs that must be threads of one core."""
    memory: SetMemory
    interfaces: tuple[Interface, ...] = ()


class SetLink(Value):
    """Bandwidth between two vCPU sets."""

    sets: tuple[int, int]
    """From 0."""
    bandwidth_bps: float = Field(gt=0)


class Disk(Value):
    """Storage of the VM."""

    size_bytes: int = Field(gt=0)
    kind: str = ""
    dedicated: bool = False


class OtherIo(Value):
    """Another PCI device that the VM requires."""

    kind: Literal["crypto", "other"] = "crypto"
    model: str = ""
    count: int = Field(default=1, ge=1)


class Impact(Value):
    """Mutual performance impact with other VMs. Clause 8.2.2.5; keys of one option, or none."""

    option: Literal[1, 2, 3]
    degradation_max_ratio: dict[str, float] = Field(default_factory=dict)
    """Option 1: by antagonist (`cpu`, `memory`, `cache`), the share of its performance lost next to one."""
    identical_max_count: int | None = Field(default=None, ge=1)
    """Option 2: number of identical VMs on one host with little degradation."""
    usage: dict[str, float] = Field(default_factory=dict)
    """Option 3: pessimistic use of shared resources: `memory_bytes_per_s`, `inter_node_bytes_per_s`, `llc_bytes`."""


class Profile(Value):
    """A list of requirements for certain processors and hypervisors. Clause 8.2.2.5, last paragraph."""

    name: str = ""
    processor: ProcessorRequirements = ProcessorRequirements()
    memory: MemoryRequirements = MemoryRequirements()
    hypervisor: HypervisorRequirements = HypervisorRequirements()
    cpu_oversubscription_allowed: bool = False
    memory_oversubscription_allowed: bool = False
    topology: Topology = "restricted"
    """Unrestricted: a cloud VM, whose sets may be split over nodes."""
    thread_policy: ThreadPolicy = "prefer"
    """For vCPUs without a pair."""
    separate_nodes: bool = False
    """Whether each vCPU set has a node of its own."""
    vcpu_sets: tuple[VcpuSet, ...] = Field(min_length=1)
    links: tuple[SetLink, ...] = ()
    disks: tuple[Disk, ...] = ()
    other_io: tuple[OtherIo, ...] = ()
    impact: Impact | None = None
    kpis: dict[str, float] = Field(default_factory=dict)
    """Performance with these resources, by name with unit: `throughput_pps`, `flow_count`, `sessions_per_s`."""
    scales_with_cores: bool = False
    """Whether more vCPUs compensate for slower ones."""

    @property
    def vcpu_count(self) -> int:
        """vCPUs of all sets."""
        return sum(len(each.vcpus) for each in self.vcpu_sets)

    @property
    def memory_bytes(self) -> int:
        """Memory of all sets."""
        return sum(each.memory.total_bytes for each in self.vcpu_sets)


class VmDescriptor(Value):
    """A VMD. Source: ETSI GS NFV-PER 001 clause 8.2."""

    vmd_version: Literal["1"] = "1"
    name: str
    image: str = ""
    profiles: tuple[Profile, ...] = Field(min_length=1)
    """Tried in order; the first that a host meets is used."""
