"""What will be done: every `auto` resolved, nothing left to decide."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.calibration import Calibration
from nodrop.model.choices import AlgorithmName as AlgorithmName
from nodrop.model.choices import AntagonistKind as AntagonistKind
from nodrop.model.choices import Backend as Backend
from nodrop.model.choices import Networks as Networks
from nodrop.model.choices import PageKind as PageKind
from nodrop.model.choices import SutKind as SutKind
from nodrop.model.choices import VnfBackend as VnfBackend
from nodrop.model.cloud import CloudPlan, LoopbackForwarder
from nodrop.model.goal import Goal
from nodrop.model.neighbor import NeighborPlan
from nodrop.model.shipping import ShipPlan
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan
from nodrop.units import format_bytes, format_pps

HEED_GOAL_ATTRIBUTES: frozenset[AlgorithmName] = frozenset({"nodrop", "mlrsearch-rfc9971"})
"""Searches that heed all attributes of each goal; to the others a goal is a loss ratio."""


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


class EnginePlan(Value):
    """How the packet engine is run."""

    backend: Backend = "af_packet"
    devices: tuple[str, ...] = ()
    """Of `dpdk`: the device that each tester port is, with DPDK's arguments."""
    huge_pages: bool = True
    """Whether DPDK takes huge pages when enough of them are free."""
    cores: tuple[int, ...] = ()
    """CPUs its threads are bound to, one thread each; empty leaves one thread unbound."""
    queue_slots: int = Field(ge=64)
    """Frames a tester port can hold before the tester itself drops."""
    catch_up_max_s: float = Field(default=0.02, gt=0)
    """What a sender that was held up may send at once afterwards, as the time in which it was due."""
    latency_every: int | None = None
    """Latency is measured of every so many frames; None leaves it to the engine."""


class CapturePlan(Value):
    """Frames of trials kept in files, one for each trial."""

    file: str
    """Absolute; each trial's has its index in front of the suffix."""
    trials: Literal["latency", "search", "all"]
    """Which trials."""
    way: Literal["sent", "received", "both"]
    ports: tuple[int, ...] = ()
    """Tester ports; empty: all."""
    filter: str | None = None
    """Only frames that this lets through (pcap-filter(7))."""
    frame_count_max: int = Field(ge=1, le=10_000_000)
    """The first so many frames of each trial."""
    bytes_max: int = Field(ge=2**20, le=2**30)
    """Memory for the frames of a trial."""
    snap_bytes: int = Field(ge=14)
    """Bytes kept of each frame."""


class SearchPlan(Value):
    """Goals, bounds and durations of the search."""

    algorithm: AlgorithmName
    goals: tuple[Goal, ...] = Field(min_length=1)
    min_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    max_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    initial_trial_duration_s: float = Field(gt=0)
    final_trial_duration_s: float = Field(gt=0)
    width_ratio: float = Field(gt=0, lt=1)
    """(upper - lower) / upper at which a goal is found."""
    intermediate_phases: int = Field(ge=0)
    expansion_coefficient: float = Field(gt=1)
    search_duration_max_s: float = Field(gt=0)
    """Time for the whole search, dead time included."""
    budgeted: bool = False
    """Whether that time is a budget: to have used it up is then a normal end, else it means the search has failed."""
    repeat_invalid: int = Field(ge=0)
    """How often an invalid trial is tried again before it is given up."""
    overhead_s: float = Field(default=0.5, ge=0)
    """Time a trial takes beside its sending, as far as a search reckons with it."""
    doublings: int = Field(default=1, ge=1)
    """mlrsearch-03: how often the width is doubled in an external search."""
    preceding_targets: int = Field(default=2, ge=0)
    """mlrsearch-rfc9971: coarser targets before the final one of each goal."""
    fail_fast: bool = False
    """mlrsearch-rfc9971: end the whole search when a goal fails at the lowest load."""
    joint: bool = True
    """binary: whether trials made for one goal count for the others."""
    verify_trial_count: int = Field(default=2, ge=1)
    """binary-loss-verification: trials at a load before its loss counts, the first included (TST 009 max(r))."""
    verify_lost_count: int | None = Field(default=None, ge=0)
    """binary-loss-verification: loss of so many frames or more is not verified (TST 009 z); None: always verified."""
    load_epsilon_ratio: float = Field(default=0.001, gt=0, lt=1)
    """nfvbench: share of the line rate, `max_load_pps`, at which the range is narrow enough."""
    trial_count: int = Field(default=10, ge=1)
    """mrr: trials at the highest load."""
    initial_count: int = Field(default=50, ge=0)
    """plrsearch: the first trial lasts as long as this many duration increments."""
    duration_increment_s: float = Field(default=0.1, gt=0)
    """plrsearch: how much longer each trial is than the one before."""
    earlier: tuple["Earlier", ...] = ()
    """nodrop: what an earlier search of the same SUT found, to start from."""

    def complete(self, goal: Goal) -> Goal:
        """A goal with every attribute filled in: its own where it has one, the search's where not."""
        final_s = goal.final_trial_duration_s or self.final_trial_duration_s
        return goal.model_copy(
            update={
                "initial_trial_duration_s": goal.initial_trial_duration_s
                or min(self.initial_trial_duration_s, final_s),
                "final_trial_duration_s": final_s,
                "duration_sum_s": goal.duration_sum_s or final_s,
                "width_ratio": goal.width_ratio or self.width_ratio,
            }
        )


class Earlier(Value):
    """A goal as an earlier result has it."""

    loss_ratio: float
    final_trial_duration_s: float
    lower_pps: float
    upper_pps: float


class LatencyPoint(Value):
    """A load at which latency is measured: a share of what a goal's lower bound turned out to be."""

    label: str
    goal_label: str
    load_ratio: float = Field(gt=0, le=1)


class LatencyPlan(Value):
    """The latency trials that follow the search."""

    points: tuple[LatencyPoint, ...]
    duration_s: float = Field(gt=0)


class FixedPlan(Value):
    """One trial at a load that was asked for, in place of a search."""

    load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    duration_s: float = Field(gt=0)
    asked: str
    """As it was written."""


class Plan(Value):
    """One run, decided."""

    profile: str
    frame_size: str = ""
    """The frame size by the name it is known by: `64`, `IMIX`."""
    fixed: FixedPlan | None = None
    """None: loads are searched for."""
    interval_s: float | None = None
    """How often to tell of the counts while a trial at a fixed rate runs; None: never."""
    percentiles: tuple[float, ...] = (25.0, 75.0, 99.0)
    """Percentiles of latency to report."""
    link_speed_bps: int = 10_000_000_000
    """What 100 % stands for, each direction."""
    path_check: bool = True
    path_check_timeout_s: float = Field(default=0.0, ge=0)
    """How long to try again where frames do not go through at first, as VMs that boot let none."""
    no_traffic: bool = False
    """Whether the run ends once the path was checked."""
    variant: str = ""
    """Which of the set-ups measured in turn it is of, `A` or `B`; empty where there is one."""
    repeat: int = 1
    """Which repeat it is, from 1."""
    repeat_count: int = 1
    """How many there are to be."""
    label: str | None = None
    user_info: dict[str, Any] = Field(default_factory=dict)
    nfvbench: dict[str, Any] = Field(default_factory=dict)
    """Keys of NFVbench's configuration, as they were written."""
    asked: dict[str, Any] | None = None
    """Configuration that asks for this run again, in nodrop's keys, without where results go and who is told; None in
    results of releases that did not keep it."""
    lab: LabPlan
    standing_lab: str | None
    """Name of a lab that is already up; None brings up a private one."""
    cloud: CloudPlan | None = None
    """What is staged in OpenStack, or looked for there; None: nothing is."""
    engine: EnginePlan
    trex: TrexPlan | None = None
    """The TRex server that sends and receives; None: the packet engine does."""
    traffic: Traffic
    neighbors: NeighborPlan = NeighborPlan()
    """ARP and neighbour discovery of the tester's ports."""
    search: SearchPlan
    latency: LatencyPlan
    drop_reasons: bool = True
    """Whether the kernel's reasons for dropped frames are counted, where the kernel forwards."""
    capture: CapturePlan | None = None
    """Frames to keep in files."""
    results_dir: str
    results_index: str | None = None
    """Database that results are looked up in; None: the one in the results directory."""
    ship: ShipPlan = ShipPlan()
    """Who is told of the run besides."""
    calibration: Calibration | None = None
    """What the tester can do by itself, where that was measured with the same settings."""
    warnings: tuple[str, ...] = ()
    """What to know of the set-up before believing its figures."""

    @property
    def sends_into_lab(self) -> bool:
        """Whether the tester's ports are the lab's interfaces, and not devices that lead elsewhere."""
        return not self.engine.devices or reaches(self.engine.devices, self.lab.tester_interfaces)


def reaches(devices: Sequence[str], interfaces: Sequence[str]) -> bool:
    """Whether each of these DPDK devices is on the interface at its position."""
    return all(f"iface={name}" in device.split(",") for device, name in zip(devices, interfaces, strict=True))
