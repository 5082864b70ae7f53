"""All configuration keys, with defaults, units and ranges. No other module defines defaults for these."""

from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import BeforeValidator, Discriminator, Field, Tag

from nodrop.config.bras import BrasConfig
from nodrop.config.flows import FlowsConfig, GatewaysConfig, TunnelConfig
from nodrop.config.openstack import OpenStackConfig
from nodrop.config.outputs import ShipConfig
from nodrop.config.per_side import InterfaceNames, convert_number_to_text, parse_macs, parse_vlans
from nodrop.config.policer import PolicerConfig
from nodrop.config.pool import PoolConfig
from nodrop.config.procedures import (
    FailoverConfig,
    InstancesConfig,
    MigrationConfig,
    PatternsConfig,
    Rfc2544Config,
    ScaleOutConfig,
    Y1564Config,
)
from nodrop.config.traffic import FrameSizes, TrafficConfig
from nodrop.config.trex import TrexConfig
from nodrop.model.base import Value
from nodrop.model.choices import (
    AlgorithmName,
    AntagonistKind,
    Backend,
    GeneratorName,
    PageKind,
    PatternKind,
    ProfileName,
    SutKind,
    VnfBackend,
    WorkloadName,
)
from nodrop.model.expectation import check_expectation
from nodrop.model.pattern import StairDirection
from nodrop.model.trial_event import check_event
from nodrop.rates import check_rate
from nodrop.units import parse_bytes, parse_count, parse_pps, parse_ratio, parse_seconds

Count = Annotated[int, BeforeValidator(parse_count, json_schema_input_type=int | str)]
Size = Annotated[int, BeforeValidator(parse_bytes, json_schema_input_type=int | str)]
Load = Annotated[float, Field(gt=0, le=1e12), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Seconds = Annotated[float, Field(gt=0, le=604800), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
NonNegativeSeconds = Annotated[
    float, Field(ge=0, le=604800), BeforeValidator(parse_seconds, json_schema_input_type=float | str)
]
Share = Annotated[float, Field(ge=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Fraction = Annotated[float, Field(ge=0, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Width = Annotated[float, Field(gt=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Rate = Annotated[str, BeforeValidator(check_rate)]
ExpectationText = Annotated[str, BeforeValidator(check_expectation)]
EventText = Annotated[str, BeforeValidator(check_event)]
Text = Annotated[str, BeforeValidator(convert_number_to_text, json_schema_input_type=str | float)]
UserInfo = Annotated[
    dict[str, Any],
    BeforeValidator(lambda value: {} if value is None else value, json_schema_input_type=dict[str, Any] | None),
]
Vlan = Annotated[int, Field(ge=1, le=4094)]
Vlans = Annotated[
    tuple[tuple[Vlan, ...], tuple[Vlan, ...]] | None,
    BeforeValidator(parse_vlans, json_schema_input_type=list[int] | list[list[int]] | None),
]
Macs = Annotated[
    tuple[tuple[str, ...], tuple[str, ...]] | None,
    BeforeValidator(parse_macs, json_schema_input_type=list[str] | list[list[str]] | None),
]
Binding = Literal["auto", "none"]


def parse_core(value: object) -> object:
    """Parse `auto`, `none` or a CPU number. Raises ValueError."""
    core = int(value) if isinstance(value, str) and value.isdecimal() else value
    if core in ("auto", "none") or (isinstance(core, int) and not isinstance(core, bool) and core >= 0):
        return core
    raise ValueError(f"{value!r} is not a core; write auto, none or the number of a CPU, for example 1")


def parse_cores(value: object) -> object:
    """Parse `auto`, `none` or a list of CPUs, `[0, 2]` or `0,2`. Raises ValueError."""
    items = value.split(",") if isinstance(value, str) else value
    cores = [parse_core(core) for core in (items if isinstance(items, (list, tuple)) else [items])]
    if len(cores) == 1 and isinstance(cores[0], str):
        return cores[0]
    if not cores or not all(isinstance(core, int) for core in cores):
        raise ValueError(f"{value!r} is not a list of cores; write auto, none or the numbers of CPUs, e.g. [0, 2]")
    return cores


Core = Annotated[Binding | int, BeforeValidator(parse_core, json_schema_input_type=Binding | int)]
Cores = Annotated[
    Binding | tuple[int, ...], BeforeValidator(parse_cores, json_schema_input_type=Binding | int | list[int])
]


DpdkDevice = Annotated[str, Field(min_length=1)]


def check_database(value: object) -> object:
    """Return a database URL unchanged if it holds no password, since results keep the URL. Raises ValueError."""
    try:
        address = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        raise ValueError("not a URL; write for example postgresql://user@host/nodrop") from None
    if address and (address.password or "password" in parse_qs(address.query)):
        raise ValueError(
            "the URL contains a password, which every result would store; put it into ~/.pgpass or PGPASSWORD, and "
            "write "
            "postgresql://user@host/nodrop"
        )
    return value


Database = Annotated[str, Field(min_length=1), BeforeValidator(check_database, json_schema_input_type=str)]


class GoalConfig(Value):
    """A goal with its own attributes (RFC 9971 Search Goal). Null attributes are those of the search."""

    loss_ratio: Share
    """Largest loss ratio of a trial that meets the goal, e.g. `0.5%`; 0 up to, not including, 100 %."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that trials with more loss may take; null: `search.exceed_ratio`."""
    initial_trial_duration: Seconds | None = None
    """Duration of the shortest trials; null: `search.initial_trial_duration`, at most the final one."""
    final_trial_duration: Seconds | None = None
    """Duration from which a trial counts in full; null: `search.final_trial_duration`."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load; null: `search.duration_sum`."""
    width: Width | None = None
    """Relative width of the final bounds; null: `search.width`."""


RATIO_FORM, ATTRIBUTES_FORM = "(ratio)", "(attributes)"
"""The two forms of a goal: a loss ratio, or a mapping of attributes."""


def _detect_goal_form(value: object) -> str:
    return ATTRIBUTES_FORM if isinstance(value, (dict, GoalConfig)) else RATIO_FORM


GoalInput = Annotated[
    Annotated[Share, Tag(RATIO_FORM)] | Annotated[GoalConfig, Tag(ATTRIBUTES_FORM)], Discriminator(_detect_goal_form)
]


class SearchConfig(Value):
    """The search. Null values come from the profile."""

    algorithm: AlgorithmName | None = None
    """Search algorithm; docs/reference/search-options.md lists the keys that each algorithm uses."""
    initial_trial_duration: Seconds | None = None
    """Duration of the first, shortest trials, e.g. `0.5s`; above 0."""
    final_trial_duration: Seconds | None = None
    """Duration of the deciding trials, e.g. `30s`; at least the initial one."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load, e.g. `21s`; at least the final trial duration. nodrop, mlrsearch-rfc9971."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that trials above the loss ratio may take at a load that meets the goal, e.g. `50%`; 0
    up to, not including, 100 %. nodrop, mlrsearch-rfc9971."""
    width: Width | None = None
    """Relative width of the final bounds of a goal, (upper - lower) / upper, e.g. `1%`; above 0, below 100 %."""
    intermediate_phases: int | None = Field(default=None, ge=0, le=10)
    """Phases between the initial and the final trial duration; 0 to 10. mlrsearch-01, mlrsearch-03."""
    expansion_coefficient: float | None = Field(default=None, gt=1, le=64)
    """Factor by which each further step widens until both bounds exist; above 1, at most 64. mlrsearch-01,
    mlrsearch-rfc9971."""
    doublings: int | None = Field(default=None, ge=1, le=10)
    """How often the width doubles until both bounds exist; 1 to 10. mlrsearch-03."""
    preceding_targets: int | None = Field(default=None, ge=0, le=10)
    """Coarser targets before the final one of each goal; 0 to 10. mlrsearch-rfc9971."""
    fail_fast: bool | None = None
    """End the search as soon as a goal fails at the lowest load. mlrsearch-rfc9971."""
    joint: bool | None = None
    """Use each trial for all goals, not only for the goal it was made for. binary."""
    verify_trials: int | None = Field(default=None, ge=1, le=100)
    """Trials at a load, or with a burst, before its loss counts, the first included (ETSI GS NFV-TST 009 max(r)); 1 to
    100. binary-loss-verification, back-to-back."""
    verify_lost_count: int | None = Field(default=None, ge=0)
    """Number of lost frames from which loss is not verified (ETSI GS NFV-TST 009 z); null: loss is always verified.
    binary-loss-verification, back-to-back."""
    load_epsilon: Width | None = None
    """Width of the final range as a share of the highest load, e.g. `0.1%`; above 0, below 100 %. nfvbench."""
    trial_count: int | None = Field(default=None, ge=1, le=1000)
    """Trials at the highest load; 1 to 1000. mrr."""
    load_step: Annotated[Share, Field(ge=0.001, le=0.1)] | None = None
    """Difference between two loads, as a share of the highest, e.g. `5%`; 0.1 % to 10 %. frame-loss-rate."""
    burst_max: Annotated[Seconds, Field(ge=0.01, le=30)] | None = None
    """Sending time of the longest burst, e.g. `5s`; 0.01 to 30 s. back-to-back."""
    burst_rest: NonNegativeSeconds | None = None
    """Least time without traffic before a burst, e.g. `200ms`; from 0. back-to-back."""
    burst_repeats: int | None = Field(default=None, ge=1, le=1000)
    """Searches of the longest burst; 1 to 1000. back-to-back."""
    initial_count: int | None = Field(default=None, ge=0, le=100000)
    """Duration of the first trial in duration increments; 0 to 100000. plrsearch."""
    duration_increment: Seconds | None = None
    """Difference in duration between successive trials, e.g. `0.1s`; above 0. plrsearch."""
    warm_start: str | None = Field(default=None, min_length=1)
    """Earlier result of the same SUT and traffic whose bounds the search starts from: a file, a run ID or `latest`.
    nodrop."""
    min_load: Load | None = None
    """Lowest load, frames per second over all directions, e.g. `10kpps`; null: the lowest load at which one width is a
    full frame per direction and shortest trial."""
    max_load: Load | None = None
    """Highest load, frames per second over all directions, e.g. `2Mpps`; null: the line rate of the links."""
    max_duration: Seconds | None = None
    """Time limit of the search, whose expiry is an error, e.g. `10min`; above 0."""
    budget: Seconds | None = None
    """Time limit of the run, after which the best bounds so far count, e.g. `60s`; above 0. It includes bringing the
    path up and down and latency trials, but not the start of servers in a cloud. Overrides `max_duration`."""
    repeat_invalid: int | None = Field(default=None, ge=0, le=100)
    """How often an invalid trial is retried before the search fails; 0 to 100."""
    disturbed_time: Literal["exclude", "count"] | None = None
    """Time in which other work on the machine disturbed tester or SUT: `count`, or `exclude`, which judges trials
    without it and extends those of the search by as much, at most to five times their duration; null: `exclude` for the
    algorithm nodrop and a SUT in the lab or with `sut_pids` or `sut_cgroups`, else `count`."""


class LatencyConfig(Value):
    """The latency trials after the search."""

    enabled: bool = True
    """Measure latency at the lower bound of each goal, and at half of the highest. At a bound, a trial of the search
    that met the goal has it if it lasted for `trial_duration`; with `capture.trials: latency` there are always trials
    of its own."""
    trial_duration: Seconds | None = None
    """Duration of each latency trial, e.g. `3s`; above 0; null: from the profile."""
    percentiles: tuple[Annotated[float, Field(ge=0, le=100)], ...] = (25.0, 75.0, 99.0)
    """Latency percentiles to report, each 0 to 100, e.g. `[50, 99, 99.9]`."""


class DpdkConfig(Value):
    """DPDK, if it is the backend (docs/how-to/dpdk.md)."""

    devices: Literal["auto"] | tuple[DpdkDevice, ...] = "auto"
    """Device of each tester port, with DPDK's arguments, e.g. `["0000:03:00.0", "0000:03:00.1"]` or
    `["net_memif0,role=server", "net_memif1,role=client"]`; `auto`: the lab's interfaces, by `driver`. Other devices
    require `sut: wire`; the SUT is then whatever connects them."""
    driver: Literal["net_af_packet", "net_af_xdp"] = "net_af_packet"
    """Driver on the lab's interfaces: `net_af_packet` or `net_af_xdp`."""
    huge_pages: Literal["auto", "none"] = "auto"
    """Huge pages: `auto`, if enough are free, or `none`."""


class EngineConfig(Value):
    """nodrop's packet engine."""

    cores: Cores = "auto"
    """CPUs of the engine's threads, one each: `auto` (the first, if there are several), `none`, or a list, e.g. `[0,
    2]`."""
    queue_slots: int = Field(default=32768, ge=64, le=1048576)
    """Frames that a tester port can queue before the tester itself drops; 64 to 1048576."""
    backend: Backend | Literal["auto"] = "auto"
    """Packet I/O of the tester's ports: `af_packet`, `af_xdp`, `xdp_live`, `dpdk`, or `auto`: as root `xdp_live` for
    `xdp`, and for one `vnf-l2` or `vnf-l3` on a CPU of its own, else `af_packet`."""
    dpdk: DpdkConfig = DpdkConfig()
    """DPDK, if it is the backend."""
    catch_up: Seconds = 0.02
    """Largest backlog that a stalled sender may send at once afterwards, as the time in which the frames were due, e.g.
    `20ms`; above 0. Frames due earlier are never sent, and count as lost."""
    latency_every: int | None = Field(default=None, ge=0)
    """Measure the latency of every n-th frame, 0: of none; null: of every frame up to 4 Mpps per port, of fewer
    above."""


class PatternConfig(Value):
    """Variation of the load during a trial, whose mean is the trial's load. Each key lists the kinds that use it."""

    kind: PatternKind = "flat"
    """Shape of the load: `flat`, `burst`, `sawtooth`, `triangle`, `sinusoid`, `stair`, `random` or `poisson`."""
    period: Annotated[Seconds, Field(ge=1e-4)] = 1.0
    """Length of a period, e.g. `100ms`, adjusted so that a trial has an integer number of periods. All but flat and
    poisson."""
    amplitude: Fraction = 0.5
    """Largest deviation of the load from its mean, as a share of the mean, e.g. `50%`; 0 to 100 %. All but flat, burst,
    poisson."""
    duty: Annotated[Fraction, Field(ge=0.001)] = 0.5
    """Share of a period in which a burst is sent, e.g. `25%`; 0.1 to 100 %. burst."""
    steps: int = Field(default=5, ge=2, le=1000)
    """Steps of a stair; 2 to 1000. stair."""
    direction: StairDirection = "up"
    """Direction of a stair: `up`, `down` or `up_down`. stair."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of the load; equal seeds draw equal loads; from 0. random, poisson."""


class NeighborsConfig(Value):
    """The tester as a station on its links: ARP and neighbor discovery, see docs/reference/neighbors.md."""

    resolve: bool | None = None
    """Resolve the destination MAC addresses before the path check; null: if the SUT routes (`router`, `vnf-l3`). Also
    works through `bridge`, `ovs` and `wire`, where the tester's other end answers."""
    announce_every: Annotated[Seconds, Field(ge=0.001, le=86400)] | None = None
    """Interval of unsolicited announcements of the tester's addresses, during trials too, e.g. `1s`; 1 ms to a day
    (gratuitous ARP, unsolicited neighbor advertisements). Null: never."""
    timeout: Annotated[Seconds, Field(le=60)] = 1.0
    """Time to wait for an answer to each request, e.g. `1s`; above 0, at most 60 s."""
    tries: int = Field(default=3, ge=1, le=100)
    """Requests before the run ends with an error; 1 to 100."""


class CaptureConfig(Value):
    """Capture of trials' frames to pcapng files."""

    file: str | None = Field(default=None, min_length=1)
    """Capture file, e.g. `seen.pcapng`; the file of each trial has its index in the name, e.g. `seen-12.pcapng`. Null:
    no capture."""
    trials: Literal["latency", "search", "all"] = "latency"
    """Trials to capture: `latency`, the trials after the search, `search`, whose figures the capture may lower, or
    `all`."""
    way: Literal["sent", "received", "both"] | None = None
    """Direction at the tester: `sent`, `received` or `both`; null: both, with `xdp_live` received."""
    ports: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Tester ports, counted from 0, e.g. `[0]`; none: all."""
    filter: str | None = Field(default=None, min_length=1)
    """Capture only frames that match this filter, e.g. `udp port 53` (pcap-filter(7)); requires libpcap."""
    frames: int = Field(default=100_000, ge=1, le=10_000_000)
    """Largest number of frames per trial, from its start; 1 to 10 million."""
    bytes: int = Field(default=2**26, ge=2**20, le=2**30)
    """Memory for the frames of a trial, in bytes; 1 MiB to 1 GiB."""
    snap: int = Field(default=9216, ge=14, le=262144)
    """Captured bytes per frame; 14 to 262144. For received frames, packet sockets provide at least the first 176."""


class VnfConfig(Value):
    """The loopback VNF, if it is the SUT."""

    core: Core = "auto"
    """CPU of its thread: `auto` (the last, if there are several, and for further VNFs those before it), `none`, or a
    number, e.g. `1`."""
    backend: VnfBackend | Literal["auto"] = "auto"
    """Packet I/O of its ports: `af_packet`, without privileges; `af_xdp`, as root; or `auto`: `af_xdp` if the tester
    uses `xdp_live`, else `af_packet`."""
    queue_slots: int | None = Field(default=None, ge=64, le=1048576)
    """Frames that each of its ports can queue before it drops; 64 to 1048576; null: 4096 with up to 8 chains, 2048
    from 9 chains, 1024 from 17, 512 from 33."""
    capacity: Load | None = None
    """Limit of the frames per second that each VNF forwards over all its ports, e.g. `20kpps`: a SUT of known capacity,
    to test a tester or a comparison. It catches up after up to 50 ms in which it was idle or off its CPU, unless
    `buffer` is set. Null: no limit. `vnf-l2`, `vnf-l3`, `vnf-bras`."""
    buffer: int | None = Field(default=None, ge=1, le=1000000)
    """Frames that an ideal queue of that capacity holds: the arrival times of the frames decide exactly which are
    dropped and when the others leave, and idle time earns no credit; 1 to 1000000. Requires `capacity`."""
    policer: PolicerConfig = PolicerConfig()
    """Policer of the frames that each port receives; their arrival times decide exactly which are dropped."""
    table: Annotated[Size, Field(ge=64, le=2**40)] | None = None
    """Bytes of a flow table, as in a firewall; the VNF reads and writes a line of it per frame. E.g. `64MiB`; null:
    none. `vnf-l2`, `vnf-l3`."""
    pages: PageKind = "usual"
    """Pages of that table, and with `af_xdp` of its frames: `usual`, the kernel's choice; `small`, never huge pages;
    `large`, reserved huge pages if enough are free, else transparent ones."""
    memory_node: int | None = Field(default=None, ge=0, lt=1024)
    """NUMA node of its memory, including its ports' rings; null: the kernel's choice, the node of its CPU."""
    softirq_core: int | None = Field(default=None, ge=0)
    """CPU on which the kernel receives its frames (receive packet steering); null: the sender's CPU."""


class AntagonistConfig(Value):
    """A noisy neighbor of the SUT, run by stress-ng as long as the lab is up (ETSI GS NFV-PER 001 clause 8.2.2.5)."""

    kind: AntagonistKind | Literal["none"] = "none"
    """Resource it loads: `cpu`, only its CPU; `memory`, by streaming; `cache`, by thrashing; or `none`."""
    cores: Cores = "auto"
    """Its CPUs, one program each: `auto`, those of the SUT's processes, or a list, e.g. `[2]`."""


class Config(Value):
    """The configuration of a run."""

    profile: ProfileName = "quick"
    """Preset for durations and precision: `quick` takes about a minute, `standard` has trials as long as in
    draft-ietf-bmwg-mlrsearch-01, `csit` the goals and the search of FD.io CSIT."""
    sut: SutKind = "vnf-l2"
    """System under test. nodrop's own: `vnf-l2` bridges two ports, `vnf-l3` routes, `vnf-bras` is a BRAS, each on one
    thread; `pool` has several `vnf-l2` behind a balancer; `xdp` redirects in the driver. The Linux kernel's: `bridge`,
    `router`. Open vSwitch in user space: `ovs`. `wire` connects the tester's ports to each other, `ext` is an existing
    external system, `openstack` is staged in a cloud."""
    workload: WorkloadName | None = None
    """Traffic of a network function instead of that described by `traffic` and `flows`: `bras`, the subscribers of ETSI
    GS NFV-PER 001 annex D, by default through `vnf-bras`; null: none."""
    bras: BrasConfig = BrasConfig()
    """The BRAS workload."""
    pool: PoolConfig = PoolConfig()
    """Instances of `sut: pool`."""
    failover: FailoverConfig = FailoverConfig()
    """The procedure of `nodrop test failover`."""
    scale_out: ScaleOutConfig = ScaleOutConfig()
    """The procedure of `nodrop test scale-out`."""
    instances: InstancesConfig = InstancesConfig()
    """The procedure of `nodrop test instances`."""
    patterns: PatternsConfig = PatternsConfig()
    """The procedure of `nodrop test patterns`."""
    migration: MigrationConfig = MigrationConfig()
    """The procedure of `nodrop test migration`."""
    rfc2544: Rfc2544Config = Rfc2544Config()
    """The procedure of `nodrop test rfc2544`."""
    y1564: Y1564Config = Y1564Config()
    """The procedure of `nodrop test y1564`."""
    generator: GeneratorName = "engine"
    """Traffic generator: nodrop's packet `engine`, or a `trex` server."""
    chains: int = Field(default=1, ge=1, le=128)
    """Parallel service chains, each with its own forwarders; 1 to 128."""
    networks: Literal["auto", "ports", "vlan", "shared"] = "auto"
    """Connection of the chains to the tester: `ports`, two tester ports for each chain (up to 8 chains); `vlan`, two
    ports for all chains and a VLAN for each chain and side; `shared`, two ports and one network per side, where
    chains differ in their MAC addresses; `auto`: `ports` for one chain without VLANs, else `vlan`."""
    vlans: Vlans = None
    """VLAN of every chain, left and right, e.g. `[[100, 101], [200, 201]]`; 1 to 4094; null: assigned if `networks`
    requires VLANs."""
    macs: Macs = None
    """Destination MAC address of the frames of every chain, left and right; null: known or resolved."""
    ports: InterfaceNames = ()
    """Interfaces connected to an external SUT (`sut: ext`) or to a cloud (`sut: openstack`), e.g. `[eth1, eth2]`."""
    allow_addressed_ports: bool = False
    """Allow `ports` with IP addresses or routes; other users of these interfaces then lose frames to the tester."""
    sut_pids: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Processes of an external SUT on this machine (`sut: ext`), e.g. `[1234]`; time for which other work keeps them
    off their CPUs is then reported."""
    sut_cgroups: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The same by control groups, e.g. `[/system.slice/openvswitch-switch.service]`."""
    routers: bool = False
    """Put a router at each end of every chain: the Linux kernel's, or with `openstack` Neutron's. Requires `vnf-l3`."""
    idle_interfaces: int = Field(default=0, ge=0, le=8)
    """Further interfaces of every VNF without traffic; 0 to 8."""
    hops: int = Field(default=1, ge=1, le=2)
    """Forwarders in series in each chain: 1 (PVP) or 2 (PVVP). Two for `vnf-l2`, `vnf-l3`, `bridge` and `openstack`."""
    lab: str | None = None
    """Name of a persistent lab (`nodrop lab up`) to measure in; null: a private lab."""
    frame_bytes: int = Field(default=64, ge=64, le=9216)
    """Frame size with FCS (RFC 1242 section 3.5), in bytes; 64 to 9216."""
    bidirectional: bool = True
    """Send traffic in both directions at once, half of the load each."""
    frame_sizes: FrameSizes = ()
    """Several sizes, measured one after another, e.g. `[64, IMIX, 1518]`: bytes with FCS, `IMIX` (7 x 64, 4 x 594, 1 x
    1518), or a genome; none: `frame_bytes`."""
    flow_count: Count = Field(default=512, ge=1, le=2**30)
    """Flows over all chains and both directions, evenly distributed; flows differ in the source port (with ICMP in the
    identifier), above 16384 per stream also in the source address, or as in `flows`. At least one per stream, at
    most 4194304."""
    flows: FlowsConfig = FlowsConfig()
    """Fields that distinguish flows."""
    gateways: GatewaysConfig = GatewaysConfig()
    """Addresses on the links to the SUT."""
    tunnel: TunnelConfig = TunnelConfig()
    """A tunnel for the frames of each chain."""
    rate: Rate = "ndr_pdr"
    """What to measure: `ndr`, `pdr`, `ndr_pdr`, the latency at a share of one, `50%NDR`, or a fixed rate over all
    directions, e.g. `10kpps`, `2.5Gbps` (layer 1), `50%` (of the line rate of each direction)."""
    duration: Seconds = 10.0
    """Duration of a trial at a fixed rate, e.g. `10s`; above 0."""
    burst: int | None = Field(default=None, ge=1, le=10_000_000)
    """Frames that each direction sends at a fixed rate, and later if the tester falls behind, instead of a trial of
    `duration`; 1 to 10000000; null: no burst."""
    rest: Annotated[NonNegativeSeconds, Field(le=3600)] = 0.0
    """Time without traffic before a trial at a fixed rate, e.g. `2s`; 0 to 3600 s."""
    trial_events: tuple[EventText, ...] = ()
    """Changes during a trial at a fixed rate, each at a time from its begin: of the load, `3s load 20kpps`; of the
    number of streams that send in each direction, `3s streams 21`; of an instance of a pool, `3s kill 0`, also `stop`,
    `continue`, `start`, `withdraw` and `restore`; of any SUT, `3s command PROGRAM ARGUMENTS`, or a migration by
    libvirt, `3s migrate DOMAIN FROM_URI TO_URI`."""
    warm_up: Annotated[NonNegativeSeconds, Field(le=60)] = 0.0
    """Time for which the load of a trial is sent before the trial and not judged, e.g. `1s`, so that the SUT has seen
    all flows; 0 to 60 s."""
    expect: tuple[ExpectationText, ...] = ()
    """Thresholds whose miss sets the exit code, e.g. `["ndr>5Mpps", "p99@50%<50us"]`: the load of a goal; a latency at
    a goal or at a share of the goal that allows the most loss; at a fixed rate `loss<=0.1%` and `p99<50us`."""
    interval: Seconds | None = None
    """Interval of progress reports (frames sent, received and dropped) during a trial at a fixed rate, e.g. `1s`; null:
    none."""
    link_speed: str | None = None
    """Line rate of the tester's links, to which percentages refer, e.g. `10Gbps`; null: as the interface reports."""
    path_check: bool = True
    """Send frames through every chain in both directions before the measurement."""
    path_check_timeout: Annotated[Seconds, Field(le=86400)] | None = None
    """Time during which the path check is retried, e.g. `200s`; above 0; null: no retry, in a cloud the boot time of
    VMs (200 s)."""
    no_traffic: bool = False
    """Stop after the path is up and checked."""
    repeat: int = Field(default=1, ge=1, le=1000)
    """How often to repeat the measurement, each repeat a run of its own for every frame size; 1 to 1000."""
    label: Text | None = None
    """Label of the run, stored with its result."""
    user_info: UserInfo = Field(default_factory=dict)
    """Any data to store with the result. `extra_encapsulation_bytes` is the number of bytes that the SUT adds to each
    frame."""
    traffic: TrafficConfig = TrafficConfig()
    """The content of frames."""
    pattern: PatternConfig = PatternConfig()
    """Variation of the load during a trial."""
    goals: dict[str, GoalInput] = Field(default={"NDR": 0.0, "PDR": 0.005}, min_length=1)
    """Search goals, label: loss ratio, e.g. `PDR: 0.5%`, or with attributes, e.g. `NDR: {loss_ratio: 0, duration_sum:
    21s}`; 0 up to, not including, 100 %. Replaces all default goals."""
    search: SearchConfig = SearchConfig()
    """The search."""
    latency: LatencyConfig = LatencyConfig()
    """The latency trials after the search."""
    engine: EngineConfig = EngineConfig()
    """nodrop's packet engine."""
    trex: TrexConfig = TrexConfig()
    """TRex, if it is the generator."""
    openstack: OpenStackConfig = OpenStackConfig()
    """OpenStack, if chains are staged there."""
    neighbors: NeighborsConfig = NeighborsConfig()
    """The tester as a station on its links."""
    vnf: VnfConfig = VnfConfig()
    """The loopback VNF."""
    antagonist: AntagonistConfig = AntagonistConfig()
    """A noisy neighbor."""
    drop_reasons: bool = True
    """Count the kernel's reasons for dropped frames, if the kernel forwards (`bridge`, `router`); reduces the tester's
    highest rate by about 2 %."""
    capture: CaptureConfig = CaptureConfig()
    """Capture of trials' frames to files."""
    plugins: bool = True
    """Use the defaults of installed configuration plugins."""
    results_dir: str = Field(default="results", min_length=1)
    """Directory of results, each in `<results_dir>/<run id>/result.json`."""
    results_index: Database | None = None
    """Database that indexes results, e.g. `postgresql://user@host/nodrop`; null: `index.sqlite` in the results
    directory. It can be rebuilt from the files at any time."""
    ship: ShipConfig = ShipConfig()
    """Further destinations: Fluentd, log file, events, metrics."""
    nfvbench: dict[str, Any] = Field(default_factory=dict)
    """Keys of NFVbench's configuration as the user wrote them; not a user key."""
