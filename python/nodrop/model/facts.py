"""What is there: read from the machine and the lab before any traffic, kept with the result."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor
from nodrop.model.cloud import CloudFacts
from nodrop.model.neighbor import NextHop


class InterfaceFacts(Value):
    """One network interface on the path."""

    name: str
    namespace: str
    """`tester`, `sut`, or `left` and `right` where routers stand in the path."""
    driver: str
    mac: str
    """The interface's own address; frames use others on purpose, or the kernel would route them."""
    mtu_bytes: int
    link_speed_bps: int | None


class SutProcess(Value):
    """A process that forwards."""

    name: str
    """Unique in its lab."""
    pid: int
    large_page_bytes: int | None = None
    """How much of its table is in large pages; None where it has no table."""


class ChainFacts(Value):
    """A service chain as it stands."""

    chain: int
    tester_interfaces: tuple[str, str]
    """The tester's ports on its left and on its right."""
    vlans: tuple[int, int] | None = None
    """Its VLANs there; None: frames have no tag of its own."""
    macs: tuple[str, str] | None = None
    """Its stations there; None: not known, or it has none."""
    vnis: tuple[int, int] | None = None
    """VXLAN networks there, or MPLS labels of its networks; None: its frames are in no tunnel."""
    networks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """IP networks behind the tester's ports that are its own, where it routes."""
    interfaces: tuple[str, ...] = ()
    """Of its forwarders, from left to right."""
    pids: tuple[int, ...] = ()
    """Processes of its VNFs, from left to right; none where others forward for it as well."""
    idle_interfaces: tuple[str, ...] = ()


class StageFacts(Value):
    """The lab as it stands."""

    name: str
    sut: str
    """What stands between the tester's ports."""
    privilege: str
    """`root` or `user namespace`; `nobody` where there was nothing to bring up."""
    tester_pid: int
    """A process inside the tester's network namespace."""
    sut_pid: int
    """A process inside the SUT's network namespace; 0 where there is none."""
    sut_processes: tuple[SutProcess, ...] = ()
    """The processes that forward; none when the kernel does, or when they are not on this machine."""
    sut_shares_tester_cpu: bool
    """The SUT's work is done by the kernel on the sender's CPU, as on every veth path without its own thread."""
    interfaces: tuple[InterfaceFacts, ...]
    chains: tuple[ChainFacts, ...] = ()
    """Every chain, in order."""
    router_pids: dict[str, int] = Field(default_factory=dict)
    """A process inside the namespace of each router in the path."""
    cloud: CloudFacts | None = None
    """What stands in OpenStack; None: nothing does."""
    up_s: float | None = None
    """Time it took to bring up; None where that was not our doing."""


class HostFacts(Value):
    """The machine under the run."""

    name: str = ""
    """Its host name; empty in results of releases that did not keep it."""
    kernel: str
    cpu_model: str
    core_count: int = Field(ge=1)
    memory_bytes: int
    clock_source: str
    virtualization: str
    """`none`, or what the CPU says it runs under."""


class Versions(Value):
    """What measured."""

    nodrop: str
    engine: str
    commit: str
    """Commit the engine was built from; ends in `+` when the tree had changes; `unknown` outside a checkout."""
    python: str

    @property
    def generator_text(self) -> str:
        """What sent and received: nodrop's own engine with its commit, or another program by its name."""
        if self.engine.startswith("TRex"):
            return self.engine
        return f"engine {self.engine} ({self.commit[:12]})"


class Timestamping(Value):
    """What stamps an interface can give frames; latency is taken from the kernel's."""

    software: bool
    """The kernel stamps frames as they come."""
    hardware: bool
    """The card itself stamps all frames, those that leave and those that come."""
    phc_index: int | None
    """The card's clock, `/dev/ptp<n>`; only ports that share one can be compared."""


class PortFacts(Value):
    """One of the tester's ports, as it was opened."""

    interface: str
    backend: str
    """How frames get in and out."""
    why: str = ""
    """How that works here."""
    queue_slots: int
    """Frames it can hold before the tester itself drops."""
    timestamping: Timestamping | None = None
    """None where it is no interface of the kernel, or does not say."""
    next_hop: NextHop | None = None
    """Who said that frames go to him, of the first chain; None: it was known, or nothing is sent."""
    next_hops: tuple[NextHop, ...] = ()
    """The same of every chain that has this port, where several have."""


class Facts(Value):
    """All that was found before the first trial."""

    host: HostFacts
    stage: StageFacts
    versions: Versions
    ports: tuple[PortFacts, ...] = ()
    chd: HostDescriptor | None = None
    """The machine to the last core, as it was before the run; None in results of releases that did not keep it."""
