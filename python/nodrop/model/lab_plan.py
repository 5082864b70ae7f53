"""The lab of a plan: namespaces, links, forwarders and routers between the tester's ports."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import AntagonistKind, Networks, PageKind, SutKind, VnfBackend
from nodrop.model.cloud import LoopbackForwarder
from nodrop.units import format_bytes, format_pps


class Route(Value):
    """Destinations and the neighbour that leads to them."""

    prefix: str
    via: str


class ForwarderPort(Value):
    """One side of a forwarder, in the SUT's namespace; and what is behind it, for those that have to know."""

    interface: str
    mac: str
    """The station a router is there, and what a VNF may write as source on frames that leave there."""
    peer_mac: str
    """The station at the other end of the link: destination of frames that leave there. A router asks for it."""
    addresses: tuple[str, ...] = ()
    """IP addresses of a router there."""
    routes: tuple[Route, ...] = ()
    """What a router reaches through this port."""


class Forwarder(Value):
    """One forwarder between two ports, the smallest thing a SUT is made of."""

    chain: int = Field(default=0, ge=0)
    """Service chain it belongs to."""
    ports: tuple[ForwarderPort, ForwarderPort]
    """Towards the left of its chain, and towards its right."""
    core: int | None = None
    """CPU its process is bound to; None leaves it to the kernel."""
    yields: bool = False
    """Whether its process sleeps as soon as it has nothing to do, for others want its CPU."""
    idle_interfaces: tuple[str, ...] = ()
    """Further interfaces it has, on which nothing ever happens."""


class AccessPort(Value):
    """A port of an edge switch, towards one chain."""

    interface: str
    chain: int = Field(ge=0)
    vlan: int | None = None
    """VLAN of the chain's frames on the trunk; on its own link they have no such tag. None: none there either."""
    mac: str | None = None
    """The chain's station, where that tells its frames from those of others."""


class EdgeSwitch(Value):
    """What joins a tester port, by a trunk, to one side of every chain, in the SUT's namespace."""

    trunk: str
    ports: tuple[AccessPort, ...]
    """One for each chain, in order."""
    core: int | None = None
    yields: bool = False


class PathRouter(Value):
    """A router of the Linux kernel at one end of every chain, in a namespace of its own."""

    namespace: str
    """`left` or `right`."""
    ports: tuple[tuple[ForwarderPort, ForwarderPort], ...]
    """Of each chain: towards the tester, and towards the chain."""


class Antagonist(Value):
    """A noisy neighbour: a program that only loads what it shares with the SUT, on one CPU."""

    kind: AntagonistKind
    core: int = Field(ge=0)


class LinkEnd(Value):
    """An end of a link."""

    namespace: str
    """`tester`, `sut`, or that of a router in the path."""
    interface: str


class Link(Value):
    """A veth pair."""

    near: LinkEnd
    far: LinkEnd


class CloudShape(Value):
    """What of a path stands in a cloud."""

    forwarder: LoopbackForwarder
    """What forwards in its VMs."""
    hop_count: int = Field(default=1, ge=1)
    """VMs in line in each chain."""
    has_routers: bool = False
    """Whether routers of the cloud stand between tester and chains."""

    @property
    def routes(self) -> bool:
        """Whether its VMs have addresses, and ask for those of others."""
        return self.forwarder in ("vnf-l3", "vpp")


class LabPlan(Value):
    """The private lab: tester ports and SUT in namespaces of their own, joined by veth pairs.

    A chain of one forwarder or more joins a tester port on its left to one on its right: ports 0 and 1 where all chains
    share them, else ports 2 and 3 for the second chain, and so on.
    """

    sut: SutKind
    networks: Networks = "ports"
    chain_count: int = Field(default=1, ge=1)
    """Parallel service chains."""
    vlans: tuple[tuple[int, int], ...] = ()
    """VLAN of each chain on the left and on the right, where chains are told apart by VLAN."""
    tester_interfaces: tuple[str, ...] = ("tester0", "tester1")
    """Tester ports, in the order of the streams' port indices."""
    tester_macs: tuple[str, ...] = ()
    """MAC addresses of these, where the tester uses the interfaces' own; none: those of its own choice."""
    sut_interfaces: tuple[str, ...] = ("sut0", "sut1")
    """The other ends of the same links, in the same order; in the SUT's namespace, or a router's in the path."""
    links: tuple[Link, ...] = ()
    """All links but those of the tester's ports."""
    edges: tuple[EdgeSwitch, ...] = ()
    """Edge switches of the left and of the right side, where chains share tester ports."""
    routers: tuple[PathRouter, ...] = ()
    """Routers in the path, left and right."""
    forwarders: tuple[Forwarder, ...]
    """Chain by chain, each from left to right; none on a wire, or where the SUT is there already."""
    mtu_bytes: int = Field(default=1500, ge=68)
    sut_backend: VnfBackend = "af_packet"
    """How a loopback VNF reaches its ports."""
    sut_queue_slots: int = Field(ge=64)
    """Frames a loopback VNF can hold for each of its ports, and an edge switch for each of its access ports."""
    sut_capacity_pps: float | None = Field(default=None, gt=0)
    """Frames that a loopback VNF forwards at most, where it is held to so many; None: as many as it can."""
    trunk_queue_slots: int = Field(default=4096, ge=64)
    """Frames an edge switch can hold for its trunk."""
    sut_table_bytes: int | None = Field(default=None, ge=64)
    """Memory of a loopback VNF's table of flows, of which every frame touches a line; None: it has none."""
    sut_pages: PageKind = "usual"
    """In which pages that table is, and a VNF's frames where it reaches its ports by AF_XDP."""
    sut_memory_node: int | None = Field(default=None, ge=0)
    """NUMA node that a loopback VNF's memory comes from; None leaves it to the kernel."""
    sut_softirq_core: int | None = Field(default=None, ge=0)
    """CPU on which the kernel receives what the SUT gets; None: that of the sender."""
    antagonists: tuple[Antagonist, ...] = ()
    """Noisy neighbours that run as long as the lab stands."""
    takes_addressed_ports: bool = False
    """Whether a tester port may be an interface with an IP address, where the SUT is there already."""
    sut_takes_xdp: bool = False
    """Whether the SUT's ends of the links take frames of which no socket buffer was ever made."""
    tester_is_here: bool = True
    """Whether the tester's ports are interfaces of this machine; else they are a TRex server's."""
    cloud: CloudShape | None = None
    """What of it stands in a cloud; None: nothing, or nobody knows."""

    @property
    def hop_count(self) -> int:
        """Forwarders in line in each chain."""
        if self.cloud:
            return self.cloud.hop_count
        return len(self.forwarders) // self.chain_count

    def port(self, chain: int, side: int) -> int:
        """Index of the tester's port at the left (0) or right (1) end of a chain."""
        return side if self.networks != "ports" else 2 * chain + side

    def entrance_namespace(self, port: int) -> str:
        """Where the other end of a tester port's link is."""
        return self.routers[port % 2].namespace if self.routers and not self.edges else "sut"

    def interfaces(self, namespace: str) -> tuple[str, ...]:
        """Every interface in a namespace behind the tester's."""
        ends = (end for link in self.links for end in (link.near, link.far))
        entrances = (
            name for port, name in enumerate(self.sut_interfaces) if self.entrance_namespace(port) == namespace
        )
        return (*entrances, *(end.interface for end in ends if end.namespace == namespace))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Network namespaces behind the tester's; none on a wire, or where the SUT is there already."""
        return ("sut", *(router.namespace for router in self.routers)) if self.sut_interfaces else ()

    def of_chain(self, chain: int) -> tuple[Forwarder, ...]:
        """A chain's forwarders, from left to right."""
        return self.forwarders[chain * self.hop_count : (chain + 1) * self.hop_count]

    @property
    def sut_text(self) -> str:
        """What stands between the tester's ports, in short."""
        chains = f", {self.chain_count} chains" if self.chain_count > 1 else ""
        via = " over af_xdp" if self.sut_backend == "af_xdp" else ""
        line = f" x {self.hop_count} in line" if self.hop_count > 1 else ""
        routers = " between routers" if self.routers or (self.cloud and self.cloud.has_routers) else ""
        kind = f"{self.sut} {self.cloud.forwarder}" if self.cloud else self.sut
        shared = {"ports": "", "vlan": " in VLANs" if self.vlans else "", "shared": " on shared networks"}[
            self.networks
        ]
        table = f" with a table of {format_bytes(self.sut_table_bytes)}" if self.sut_table_bytes else ""
        held = f" held to {format_pps(self.sut_capacity_pps)}" if self.sut_capacity_pps else ""
        return f"{kind}{via}{table}{held}{line}{routers}{chains}{shared}"
