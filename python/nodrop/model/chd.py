"""The Compute Host Descriptor (CHD): a host's capabilities and free resources. ETSI GS NFV-PER 001 clause 8.1.

Two halves, each with its own time and hash: capabilities are equal for all hosts of a type, resources change with every
VM. Every leaf is an observation; `unknown` is a value with a reason. Memory is in bytes, pages are counted.
"""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.observation import Feature, Observation

Use = Literal["dedicated", "shared", "none"]
PageSize = Literal["2M", "1G"]
TlbKind = Literal["data", "instruction", "unified"]


class HostIdentity(Value):
    """The identity of the host, and its software."""

    id: Observation[str]
    """Stable across reboots; placement breaks ties by it."""
    hostname: Observation[str]
    product: Observation[str] = Observation[str]()
    """Manufacturer and model of the machine."""
    bios: Observation[str] = Observation[str]()
    """Vendor, version and date."""
    kernel: Observation[str] = Observation[str]()
    os: Observation[str] = Observation[str]()
    virtualization: Observation[str] = Observation[str]()
    """`none`, or the hypervisor that this machine runs under."""


class Tlb(Value):
    """A cache of page translations."""

    level: int = Field(ge=1)
    kind: TlbKind
    page_sizes: tuple[str, ...]
    """Of `4K`, `2M`, `4M`, `1G`."""
    entries_count: Observation[int]
    ways_count: Observation[int] = Observation[int]()


class Cache(Value):
    """A cache of the processor, the first of each kind."""

    level: int = Field(ge=1)
    kind: TlbKind
    size_bytes: Observation[int]
    line_bytes: Observation[int] = Observation[int]()
    ways_count: Observation[int] = Observation[int]()
    shared_cpus: Observation[tuple[int, ...]] = Observation[tuple[int, ...]]()
    instance_count: Observation[int] = Observation[int]()


class Processor(Value):
    """Clause 8.1.1.1."""

    architecture: Observation[str]
    vendor: Observation[str]
    """Common name: `Intel`, `AMD`, `Arm`, `Ampere` ..."""
    model: Observation[str]
    family: Observation[int] = Observation[int]()
    model_number: Observation[int] = Observation[int]()
    stepping: Observation[int] = Observation[int]()
    microcode: Observation[str] = Observation[str]()
    socket_count: Observation[int] = Observation[int]()
    core_count: Observation[int] = Observation[int]()
    """Physical cores of all sockets."""
    large_pages: dict[PageSize, Feature] = Field(default_factory=dict)
    io_large_pages: dict[PageSize, Feature] = Field(default_factory=dict)
    tlb_large_pages: dict[PageSize, Observation[bool]] = Field(default_factory=dict)
    tlbs: tuple[Tlb, ...] = ()
    iotlb_large_pages: Observation[bool] = Observation[bool]()
    iotlb_entries_count: Observation[int] = Observation[int]()
    virtualization: Feature = Feature()
    """VT-x, AMD-V, EL2; enabled: in the BIOS."""
    reduced_exits: Observation[tuple[str, ...]] = Observation[tuple[str, ...]]()
    """Instructions and structures that avoid VM exits, by the kernel's names."""
    slat: Feature = Feature()
    slat_large_pages: dict[PageSize, Feature] = Field(default_factory=dict)
    cache_extension: Feature = Feature()
    """Caches that a VM exit does not evict."""
    tlb_extension: Feature = Feature()
    """TLB entries tagged by VM: VPID, ASID, VMID."""
    iommu: Feature = Feature()
    iommu_slat: Feature = Feature()
    iommu_slat_large_pages: dict[PageSize, Feature] = Field(default_factory=dict)
    interrupt_remapping: Feature = Feature()
    posted_interrupts: Feature = Feature()
    direct_cache_access: Feature = Feature()
    """Devices write to and read from the cache: DDIO, SDCI, stashing."""
    cache_allocation: Feature = Feature()
    smt: Feature = Feature()
    threads_per_core_count: Observation[int] = Observation[int]()
    isa_extensions: Observation[tuple[str, ...]] = Observation[tuple[str, ...]]()
    """Flags relevant to packet processing and cryptography, by the kernel's names."""
    base_mhz: Observation[float] = Observation[float]()
    max_mhz: Observation[float] = Observation[float]()
    current_mhz: Observation[float] = Observation[float]()
    turbo: Feature = Feature()
    governor: Observation[str] = Observation[str]()
    idle_states: Observation[tuple[str, ...]] = Observation[tuple[str, ...]]()
    """Enabled idle states."""
    invariant_tsc: Observation[bool] = Observation[bool]()
    caches: tuple[Cache, ...] = ()


class MemoryModule(Value):
    """A DIMM."""

    slot: str
    size_bytes: Observation[int]
    kind: Observation[str] = Observation[str]()
    speed_mtps: Observation[int] = Observation[int]()
    """As configured, in mega-transfers per second."""
    rated_mtps: Observation[int] = Observation[int]()
    channel: Observation[str] = Observation[str]()
    rank_count: Observation[int] = Observation[int]()
    part: Observation[str] = Observation[str]()


class MemoryCapabilities(Value):
    """Clause 8.1.1.2."""

    kind: Observation[str] = Observation[str]()
    """`DDR4`, `DDR5` ..."""
    speed_mtps: Observation[int] = Observation[int]()
    ecc: Observation[bool] = Observation[bool]()
    channels_populated_count: Observation[int] = Observation[int]()
    """Of all sockets."""
    channels_count: Observation[int] = Observation[int]()
    balanced: Observation[bool] = Observation[bool]()
    """Whether every channel has the same capacity; `why` names the exceptions."""
    bandwidth_bytes_per_s: Observation[float] = Observation[float]()
    """Channels x speed x 8 bytes: the theoretical maximum of the modules."""
    modules: tuple[MemoryModule, ...] = ()


class HypervisorCapabilities(Value):
    """Clause 8.1.1.3: the nine capabilities, supported and enabled separately."""

    slat: Feature = Feature()
    slat_large_pages: Feature = Feature()
    iommu_slat: Feature = Feature()
    iommu_slat_large_pages: Feature = Feature()
    interrupt_remapping: Feature = Feature()
    no_instruction_emulation: Feature = Feature()
    cpu_pinning: Feature = Feature()
    numa_memory_pinning: Feature = Feature()
    numa_large_page_pinning: Feature = Feature()


class Hypervisor(Value):
    """The hypervisor of the host."""

    kind: Observation[str]
    """`kvm`, `xen`, `vmware`, `hyper-v`, `qemu` (emulation only), or `none`."""
    version: Observation[str] = Observation[str]()
    """Version of the hypervisor; for KVM, the kernel's."""
    emulator_version: Observation[str] = Observation[str]()
    manager_version: Observation[str] = Observation[str]()
    """Version of libvirt or another manager."""
    capabilities: HypervisorCapabilities = HypervisorCapabilities()


class VSwitch(Value):
    """A virtual switch of this host."""

    name: str
    kind: Observation[str]
    """`ovs`, `ovs-dpdk`, `vpp`, `linux-bridge`, `ovn`."""
    version: Observation[str] = Observation[str]()
    acceleration: Observation[str] = Observation[str]()
    """`dpdk`, `hardware` or `none`."""
    mode: Observation[Literal["bridge", "nat"]] = Observation[Literal["bridge", "nat"]]()
    cpus: Observation[tuple[int, ...]] = Observation[tuple[int, ...]]()
    """CPUs it polls on."""
    capacity_bps: Observation[float] = Observation[float]()
    used_bps: Observation[float] = Observation[float]()
    virtual_interface_count: Observation[int] = Observation[int]()
    ports: Observation[tuple[str, ...]] = Observation[tuple[str, ...]]()
    """Names of its physical interfaces."""


class HostCapabilities(Value):
    """The half that hosts of a type have in common."""

    captured_at: str
    sha256: str = ""
    """Hash of the values, without sources and times; equal for equal hosts."""
    processor: Processor
    memory: MemoryCapabilities = MemoryCapabilities()
    hypervisor: Hypervisor
    vswitches: tuple[VSwitch, ...] = ()
    settings: dict[str, Observation[str]] = Field(default_factory=dict)
    """System settings, by name: kernel command line, mitigations, isolated CPUs ... RFC 8204 section 3.3."""


class CpuState(Value):
    """One CPU (hardware thread) and its owners. Clause 8.1.1.4."""

    eligible: Observation[bool] = Observation[bool]()
    """Whether VMs may use it."""
    in_use: Observation[bool] = Observation[bool]()
    use: Observation[Use] = Observation[Use]()
    owners: tuple[str, ...] = ()
    oversubscription_ratio: Observation[float] = Observation[float]()
    """Virtual CPUs on each CPU of the pool, as configured."""
    usage_ratio: Observation[float] = Observation[float]()
    """Measured share of busy time."""


class NodeCpus(Value):
    """CPUs of a NUMA node."""

    ids: tuple[int, ...]
    sibling_sets: tuple[tuple[int, ...], ...]
    """Threads of one core together: pairs, sets of four, or each alone. They partition `ids`."""
    cpu: dict[int, CpuState]
    clusters: Observation[tuple[tuple[int, ...], ...]] = Observation[tuple[tuple[int, ...], ...]]()
    """Sets of CPUs that share a last-level cache: several sets if a processor has several such caches."""


class LargePages(Value):
    """Large pages of one size on a node."""

    size_bytes: int = Field(gt=0)
    total_count: Observation[int]
    used_count: Observation[int]
    surplus_count: Observation[int] = Observation[int]()
    reserved_count: Observation[int] = Observation[int]()


class NormalMemory(Value):
    """Memory of a node that is not in large pages."""

    total_bytes: Observation[int]
    free_bytes: Observation[int] = Observation[int]()
    usage_ratio: Observation[float] = Observation[float]()
    oversubscribable: Observation[bool] = Observation[bool]()


class Bandwidth(Value):
    """Bandwidth of memory or of a link between nodes; optional in ETSI."""

    total_bytes_per_s: Observation[float] = Observation[float]()
    used_bytes_per_s: Observation[float] = Observation[float]()


class NodeMemory(Value):
    """Memory of a NUMA node."""

    total_bytes: Observation[int]
    large_pages: tuple[LargePages, ...] = ()
    normal: NormalMemory
    bandwidth: Bandwidth = Bandwidth()


class Vf(Value):
    """An SR-IOV virtual function."""

    pci_id: str
    in_use: Observation[bool] = Observation[bool]()
    owner: str = ""
    pacing_bps: Observation[float] = Observation[float]()
    """Rate limit; 0: none."""


class Sriov(Value):
    """SR-IOV of a port."""

    total_count: Observation[int]
    configured_count: Observation[int]
    vfs: tuple[Vf, ...] = ()
    eswitch: Observation[Literal["legacy", "switchdev"]] = Observation[Literal["legacy", "switchdev"]]()
    """Switching between its functions: by address, or as configured by a virtual switch."""


class Port(Value):
    """A port of a network card."""

    pci_id: str
    netdev: str = ""
    """Interface in the kernel; empty if there is none."""
    speed_bps: Observation[int] = Observation[int]()
    """Highest supported speed."""
    link_speed_bps: Observation[int] = Observation[int]()
    link: Observation[bool] = Observation[bool]()
    eligible: Observation[bool] = Observation[bool]()
    in_use: Observation[bool] = Observation[bool]()
    use: Observation[Use] = Observation[Use]()
    owners: tuple[str, ...] = ()
    sriov: Sriov | None = None
    """None: no such capability."""
    vswitch: str = ""
    """Name of its virtual switch."""


class Nic(Value):
    """A network card."""

    id: str
    """PCI address without the function."""
    node: Observation[int]
    vendor: Observation[str] = Observation[str]()
    model: Observation[str] = Observation[str]()
    driver: Observation[str] = Observation[str]()
    firmware: Observation[str] = Observation[str]()
    pci_generation: Observation[int] = Observation[int]()
    """Generation of the link at present."""
    pci_generation_max: Observation[int] = Observation[int]()
    lane_count: Observation[int] = Observation[int]()
    lane_count_max: Observation[int] = Observation[int]()
    pci_limit_bps: Observation[float] = Observation[float]()
    """Capacity of its slot, without encoding and protocol overhead."""
    ports: tuple[Port, ...] = ()


class Accelerator(Value):
    """A compute device, e.g. for cryptography."""

    pci_id: str
    kind: Literal["crypto", "other"]
    node: Observation[int]
    vendor: Observation[str] = Observation[str]()
    model: Observation[str] = Observation[str]()
    in_use: Observation[bool] = Observation[bool]()
    vf_count: Observation[int] = Observation[int]()


class NumaNode(Value):
    """A processor with its memory and devices; with sub-NUMA clustering, a part of one."""

    id: int = Field(ge=0)
    socket: Observation[int]
    cpus: NodeCpus
    memory: NodeMemory
    nics: tuple[Nic, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()


class NodeLink(Value):
    """A link between two nodes."""

    a: int
    b: int
    distance: Observation[int] = Observation[int]()
    """As the firmware reports; 10 is local."""
    bandwidth: Bandwidth = Bandwidth()


class HostResources(Value):
    """The half that changes with every VM. Clause 8.1.1.4."""

    captured_at: str
    sha256: str = ""
    numa_nodes: tuple[NumaNode, ...]
    links: tuple[NodeLink, ...] = ()
    offline_cpus: Observation[tuple[int, ...]] = Observation[tuple[int, ...]]()
    """CPUs that are present but offline; on no node."""
    unplaced_nics: tuple[Nic, ...] = ()
    """Network cards whose node is unknown."""
    unplaced_accelerators: tuple[Accelerator, ...] = ()


class HostDescriptor(Value):
    """A CHD. Source: ETSI GS NFV-PER 001 clause 8.1, Annex A."""

    chd_version: Literal["1"] = "1"
    captured_at: str
    """UTC, ISO 8601."""
    nodrop_version: str = ""
    host: HostIdentity
    capabilities: HostCapabilities
    resources: HostResources
    warnings: tuple[str, ...] = ()
    """Contradictions: between files of the kernel, or between the kernel and hwloc."""
