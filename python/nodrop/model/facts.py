"""Facts about the machine and the lab, read before any traffic and stored with the result."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor
from nodrop.model.cloud import CloudFacts
from nodrop.model.neighbor import NextHop


class InterfaceFacts(Value):
    """One network interface on the path."""

    name: str
    namespace: str
    """`tester`, `sut`, or `left` and `right` for routers in the path."""
    driver: str
    mac: str
    """The interface's own address; frames use other addresses, or the kernel would route them."""
    mtu_bytes: int
    link_speed_bps: int | None


class SutProcess(Value):
    """A process that forwards."""

    name: str
    """Unique in its lab."""
    pid: int
    large_page_bytes: int | None = None
    """Bytes of its table in huge pages; None without a table."""


class ChainFacts(Value):
    """A service chain that is up."""

    chain: int
    tester_interfaces: tuple[str, str]
    """The tester's ports on its left and on its right."""
    vlans: tuple[int, int] | None = None
    """VLANs on its left and right; None: its frames have no tag."""
    macs: tuple[str, str] | None = None
    """MAC addresses on its left and right; None: unknown, or it has none."""
    vnis: tuple[int, int] | None = None
    """VXLAN networks, or MPLS labels, on its left and right; None: no tunnel."""
    networks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """IP networks behind the tester's ports that belong to it, if it routes."""
    interfaces: tuple[str, ...] = ()
    """Interfaces of its forwarders, from left to right."""
    pids: tuple[int, ...] = ()
    """Processes of its VNFs, from left to right; empty if shared processes forward for it."""
    idle_interfaces: tuple[str, ...] = ()


class StageFacts(Value):
    """A lab that is up."""

    name: str
    sut: str
    """The system between the tester's ports."""
    privilege: str
    """`root` or `user namespace`; `nobody` if there was nothing to bring up."""
    tester_pid: int
    """A process inside the tester's network namespace."""
    sut_pid: int
    """A process inside the SUT's network namespace; 0 without such a namespace."""
    sut_processes: tuple[SutProcess, ...] = ()
    """The processes that forward; empty if the kernel or another machine forwards."""
    sut_shares_tester_cpu: bool
    """Whether the kernel does the SUT's work on the sender's CPU, as on every veth path without its own thread."""
    interfaces: tuple[InterfaceFacts, ...]
    chains: tuple[ChainFacts, ...] = ()
    """Every chain, in order."""
    router_pids: dict[str, int] = Field(default_factory=dict)
    """A process inside the namespace of each router in the path."""
    cloud: CloudFacts | None = None
    """Resources in OpenStack; None: none."""
    up_s: float | None = None
    """Time to bring it up; None if nodrop did not."""


class HostFacts(Value):
    """The machine of the run."""

    name: str = ""
    """Host name; empty in results of releases that did not store it."""
    kernel: str
    cpu_model: str
    core_count: int = Field(ge=1)
    memory_bytes: int
    clock_source: str
    virtualization: str
    """`none`, or the hypervisor that the CPU reports."""


class Versions(Value):
    """Versions of the programs that measured."""

    nodrop: str
    engine: str
    commit: str
    """Commit the engine was built from; ends in `+` if the tree had changes; `unknown` outside a checkout."""
    python: str

    @property
    def generator_text(self) -> str:
        """The generator: nodrop's engine with its commit, or another program."""
        if self.engine.startswith("TRex"):
            return self.engine
        return f"engine {self.engine} ({self.commit[:12]})"


class Timestamping(Value):
    """Timestamping capabilities of an interface; latency uses the kernel's timestamps."""

    software: bool
    """The kernel timestamps received frames."""
    hardware: bool
    """The card timestamps all sent and received frames."""
    phc_index: int | None
    """The card's clock, `/dev/ptp<n>`; only timestamps of the same clock are comparable."""


class PortFacts(Value):
    """An open port of the tester."""

    interface: str
    backend: str
    """Packet I/O of the port."""
    why: str = ""
    """Details of the backend on this port."""
    queue_slots: int
    """Frames it can queue before the tester itself drops."""
    timestamping: Timestamping | None = None
    """None if it is no kernel interface, or reports none."""
    next_hop: NextHop | None = None
    """The resolved next hop of the first chain; None: known in advance, or nothing is sent."""
    next_hops: tuple[NextHop, ...] = ()
    """The next hops of all chains of this port, if there are several."""


class CpuLoad(Value):
    """Other work on a CPU of tester or SUT, right before the first trial."""

    cpu: int
    busy_ratio: float
    """Share of the time in [0, 1]."""
    processes: tuple[str, ...] = ()
    """Names of the processes that took most of it, longest first."""


class Facts(Value):
    """All facts read before the first trial."""

    host: HostFacts
    stage: StageFacts
    versions: Versions
    ports: tuple[PortFacts, ...] = ()
    other_load: tuple[CpuLoad, ...] = ()
    """CPUs of tester and SUT that were busy with other work; empty if none was, or in results of older releases."""
    chd: HostDescriptor | None = None
    """The host descriptor from before the run; None in results of releases that did not store it."""
