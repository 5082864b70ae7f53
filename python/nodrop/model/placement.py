"""The placement of a VM: exact resources on a host, or the reasons against each host. ETSI GS NFV-PER 001 clauses 4 and
8."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.vmd import InterfaceMode, Profile

Policy = Literal["best-fit", "spread", "minimal-substitutions"]
Constraint = Literal[
    "processor",
    "memory speed",
    "hypervisor",
    "node",
    "cpus",
    "thread pairs",
    "large pages",
    "memory",
    "memory bandwidth",
    "interfaces",
    "node links",
    "devices",
    "host reserve",
    "impact",
]
"""Kinds of requirements on a host."""


class Violation(Value):
    """A requirement that a host does not meet."""

    constraint: Constraint
    asked: str
    found: str
    where: str = ""
    """For example `set 0, node 1`; empty: the entire host."""


class PlacedInterface(Value):
    """The host's end of a VM interface."""

    index: int
    """Within its set."""
    mode: InterfaceMode
    pci_id: str
    """PCI address of the port, or of the VF."""
    port_pci_id: str
    netdev: str = ""
    vswitch: str = ""
    vswitch_kind: str = ""
    speed_bps: float
    bandwidth_bps: float | None = None


class PlacedSet(Value):
    """The resources of a vCPU set. A set of an unrestricted VM may be split into parts of the same index, one per
    node."""

    index: int
    node: int
    cpus: dict[int, int]
    """Host CPU by vCPU."""
    large_page_bytes: int | None = None
    large_page_count: int = 0
    normal_bytes: int = 0
    bandwidth_bytes_per_s: float = 0.0
    """Requested memory bandwidth; 0: none."""
    interfaces: tuple[PlacedInterface, ...] = ()
    devices: tuple[str, ...] = ()
    """PCI addresses of other devices."""

    @property
    def memory_bytes(self) -> int:
        """All memory of the set."""
        return self.normal_bytes + self.large_page_count * (self.large_page_bytes or 0)


class PlacedLink(Value):
    """Bandwidth that a VM requires between two nodes."""

    a: int
    b: int
    bytes_per_s: float


class Guarantee(Value):
    """The share of the declared performance to expect on this host."""

    ratio: float
    """Share of the KPIs; 1: all."""
    label: str
    """`as declared`, or `extrapolated (worst-case)` with the method."""


class Placement(Value):
    """The resources of a VM on a host."""

    vm: str
    host_id: str
    hostname: str
    profile: int
    """Index of the VMD's profile."""
    scaled: Profile | None = None
    """That profile with more vCPUs to compensate for slower CPUs; the sets are of this profile."""
    sets: tuple[PlacedSet, ...]
    links: tuple[PlacedLink, ...] = ()
    """Between nodes; sets on one node need none."""
    emulator_cpus: tuple[int, ...] = ()
    """CPUs of the hypervisor's threads; disjoint from the vCPUs'."""
    substitutions: tuple[str, ...] = ()
    """Equivalent resources used in place of requested ones, as sentences."""
    warnings: tuple[str, ...] = ()
    """Unchecked requirements, as sentences."""
    guarantee: Guarantee
    reasons: tuple[str, ...] = ()
    """Reasons for this host and these resources."""
    slack: dict[str, float] = Field(default_factory=dict)
    """Resources left on the host, by name with unit."""


class Rejection(Value):
    """A rejected host."""

    host_id: str
    hostname: str
    violations: tuple[Violation, ...]
    """All of them, the decisive one first."""


class PlacementResult(Value):
    """The result for one VM."""

    vm: str
    policy: Policy
    placement: Placement | None
    alternatives: tuple[str, ...] = ()
    """IDs of other suitable hosts, the best first."""
    rejections: tuple[Rejection, ...] = ()
    """Rejected hosts, ordered by ID."""


class PlacementBatch(Value):
    """The results for several VMs, placed one after another."""

    results: tuple[PlacementResult, ...]
    """In the requested order; each VM uses what the previous ones left."""
