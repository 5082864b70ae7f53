"""Every key a user may write, with its default, unit and range. Nothing else in nodrop has a default for these."""

from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import BeforeValidator, Discriminator, Field, Tag

from nodrop.config.flows import FlowsConfig, GatewaysConfig, TunnelConfig
from nodrop.config.openstack import OpenStackConfig
from nodrop.config.outputs import ShipConfig
from nodrop.config.per_side import number_to_text, parse_macs, parse_vlans
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
)
from nodrop.model.pattern import StairDirection
from nodrop.rates import check_rate
from nodrop.units import parse_bytes, parse_count, parse_pps, parse_ratio, parse_seconds

Count = Annotated[int, BeforeValidator(parse_count, json_schema_input_type=int | str)]
Size = Annotated[int, BeforeValidator(parse_bytes, json_schema_input_type=int | str)]
Load = Annotated[float, Field(gt=0, le=1e12), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Seconds = Annotated[float, Field(gt=0, le=604800), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
Share = Annotated[float, Field(ge=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Fraction = Annotated[float, Field(ge=0, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Width = Annotated[float, Field(gt=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Rate = Annotated[str, BeforeValidator(check_rate)]
Text = Annotated[str, BeforeValidator(number_to_text, json_schema_input_type=str | float)]
UserInfo = Annotated[
    dict[str, Any],
    BeforeValidator(lambda written: {} if written is None else written, json_schema_input_type=dict[str, Any] | None),
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


def parse_core(written: object) -> object:
    """`auto`, `none` or the number of a CPU. Raises ValueError."""
    core = int(written) if isinstance(written, str) and written.isdecimal() else written
    if core in ("auto", "none") or (isinstance(core, int) and not isinstance(core, bool) and core >= 0):
        return core
    raise ValueError(f"{written!r} is not a core; write auto, none or the number of a CPU, for example 1")


def parse_cores(written: object) -> object:
    """`auto`, `none` or a list of CPUs, `[0, 2]` or `0,2`. Raises ValueError."""
    listed = written.split(",") if isinstance(written, str) else written
    cores = [parse_core(core) for core in (listed if isinstance(listed, (list, tuple)) else [listed])]
    if len(cores) == 1 and isinstance(cores[0], str):
        return cores[0]
    if not cores or not all(isinstance(core, int) for core in cores):
        raise ValueError(f"{written!r} is not a list of cores; write auto, none or the numbers of CPUs, as [0, 2]")
    return cores


Core = Annotated[Binding | int, BeforeValidator(parse_core, json_schema_input_type=Binding | int)]
Cores = Annotated[
    Binding | tuple[int, ...], BeforeValidator(parse_cores, json_schema_input_type=Binding | int | list[int])
]


DpdkDevice = Annotated[str, Field(min_length=1)]


def check_database(written: object) -> object:
    """A URL of a database, without a password: what was asked for is kept with every result. Raises ValueError."""
    try:
        address = urlsplit(written) if isinstance(written, str) else None
    except ValueError:
        raise ValueError("a URL expected, as postgresql://user@host/nodrop") from None
    if address and (address.password or "password" in parse_qs(address.query)):
        raise ValueError(
            "a password asked, it would be kept with every result; put it into ~/.pgpass or PGPASSWORD, and write "
            "postgresql://user@host/nodrop"
        )
    return written


Database = Annotated[str, Field(min_length=1), BeforeValidator(check_database, json_schema_input_type=str)]


class GoalConfig(Value):
    """A goal with attributes of its own (RFC 9971 Search Goal). What is null is the search's."""

    loss_ratio: Share
    """Share of the frames that a trial may lose and still meet the goal, as `0.5%`; 0 up to, not including, 100 %."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that trials with more loss may take; null: `search.exceed_ratio`."""
    initial_trial_duration: Seconds | None = None
    """Duration of the shortest trials; null: `search.initial_trial_duration`, at most the final one."""
    final_trial_duration: Seconds | None = None
    """Duration from which on a trial counts in full; null: `search.final_trial_duration`."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load; null: `search.duration_sum`."""
    width: Width | None = None
    """How close the bounds have to be; null: `search.width`."""


RATIO_FORM, ATTRIBUTES_FORM = "(ratio)", "(attributes)"
"""The two ways to write a goal: a loss ratio alone, or keys with values."""


def _goal_form(written: object) -> str:
    return ATTRIBUTES_FORM if isinstance(written, (dict, GoalConfig)) else RATIO_FORM


GoalInput = Annotated[
    Annotated[Share, Tag(RATIO_FORM)] | Annotated[GoalConfig, Tag(ATTRIBUTES_FORM)], Discriminator(_goal_form)
]


class SearchConfig(Value):
    """How to search. What is null comes from the profile."""

    algorithm: AlgorithmName | None = None
    """The search by name; docs/reference/search-options.md says which keys each of them heeds."""
    initial_trial_duration: Seconds | None = None
    """Duration of the first, shortest trials, as `0.5s`; above 0."""
    final_trial_duration: Seconds | None = None
    """Duration of the trials that decide, as `30s`; at least the initial one."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load, as `21s`; at least the final trial duration. nodrop, mlrsearch-rfc9971."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that trials with too much loss may take at a load that still counts as met, as `50%`; 0
    up to, not including, 100 %. nodrop, mlrsearch-rfc9971."""
    width: Width | None = None
    """How close the bounds of a goal have to be, (upper - lower) / upper, as `1%`; above 0, below 100 %."""
    intermediate_phases: int | None = Field(default=None, ge=0, le=10)
    """Phases between the initial and the final trial duration; 0 to 10. mlrsearch-01, mlrsearch-03."""
    expansion_coefficient: float | None = Field(default=None, gt=1, le=64)
    """How much wider each further step is while a bound is missing; above 1, at most 64. mlrsearch-01,
    mlrsearch-rfc9971."""
    doublings: int | None = Field(default=None, ge=1, le=10)
    """How often the width doubles while a bound is missing; 1 to 10. mlrsearch-03."""
    preceding_targets: int | None = Field(default=None, ge=0, le=10)
    """Coarser targets before the final one of each goal; 0 to 10. mlrsearch-rfc9971."""
    fail_fast: bool | None = None
    """Whether a goal that fails at the lowest load ends the whole search. mlrsearch-rfc9971."""
    joint: bool | None = None
    """Whether trials made for one goal count for the others. binary."""
    verify_trials: int | None = Field(default=None, ge=1, le=100)
    """Trials at a load before its loss counts, the first included (ETSI GS NFV-TST 009 max(r)); 1 to 100.
    binary-loss-verification."""
    verify_lost_count: int | None = Field(default=None, ge=0)
    """Loss of so many frames or more is not verified (ETSI GS NFV-TST 009 z); null: always verified.
    binary-loss-verification."""
    load_epsilon: Width | None = None
    """Share of the highest load at which the range is narrow enough, as `0.1%`; above 0, below 100 %. nfvbench."""
    trial_count: int | None = Field(default=None, ge=1, le=1000)
    """Trials at the highest load; 1 to 1000. mrr."""
    initial_count: int | None = Field(default=None, ge=0, le=100000)
    """How many duration increments the first trial lasts; 0 to 100000. plrsearch."""
    duration_increment: Seconds | None = None
    """How much longer each trial is than the one before, as `0.1s`; above 0. plrsearch."""
    warm_start: str | None = Field(default=None, min_length=1)
    """An earlier result of the same SUT and traffic to start from: a file, a run id or `latest`. nodrop."""
    min_load: Load | None = None
    """Lowest load to try, frames per second over all directions, as `10kpps`; null: the lowest at which one width is
    still a whole frame per direction and shortest trial."""
    max_load: Load | None = None
    """Highest load to try, frames per second over all directions, as `2Mpps`; null: the line rate of the links."""
    max_duration: Seconds | None = None
    """Time after which the search gives up, which is an error, as `10min`; above 0."""
    budget: Seconds | None = None
    """Time the search may take, after which the best answer by then counts, as `60s`; above 0. Goes before
    `max_duration`."""
    repeat_invalid: int | None = Field(default=None, ge=0, le=100)
    """How often an invalid trial is tried again before the search gives up; 0 to 100."""


class LatencyConfig(Value):
    """The latency trials after the search."""

    enabled: bool = True
    """Whether to measure latency at the loads found, and at half of the highest."""
    trial_duration: Seconds | None = None
    """Duration of each of these trials, as `3s`; above 0; null: from the profile."""
    percentiles: tuple[Annotated[float, Field(ge=0, le=100)], ...] = (25.0, 75.0, 99.0)
    """Percentiles of latency to report, each 0 to 100, as `[50, 99, 99.9]`."""


class DpdkConfig(Value):
    """DPDK, where that is the back end (docs/how-to/dpdk.md)."""

    devices: Literal["auto"] | tuple[DpdkDevice, ...] = "auto"
    """The device that each tester port is, with DPDK's arguments, as `["0000:03:00.0", "0000:03:00.1"]` or
    `["net_memif0,role=server", "net_memif1,role=client"]`; `auto`: the lab's interfaces, by `driver`. Devices that are
    not on those need `sut: wire`, and what joins them is measured."""
    driver: Literal["net_af_packet", "net_af_xdp"] = "net_af_packet"
    """Driver on the lab's interfaces: `net_af_packet` or `net_af_xdp`."""
    huge_pages: Literal["auto", "none"] = "auto"
    """Whether huge pages are used: `auto`, when enough are free, or `none`."""


class EngineConfig(Value):
    """The packet engine."""

    cores: Cores = "auto"
    """CPUs for the engine's threads, one each: `auto` (the first, where there are several), `none`, or as `[0, 2]`."""
    queue_slots: int = Field(default=32768, ge=64, le=1048576)
    """Frames a tester port can hold before the tester itself drops; 64 to 1048576."""
    backend: Backend | Literal["auto"] = "auto"
    """How frames get in and out of the tester's ports: `af_packet`, `af_xdp`, `xdp_live`, `dpdk`, or `auto`, the truest
    for the SUT: `xdp_live` for `xdp`, else `af_packet`."""
    dpdk: DpdkConfig = DpdkConfig()
    """DPDK, where that is the back end."""
    catch_up: Seconds = 0.02
    """How much a sender that was held up may send at once afterwards, as the time in which it was due, as `20ms`; above
    0. What was due before is never sent, and counts as lost."""
    latency_every: int | None = Field(default=None, ge=0)
    """Measure the latency of every so many frames, 0: of none; null: of every one up to 4 Mpps a port, fewer beyond."""


class PatternConfig(Value):
    """How the load varies during a trial; its mean is the trial's load. Each kind heeds the keys named beside it."""

    kind: PatternKind = "flat"
    """The course of the load: `flat`, or `burst`, `sawtooth`, `triangle`, `sinusoid`, `stair`, `random`, `poisson`."""
    period: Annotated[Seconds, Field(ge=1e-4)] = 1.0
    """Length of a period, as `100ms`; it is made to fit a trial a whole number of times. All but flat and poisson."""
    amplitude: Fraction = 0.5
    """How far the load departs from its mean, as a share of it, as `50%`; 0 to 100 %. All but flat, burst, poisson."""
    duty: Annotated[Fraction, Field(ge=0.001)] = 0.5
    """Share of a period in which a burst is sent, as `25%`; 0.1 to 100 %. burst."""
    steps: int = Field(default=5, ge=2, le=1000)
    """Steps of a stair; 2 to 1000. stair."""
    direction: StairDirection = "up"
    """Which way a stair goes: `up`, `down` or `up_down`. stair."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """The same seed draws the same load; from 0. random, poisson."""


class NeighborsConfig(Value):
    """What the tester is on its links: ARP and neighbour discovery, see docs/reference/neighbours.md."""

    resolve: bool | None = None
    """Whether the tester asks for the MAC addresses its frames are sent to before the path is checked; null: where the
    SUT routes (`router`, `vnf-l3`). Also through `bridge`, `ovs` and `wire`, where its other end answers."""
    announce_every: Annotated[Seconds, Field(ge=0.001, le=86400)] | None = None
    """How often it announces its own addresses unasked, in trials too, as `1s`; 1 ms to a day (gratuitous ARP,
    unsolicited neighbour advertisements). Null: never."""
    timeout: Annotated[Seconds, Field(le=60)] = 1.0
    """How long to wait for answers each time it asks, as `1s`; above 0, at most 60 s."""
    tries: int = Field(default=3, ge=1, le=100)
    """How often it asks before the run ends with an error; 1 to 100."""


class CaptureConfig(Value):
    """Frames of trials kept in pcapng files."""

    file: str | None = Field(default=None, min_length=1)
    """Where to, as `seen.pcapng`; each trial has its own file, as `seen-12.pcapng`. Null: no capture."""
    trials: Literal["latency", "search", "all"] = "latency"
    """Of which trials: `latency`, those after the search at the loads found, `search`, whose figures it may lower, or
    `all`."""
    way: Literal["sent", "received", "both"] | None = None
    """Frames that leave the tester, that arrive, or `both`; null: both, with `xdp_live` received."""
    ports: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Tester ports, counted from 0, as `[0]`; none: all."""
    filter: str | None = Field(default=None, min_length=1)
    """Only frames that this lets through, as `udp port 53` (pcap-filter(7)); needs libpcap."""
    frames: int = Field(default=100_000, ge=1, le=10_000_000)
    """The first so many frames of each trial; 1 to 10 million."""
    bytes: int = Field(default=2**26, ge=2**20, le=2**30)
    """Memory for the frames of a trial, in bytes; 1 MiB to 1 GiB."""
    snap: int = Field(default=9216, ge=14, le=262144)
    """Bytes kept of each frame; 14 to 262144. Of those that arrive, packet sockets show the first 176 or more."""


class VnfConfig(Value):
    """The loopback VNF, where that is the SUT."""

    core: Core = "auto"
    """CPU for its thread: `auto` (the last, where there are several, and with more VNFs those before it), `none`, or as
    `1`."""
    backend: VnfBackend = "af_packet"
    """How frames get in and out of its ports: `af_packet`, anywhere; `af_xdp`, as root."""
    queue_slots: int | None = Field(default=None, ge=64, le=1048576)
    """Frames it can hold for each of its ports before it drops; 64 to 1048576; null: 4096 with up to 8 chains, fewer
    with more, 512 from 64 on."""
    capacity: Load | None = None
    """Frames per second that each forwards at most, over all its ports, as `20kpps`: a SUT whose truth is known, to try
    a tester or a verdict out. It makes up for 50 ms in which it was idle or off its CPU. Null: as many as it can.
    `vnf-l2`, `vnf-l3`."""
    table: Annotated[Size, Field(ge=64, le=2**40)] | None = None
    """Bytes of a table with an account of every flow, as a firewall has; each frame looks up and writes a line of it.
    As `64MiB`; null: none. `vnf-l2`, `vnf-l3`."""
    pages: PageKind = "usual"
    """In which pages that table is, and with `af_xdp` its frames: `usual`, as the kernel sees fit; `small`, never in
    large ones; `large`, of those set aside where enough are free, else transparent ones."""
    memory_node: int | None = Field(default=None, ge=0, lt=1024)
    """NUMA node that its memory comes from, its ports' rings too; null: as the kernel sees fit, that of its CPU."""
    softirq_core: int | None = Field(default=None, ge=0)
    """CPU on which the kernel receives the frames for it (receive packet steering); null: the sender's."""


class AntagonistConfig(Value):
    """A noisy neighbour of the SUT, by stress-ng, while the lab stands (ETSI GS NFV-PER 001 clause 8.2.2.5)."""

    kind: AntagonistKind | Literal["none"] = "none"
    """What it loads: `cpu`, its CPU alone; `memory`, by streams through it; `cache`, by thrashing it; or `none`."""
    cores: Cores = "auto"
    """Its CPUs, one program each: `auto`, those of the SUT's processes, or as `[2]`."""


class Config(Value):
    """A run as a user asks for it."""

    profile: ProfileName = "quick"
    """Durations and precision: `quick` answers in about a minute, `standard` takes trials as long as those of
    draft-ietf-bmwg-mlrsearch-01, `csit` the goals and the search of FD.io CSIT."""
    sut: SutKind = "vnf-l2"
    """What to measure. nodrop's own: `vnf-l2` joins two ports, `vnf-l3` routes, each on one thread; `xdp` redirects in
    the driver. The Linux kernel's: `bridge`, `router`. Open vSwitch in user space: `ovs`. `wire` joins the tester's
    ports to one another, `ext` is there already, `openstack` is staged in a cloud."""
    generator: GeneratorName = "engine"
    """Who sends and receives: nodrop's own packet `engine`, or a server of `trex`."""
    chains: int = Field(default=1, ge=1, le=128)
    """Parallel service chains, each with forwarders of its own; 1 to 128."""
    networks: Literal["auto", "ports", "vlan", "shared"] = "auto"
    """How chains reach the tester: `ports`, two tester ports for each (up to 8 chains); `vlan`, two ports for all and a
    VLAN for each chain and side; `shared`, two ports and one network a side, chains told apart by MAC address; `auto`:
    `ports` for one chain without VLANs, else `vlan`."""
    vlans: Vlans = None
    """VLAN of every chain on the left and on the right, as `[[100, 101], [200, 201]]`; 1 to 4094; null: chosen where
    `networks` needs them."""
    macs: Macs = None
    """MAC address that frames of every chain are sent to, on the left and on the right; null: known or asked for."""
    ports: tuple[str, ...] = ()
    """Interfaces that lead to a SUT that is already there (`sut: ext`) or in a cloud (`sut: openstack`), as `[eth1,
    eth2]`."""
    allow_addressed_ports: bool = False
    """Whether `ports` may have IP addresses or routes; who else uses them then loses frames to the tester."""
    routers: bool = False
    """Whether a router stands at each end of every chain: of the Linux kernel, or with `openstack` of Neutron.
    `vnf-l3`."""
    idle_interfaces: int = Field(default=0, ge=0, le=8)
    """Further interfaces of every VNF that stay silent; 0 to 8."""
    hops: int = Field(default=1, ge=1, le=2)
    """Forwarders in line in each chain: 1 (PVP) or 2 (PVVP). Two for `vnf-l2`, `vnf-l3`, `bridge` and `openstack`."""
    lab: str | None = None
    """Name of a lab left standing (`nodrop lab up`) to measure in; null: a private one."""
    frame_bytes: int = Field(default=64, ge=64, le=9216)
    """Frame size with FCS (RFC 1242 section 3.5), in bytes; 64 to 9216."""
    bidirectional: bool = True
    """Whether traffic goes both ways at once, half of the load each."""
    frame_sizes: FrameSizes = ()
    """Several sizes, measured one after the other, as `[64, IMIX, 1518]`: bytes with FCS, `IMIX` (7 x 64, 4 x 594, 1 x
    1518), or a genome; none: `frame_bytes`."""
    flow_count: Count = Field(default=512, ge=1, le=2**30)
    """Flows over all chains and both directions, spread evenly; told apart by source port (with ICMP by identifier),
    beyond 16384 a stream also by source address, or as `flows` says. At least one for each stream, at most 4194304."""
    flows: FlowsConfig = FlowsConfig()
    """How flows are told apart."""
    gateways: GatewaysConfig = GatewaysConfig()
    """Addresses on the links to the SUT."""
    tunnel: TunnelConfig = TunnelConfig()
    """Frames of each chain in a tunnel of its own."""
    rate: Rate = "ndr_pdr"
    """What to measure: `ndr`, `pdr`, `ndr_pdr`, or a fixed rate over all directions together, as `10kpps`, `2.5Gbps`
    (layer 1), `50%` (of the line rate of each direction)."""
    duration: Seconds = 10.0
    """Duration of a trial at a fixed rate, as `10s`; above 0."""
    interval: Seconds | None = None
    """How often to say, during a trial at a fixed rate, what was sent, received and dropped since, as `1s`; null:
    never."""
    link_speed: str | None = None
    """Line rate of the tester's links that 100 % stands for, as `10Gbps`; null: what the interface says."""
    path_check: bool = True
    """Whether frames are sent through every chain both ways before anything is measured."""
    path_check_timeout: Annotated[Seconds, Field(le=86400)] | None = None
    """How long that is tried until frames come through, as `200s`; above 0; null: once, in a cloud as long as VMs may
    take to boot (200 s)."""
    no_traffic: bool = False
    """Whether to stop once the path was brought up and checked."""
    repeat: int = Field(default=1, ge=1, le=1000)
    """How often to measure, each time as a run of its own, several frame sizes one after the other each time; 1 to
    1000."""
    label: Text | None = None
    """A name for the run, kept with its result."""
    user_info: UserInfo = Field(default_factory=dict)
    """Anything to keep with the result. `extra_encapsulation_bytes` says by how much the SUT makes frames larger."""
    traffic: TrafficConfig = TrafficConfig()
    """What frames are made of."""
    pattern: PatternConfig = PatternConfig()
    """How the load varies during a trial."""
    goals: dict[str, GoalInput] = Field(default={"NDR": 0.0, "PDR": 0.005}, min_length=1)
    """What to look for, label: loss ratio, as `PDR: 0.5%`, or with attributes, as `NDR: {loss_ratio: 0, duration_sum:
    21s}`; 0 up to, not including, 100 %. Whoever names one names all."""
    search: SearchConfig = SearchConfig()
    """How to search."""
    latency: LatencyConfig = LatencyConfig()
    """The latency trials after the search."""
    engine: EngineConfig = EngineConfig()
    """The packet engine."""
    trex: TrexConfig = TrexConfig()
    """TRex, where that is the generator."""
    openstack: OpenStackConfig = OpenStackConfig()
    """OpenStack, where chains are staged there."""
    neighbors: NeighborsConfig = NeighborsConfig()
    """What the tester is on its links."""
    vnf: VnfConfig = VnfConfig()
    """The loopback VNF."""
    antagonist: AntagonistConfig = AntagonistConfig()
    """A noisy neighbour."""
    drop_reasons: bool = True
    """Whether the kernel's own reasons for dropped frames are counted, where the kernel forwards (`bridge`, `router`);
    costs the tester about 2 % of its highest rate."""
    capture: CaptureConfig = CaptureConfig()
    """Frames of trials kept in files."""
    plugins: bool = True
    """Whether installed configuration plugins supply defaults."""
    results_dir: str = Field(default="results", min_length=1)
    """Directory the result goes to, as `<results_dir>/<run id>/result.json`."""
    results_index: Database | None = None
    """Database that results are looked up in, as `postgresql://user@host/nodrop`; null: `index.sqlite` in the results
    directory. It can be made again from the files at any time."""
    ship: ShipConfig = ShipConfig()
    """Who else is told of the run: Fluentd, log file, events, metrics."""
    nfvbench: dict[str, Any] = Field(default_factory=dict)
    """Keys of NFVbench's configuration as they were written; not to be written here."""
