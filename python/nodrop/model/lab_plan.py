"""The lab of a plan: namespaces, links, forwarders and routers between the tester's ports."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.bras import BrasTables
from nodrop.model.choices import AntagonistKind, ColorMode, InstanceSelection, Networks, PageKind, SutKind, VnfBackend
from nodrop.model.cloud import LoopbackForwarder
from nodrop.units import format_bps, format_bytes, format_count, format_pps


class Route(Value):
    """Destinations and their next hop."""

    prefix: str
    via: str


class ForwarderPort(Value):
    """One port of a forwarder in the SUT's namespace, with the networks behind it for routers."""

    interface: str
    mac: str
    """MAC address of a router's port; a VNF may write it as the source of frames that leave there."""
    peer_mac: str
    """MAC address at the other end of the link: destination of frames that leave there. A router resolves it."""
    addresses: tuple[str, ...] = ()
    """IP addresses of a router's port."""
    routes: tuple[Route, ...] = ()
    """Routes of a router through this port."""


class Forwarder(Value):
    """One forwarder between two ports, the smallest unit of a SUT."""

    chain: int = Field(default=0, ge=0)
    """Service chain it belongs to."""
    ports: tuple[ForwarderPort, ForwarderPort]
    """Towards the left of its chain, and towards its right."""
    core: int | None = None
    """CPU of its process; None: chosen by the kernel."""
    yields: bool = False
    """Whether its process sleeps as soon as it is idle, because other processes share its CPU."""
    idle_interfaces: tuple[str, ...] = ()
    """Further interfaces without traffic."""


class AccessPort(Value):
    """A port of an edge switch, towards one chain."""

    interface: str
    chain: int = Field(ge=0)
    vlan: int | None = None
    """VLAN of the chain's frames on the trunk; on the chain's link they have no tag. None: no tag on either."""
    mac: str | None = None
    """The chain's MAC address, if chains are distinguished by it."""


class EdgeSwitch(Value):
    """A switch in the SUT's namespace that connects a tester port, through a trunk, to one side of every chain."""

    trunk: str
    ports: tuple[AccessPort, ...]
    """One for each chain, in order."""
    core: int | None = None
    yields: bool = False


class ScaleOut(Value):
    """Rule by which a pool starts its spares during a trial at a fixed rate."""

    loss_ratio: float = Field(gt=0, le=1)
    """Share of the frames of a whole second that the running instances dropped for lack of capacity."""
    delay_s: float = Field(ge=0)
    """Time from that second's end until the instance takes flows."""
    scale_in_pps: float | None = Field(default=None, gt=0)
    """Load, both ways together, below which a whole second ends the service of the last instance; None: none ends."""


class Balancer(Value):
    """A load balancer in the SUT's namespace between both tester ports and the instances of a pool."""

    trunks: tuple[str, str]
    """Interfaces towards the tester, left and right."""
    ports: tuple[tuple[str, str], ...]
    """Interfaces towards each instance, left and right; as many as forwarders."""
    running_count: int = Field(ge=1)
    """Instances that run from the beginning; an event can start the others."""
    probe_interval_ms: int = Field(ge=1)
    probe_misses: int = Field(ge=1)
    """Probes in a row without an answer after which an instance is down."""
    selection: InstanceSelection = "hash"
    move_delay_ms: int = 0
    """Time from a change of the instances in service until the first flow moves."""
    move_interval_ms: int = 0
    """Time between two flows that move."""
    scale_out: ScaleOut | None = None
    """None: only events change the instances."""
    core: int | None = None
    yields: bool = False


class PathRouter(Value):
    """A router of the Linux kernel at one end of every chain, in its own namespace."""

    namespace: str
    """`left` or `right`."""
    ports: tuple[tuple[ForwarderPort, ForwarderPort], ...]
    """For each chain: towards the tester, and towards the chain."""


class Antagonist(Value):
    """A noisy neighbor: a program that only loads resources it shares with the SUT, on one CPU."""

    kind: AntagonistKind
    core: int = Field(ge=0)


class LinkEnd(Value):
    """An end of a link."""

    namespace: str
    """`tester`, `sut`, or the namespace of a path router."""
    interface: str


class Link(Value):
    """A veth pair."""

    near: LinkEnd
    far: LinkEnd


class CloudShape(Value):
    """The parts of a path that are in a cloud."""

    forwarder: LoopbackForwarder
    """Forwarder in its VMs."""
    hop_count: int = Field(default=1, ge=1)
    """VMs in series in each chain."""
    has_routers: bool = False
    """Whether cloud routers are between tester and chains."""

    @property
    def routes(self) -> bool:
        """Whether its VMs have addresses, and resolve others'."""
        return self.forwarder in ("vnf-l3", "vpp")


class Policer(Value):
    """The policer of a port: a bandwidth profile after MEF 10. Rates count from destination MAC address to FCS."""

    cir_bps: int = Field(ge=0)
    """Committed information rate."""
    cbs_bytes: int = Field(ge=0)
    """Committed burst size."""
    eir_bps: int = Field(default=0, ge=0)
    """Excess information rate."""
    ebs_bytes: int = Field(default=0, ge=0)
    """Excess burst size."""
    is_coupled: bool = False
    """Whether committed tokens beyond the committed burst size become excess tokens."""
    color_mode: ColorMode = "blind"
    marks_frames: bool = False
    """Whether it writes the color of each frame into its header."""

    @property
    def frame_bytes_max(self) -> int:
        """Largest frame for which each bucket in use can hold enough tokens."""
        return min(size for size in (self.cbs_bytes, self.ebs_bytes) if size)


class LabPlan(Value):
    """The private lab: tester ports and SUT in separate namespaces, connected by veth pairs.

    A chain of one or more forwarders connects a tester port on its left to one on its right: ports 0 and 1 if all
    chains share them, else ports 2 and 3 for the second chain, and so on.
    """

    sut: SutKind
    networks: Networks = "ports"
    chain_count: int = Field(default=1, ge=1)
    """Parallel service chains."""
    vlans: tuple[tuple[int, int], ...] = ()
    """VLAN of each chain on the left and on the right, if chains are distinguished by VLAN."""
    tester_interfaces: tuple[str, ...] = ("tester0", "tester1")
    """Tester ports, in the order of the streams' port indices."""
    tester_macs: tuple[str, ...] = ()
    """MAC addresses of these interfaces if the tester uses them; empty: the tester's own choice."""
    sut_interfaces: tuple[str, ...] = ("sut0", "sut1")
    """The other ends of the same links, in the same order; in the SUT's namespace, or a path router's."""
    links: tuple[Link, ...] = ()
    """All links except those of the tester's ports."""
    balancer: Balancer | None = None
    """Balancer between the tester's ports and the forwarders, which are parallel then; None: no pool."""
    edges: tuple[EdgeSwitch, ...] = ()
    """Edge switches of the left and of the right side, if chains share tester ports."""
    routers: tuple[PathRouter, ...] = ()
    """Routers in the path, left and right."""
    forwarders: tuple[Forwarder, ...]
    """Chain by chain, each from left to right; empty for a wire or an external SUT."""
    mtu_bytes: int = Field(default=1500, ge=68)
    sut_backend: VnfBackend = "af_packet"
    """Packet I/O of a loopback VNF."""
    sut_queue_slots: int = Field(ge=64)
    """Frames that a loopback VNF can queue for each of its ports, and an edge switch for each of its access ports."""
    sut_capacity_pps: float | None = Field(default=None, gt=0)
    """Limit of the frames per second that a loopback VNF forwards; None: no limit."""
    sut_buffer_count: int | None = Field(default=None, ge=1)
    """Frames that the ideal queue of such a VNF holds; None: it waits between frames instead."""
    sut_policer: Policer | None = None
    """Policer at each port of a loopback VNF; None: it forwards all frames."""
    trunk_queue_slots: int = Field(default=4096, ge=64)
    """Frames that an edge switch can queue for its trunk."""
    sut_table_bytes: int | None = Field(default=None, ge=64)
    """Memory of a loopback VNF's flow table, of which every frame accesses a line; None: no table."""
    sut_pages: PageKind = "usual"
    """Pages of that table, and of a VNF's frames with AF_XDP."""
    sut_memory_node: int | None = Field(default=None, ge=0)
    """NUMA node of a loopback VNF's memory; None: the kernel's choice."""
    sut_softirq_core: int | None = Field(default=None, ge=0)
    """CPU on which the kernel receives the SUT's frames; None: the sender's CPU."""
    antagonists: tuple[Antagonist, ...] = ()
    """Noisy neighbors that run as long as the lab is up."""
    takes_addressed_ports: bool = False
    """Whether a tester port to an external SUT may have IP addresses."""
    sut_pids: tuple[int, ...] = ()
    """Processes of an external SUT on this machine."""
    sut_cgroups: tuple[str, ...] = ()
    """Control groups of such processes."""
    sut_takes_xdp: bool = False
    """Whether the SUT's ends of the links accept frames without socket buffers."""
    tester_is_here: bool = True
    """Whether the tester's ports are local interfaces; else they are a TRex server's."""
    cloud: CloudShape | None = None
    """The parts in a cloud; None: none or unknown."""
    bras: BrasTables | None = None
    """Tables of nodrop's BRAS; None: another SUT."""

    @property
    def sut_cores(self) -> tuple[int, ...]:
        """CPUs that its forwarders are pinned to, in order."""
        return tuple(sorted({each.core for each in self.forwarders if each.core is not None}))

    @property
    def cores(self) -> tuple[int | None, ...]:
        """CPU of each of its processes and of its softirqs, in order; None for a process that may use any."""
        forwarders, edges = (each.core for each in self.forwarders), (each.core for each in self.edges)
        softirq = () if self.sut_softirq_core is None else (self.sut_softirq_core,)
        balancer = (self.balancer.core,) if self.balancer else ()
        return (*forwarders, *balancer, *edges, *(each.core for each in self.antagonists), *softirq)

    @property
    def hop_count(self) -> int:
        """Forwarders in series in each chain."""
        if self.cloud:
            return self.cloud.hop_count
        if self.balancer:
            return 1
        return len(self.forwarders) // self.chain_count

    def port(self, chain: int, side: int) -> int:
        """Return the index of the tester's port at the left (0) or right (1) end of a chain."""
        return side if self.networks != "ports" else 2 * chain + side

    def entrance_namespace(self, port: int) -> str:
        """Return the namespace of the other end of a tester port's link."""
        return self.routers[port % 2].namespace if self.routers and not self.edges else "sut"

    def interfaces(self, namespace: str) -> tuple[str, ...]:
        """Return all interfaces in a namespace other than the tester's."""
        ends = (end for link in self.links for end in (link.near, link.far))
        entrances = (
            name for port, name in enumerate(self.sut_interfaces) if self.entrance_namespace(port) == namespace
        )
        return (*entrances, *(end.interface for end in ends if end.namespace == namespace))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Network namespaces other than the tester's; empty for a wire or an external SUT."""
        return ("sut", *(router.namespace for router in self.routers)) if self.sut_interfaces else ()

    def of_chain(self, chain: int) -> tuple[Forwarder, ...]:
        """Return a chain's forwarders, from left to right; those of a pool are parallel."""
        if self.balancer:
            return self.forwarders
        return self.forwarders[chain * self.hop_count : (chain + 1) * self.hop_count]

    @property
    def scales_out(self) -> bool:
        """Whether it is a pool that starts instances by itself."""
        return self.balancer is not None and self.balancer.scale_out is not None

    @property
    def sut_text(self) -> str:
        """The system between the tester's ports, in short."""
        chains = f", {self.chain_count} chains" if self.chain_count > 1 else ""
        via = " over af_xdp" if self.sut_backend == "af_xdp" else ""
        line = f" x {self.hop_count} in line" if self.hop_count > 1 else ""
        routers = " between routers" if self.routers or (self.cloud and self.cloud.has_routers) else ""
        kind = f"{self.sut} {self.cloud.forwarder}" if self.cloud else self.sut
        shared = {"ports": "", "vlan": " in VLANs" if self.vlans else "", "shared": " on shared networks"}[
            self.networks
        ]
        instances = f" of {format_count(self.balancer.running_count, 'instance')}" if self.balancer else ""
        subscribers = f" with {format_count(self.bras.subscriber_count, 'subscriber')}" if self.bras else ""
        table = f" with a table of {format_bytes(self.sut_table_bytes)}" if self.sut_table_bytes else ""
        capacity = f" held to {format_pps(self.sut_capacity_pps)}" if self.sut_capacity_pps else ""
        capacity += f" with a buffer of {format_count(self.sut_buffer_count, 'frame')}" if self.sut_buffer_count else ""
        policer = f" policed to {_format_rates(self.sut_policer)}" if self.sut_policer else ""
        return f"{kind}{instances}{subscribers}{via}{table}{policer}{capacity}{line}{routers}{chains}{shared}"


def _format_rates(policer: Policer) -> str:
    rates = (policer.cir_bps, "committed"), (policer.eir_bps, "excess")
    return " and ".join(f"{format_bps(rate_bps)} {kind}" for rate_bps, kind in rates if rate_bps)
