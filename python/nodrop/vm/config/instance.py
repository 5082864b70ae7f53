"""A VM instance: its descriptor, placement and host, checked for consistency."""

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor, Port
from nodrop.model.placement import PlacedInterface, PlacedSet, Placement
from nodrop.model.vmd import Profile, VcpuSet, VmDescriptor
from nodrop.vm.place.inventory import identify_host

PCI_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.ASCII | re.IGNORECASE)
NAMESPACE = uuid.UUID("8d1ff1de-9a0b-5d0c-a1ac-5a0f7d2d3c11")
"""UUID namespace of nodrop."""
ARCHITECTURES = ("x86_64", "aarch64")
NAME_LENGTH = 40
"""Keeps derived names within 63 characters, the limit of Kubernetes."""


class PciAddress(NamedTuple):
    """A PCI address as hexadecimal digits."""

    domain: str
    bus: str
    slot: str
    function: str


class PlacedPiece(NamedTuple):
    """A vCPU set, or its part on one node if no topology restricts the VM."""

    number: int
    """From 0; without topology, sets may consist of several pieces."""
    requested: VcpuSet
    """The entire set."""
    placed: PlacedSet

    @property
    def vcpus(self) -> tuple[int, ...]:
        """vCPUs on this node."""
        return tuple(sorted(self.placed.cpus))

    @property
    def pairs(self) -> tuple[tuple[int, ...], ...]:
        """Requested pairs on this node."""
        return tuple(each for each in self.requested.pairs if set(each) <= set(self.placed.cpus))


class PlacedLine(NamedTuple):
    """An interface and its piece."""

    piece: PlacedPiece
    placed: PlacedInterface


class PortVf(NamedTuple):
    """A virtual function by port and number, as in `ip link`."""

    port: Port
    number: int


class Instance(Value):
    """One VM on one host; created by `build_instance`, which checks its parts for consistency."""

    vmd: VmDescriptor
    placement: Placement
    host: HostDescriptor

    @cached_property
    def profile(self) -> Profile:
        """The requirement profile that the placement meets."""
        return self.placement.scaled or self.vmd.profiles[self.placement.profile]

    @cached_property
    def name(self) -> str:
        """The VM's name in characters valid in every format: lower case, digits, dashes."""
        words = re.sub(r"[^a-z0-9]+", "-", self.placement.vm.lower()).strip("-")
        if words and len(words) <= NAME_LENGTH:
            return words
        short = hashlib.sha256(self.placement.vm.encode()).hexdigest()[:8]
        return f"{words[: NAME_LENGTH - 9].strip('-') or 'vm'}-{short}"

    @property
    def uuid(self) -> str:
        """Stable for the same VM on the same host."""
        return str(uuid.uuid5(NAMESPACE, f"{self.placement.vm}@{self.placement.host_id}"))

    @cached_property
    def pieces(self) -> tuple[PlacedPiece, ...]:
        """The vCPU sets in the VMD's order, each with its local resources."""
        placed = sorted(self.placement.sets, key=lambda each: (each.index, each.node))
        requested = self.profile.vcpu_sets
        return tuple(PlacedPiece(number, requested[each.index], each) for number, each in enumerate(placed))

    @property
    def lines(self) -> tuple[PlacedLine, ...]:
        """All interfaces, in the guest's order."""
        return tuple(PlacedLine(piece, each) for piece in self.pieces for each in piece.placed.interfaces)

    @cached_property
    def cpu_of(self) -> dict[int, int]:
        """Host CPU by vCPU."""
        return dict(sorted((vcpu, cpu) for each in self.placement.sets for vcpu, cpu in each.cpus.items()))

    @cached_property
    def siblings(self) -> dict[int, frozenset[int]]:
        """Threads of the core, by host CPU."""
        return {
            cpu: frozenset(threads)
            for node in self.host.resources.numa_nodes
            for threads in node.cpus.sibling_sets
            for cpu in threads
        }

    @property
    def nodes(self) -> tuple[int, ...]:
        """NUMA nodes of the host that the VM uses."""
        return tuple(sorted({each.node for each in self.placement.sets}))

    @property
    def has_device(self) -> bool:
        """Whether the VM has a passthrough device or function."""
        return any(
            each.devices or any(line.mode != "vswitch" for line in each.interfaces) for each in self.placement.sets
        )

    def compute_mac(self, vcpu_set: int, interface: int) -> str:
        """Return a locally administered address, stable for the same interface of the same VM on the same host."""
        words = f"{self.placement.vm}@{self.placement.host_id}#{vcpu_set}.{interface}"
        return ":".join(f"{each:02x}" for each in b"\x02" + hashlib.sha256(words.encode()).digest()[:5])

    def find_port(self, pci_id: str) -> Port | None:
        """Return a port of the host."""
        return next((each for each in self._ports if each.pci_id == pci_id), None)

    def find_vf(self, line: PlacedInterface) -> PortVf | None:
        """Return the virtual function behind an interface, if the host's descriptor contains it."""
        port = self.find_port(line.port_pci_id)
        if port is None or port.sriov is None:
            return None
        number = next((n for n, each in enumerate(port.sriov.vfs) if each.pci_id == line.pci_id), None)
        return None if number is None else PortVf(port, number)

    @cached_property
    def _ports(self) -> tuple[Port, ...]:
        nics = [nic for node in self.host.resources.numa_nodes for nic in node.nics]
        return tuple(port for nic in (*nics, *self.host.resources.unplaced_nics) for port in nic.ports)


def build_instance(vmd: VmDescriptor, placement: Placement, host: HostDescriptor) -> Instance:
    """Combine VMD, placement and host.

    Raises:
        ConfigError: The placement belongs to another VM or host, or lacks required resources.
    """
    whole = Instance(vmd=vmd, placement=placement, host=host)
    has_profile = 0 <= placement.profile < len(vmd.profiles)
    faults = [*_list_host_faults(whole), *(_list_sets_faults(whole) if has_profile else ())]
    if not has_profile:
        faults.append(f"it is for profile {placement.profile}, the VM has {len(vmd.profiles)} (counted from 0)")
    if faults:
        raise ConfigError(
            f"placement of {placement.vm!r}: {'; '.join(faults)}; place the VM again with `nodrop vm place`"
        )
    return whole


def find_architecture(whole: Instance) -> str:
    """Return the architecture of the host, or the one the VM requires. Raises ConfigError if unsupported."""
    architecture = (
        whole.host.capabilities.processor.architecture.value or whole.profile.processor.architecture or "x86_64"
    )
    if architecture not in ARCHITECTURES:
        raise ConfigError(
            f"host {identify_host(whole.host)}: unsupported architecture {architecture!r}; "
            f"supported: {', '.join(ARCHITECTURES)}"
        )
    return architecture


def parse_pci_address(address: str) -> PciAddress:
    """Parse a PCI address. Raises ConfigError."""
    match = PCI_ADDRESS.fullmatch(address)
    if not match:
        raise ConfigError(f"invalid PCI address {address!r}; expected e.g. 0000:3b:00.1")
    return PciAddress(*(each.lower() for each in match.groups()))


def _list_host_faults(whole: Instance) -> Iterator[str]:
    placement = whole.placement
    if any("\ud800" <= char <= "\udfff" for char in placement.vm + placement.host_id + placement.hostname):
        yield "contains a name with invalid Unicode"
    if placement.host_id != identify_host(whole.host):
        yield f"it is for host {placement.host_id!r}, not {identify_host(whole.host)!r}"
    host_cpus = {cpu for node in whole.host.resources.numa_nodes for cpu in node.cpus.ids}
    absent = sorted(set(whole.cpu_of.values()) - host_cpus)
    if absent:
        yield f"the host has no CPU {', '.join(map(str, absent))}"
    pinned = [cpu for each in placement.sets for cpu in each.cpus.values()]
    shared = sorted({cpu for cpu in pinned if pinned.count(cpu) > 1})
    if shared and not any(each.cpu_oversubscription_allowed for each in whole.vmd.profiles):
        yield f"several vCPUs are on CPU {_join(shared)}"


def _list_sets_faults(whole: Instance) -> list[str]:
    requested, placed = whole.profile.vcpu_sets, whole.placement.sets
    if {each.index for each in placed} != set(range(len(requested))):
        return [
            f"it has vCPU sets {_join(sorted({each.index for each in placed}))}, the VM has 0 to {len(requested) - 1}"
        ]
    vcpus = [vcpu for each in requested for vcpu in each.vcpus]
    if sorted(vcpus) != list(range(len(vcpus))):
        return [f"vCPUs {_join(sorted(vcpus))}: expected 0 to {len(vcpus) - 1}, each once"]
    return [
        fault
        for index, each in enumerate(requested)
        for fault in _set_faults(each, [piece for piece in placed if piece.index == index])
    ]


def _set_faults(requested: VcpuSet, pieces: Sequence[PlacedSet]) -> list[str]:
    label, faults = f"vCPU set {pieces[0].index}", []
    vcpus = sorted(vcpu for each in pieces for vcpu in each.cpus)
    lines = sum(len(each.interfaces) for each in pieces)
    size = sum(each.memory_bytes for each in pieces)
    if vcpus != sorted(requested.vcpus):
        faults.append(f"{label} has vCPUs {_join(vcpus)}, required are {_join(sorted(requested.vcpus))}")
    if lines != len(requested.interfaces):
        faults.append(f"{label} has {lines} interfaces, required are {len(requested.interfaces)}")
    if any(
        each.normal_bytes < 0 or each.large_page_count < 0 or (each.large_page_bytes or 0) % 1024 for each in pieces
    ):
        faults.append(f"{label} has invalid memory sizes")
    if size < requested.memory.total_bytes:
        faults.append(f"{label} has {size} bytes of memory, required are {requested.memory.total_bytes}")
    return faults


def _join(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
