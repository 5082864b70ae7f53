"""Where a VM goes: the exact resources on a host, or every reason why not. ETSI GS NFV-PER 001 clauses 4 and 8."""

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
"""What a host has to offer."""


class Violation(Value):
    """A requirement that a host does not meet."""

    constraint: Constraint
    asked: str
    found: str
    where: str = ""
    """As `set 0, node 1`; empty: the whole host."""


class PlacedInterface(Value):
    """Where an interface of the VM ends."""

    index: int
    """Within its set."""
    mode: InterfaceMode
    pci_id: str
    """Of the port, or of the VF."""
    port_pci_id: str
    netdev: str = ""
    vswitch: str = ""
    vswitch_kind: str = ""
    speed_bps: float
    bandwidth_bps: float | None = None


class PlacedSet(Value):
    """Where a vCPU set goes. A set of an unrestricted VM may be in several pieces, one for each node, of one index."""

    index: int
    node: int
    cpus: dict[int, int]
    """By vCPU, the host's CPU."""
    large_page_bytes: int | None = None
    large_page_count: int = 0
    normal_bytes: int = 0
    bandwidth_bytes_per_s: float = 0.0
    """Of memory, as asked; 0: nothing was."""
    interfaces: tuple[PlacedInterface, ...] = ()
    devices: tuple[str, ...] = ()
    """PCI addresses of others."""


class PlacedLink(Value):
    """What a VM asks of the way between two nodes."""

    a: int
    b: int
    bytes_per_s: float


class Guarantee(Value):
    """What of the promised performance can be expected on this host."""

    ratio: float
    """Of the KPIs; 1: all."""
    label: str
    """`as declared`, or `extrapolated (worst-case)` and how."""


class Placement(Value):
    """A VM on a host, to the last resource."""

    vm: str
    host_id: str
    hostname: str
    profile: int
    """Which of the VMD's."""
    scaled: Profile | None = None
    """That profile with more vCPUs, where these make up for slower ones; it is what the sets are of."""
    sets: tuple[PlacedSet, ...]
    links: tuple[PlacedLink, ...] = ()
    """Between nodes; sets on one node need none."""
    emulator_cpus: tuple[int, ...] = ()
    """For the threads of the hypervisor; on none of the vCPUs'."""
    substitutions: tuple[str, ...] = ()
    """Where the host gives something else that will do, as sentences."""
    warnings: tuple[str, ...] = ()
    """What could not be checked, as sentences."""
    guarantee: Guarantee
    reasons: tuple[str, ...] = ()
    """Why this host, and these resources."""
    slack: dict[str, float] = Field(default_factory=dict)
    """What is left on the host afterwards, by name with unit."""


class Rejection(Value):
    """A host that will not do."""

    host_id: str
    hostname: str
    violations: tuple[Violation, ...]
    """All of them, the first that decides first."""


class PlacementResult(Value):
    """What became of one VM."""

    vm: str
    policy: Policy
    placement: Placement | None
    alternatives: tuple[str, ...] = ()
    """Ids of other hosts that would do, the best first."""
    rejections: tuple[Rejection, ...] = ()
    """Hosts that will not do, by their ids."""


class PlacementBatch(Value):
    """What became of several VMs, placed one after the other."""

    results: tuple[PlacementResult, ...]
    """In the order they were asked for; each saw what those before it left."""
