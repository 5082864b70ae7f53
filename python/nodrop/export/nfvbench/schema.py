"""NFVbench's result JSON as types: its nesting, names and units.

Rates are in bits per second on the wire (layer 1: 20 bytes a frame more) or packets per second, times in whole
microseconds, shares in percent. A field that does not apply is absent; null is what is not known.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Form(BaseModel):
    """A branch of the JSON; never NaN or infinite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, serialize_by_alias=True
    )


class Rate(Form):
    """A rate in all three units."""

    initial_rate_type: str | None = None
    """`rate_pps`, `rate_bps` or `rate_percent`: in which of them it was asked for."""
    rate_pps: int | float
    rate_bps: int | float
    rate_percent: float
    """Of the line rate of one direction; a total of both has up to 200."""


class DirectionRates(Form):
    """Asked for, sent, and received at the far end."""

    orig: Rate
    tx: Rate
    rx: Rate


class RunConfig(Form):
    """Rates of a run at a fixed rate, each way and in total."""

    direction_forward: DirectionRates = Field(serialization_alias="direction-forward")
    direction_reverse: DirectionRates = Field(serialization_alias="direction-reverse")
    direction_total: DirectionRates = Field(serialization_alias="direction-total")
    garp_direction_total: DirectionRates | None = Field(default=None, serialization_alias="garp-direction-total")
    warning: str | None = None
    """What speaks against the rates."""


class Delays(Form):
    """Latency in microseconds."""

    avg_delay_usec: int | None
    min_delay_usec: int | None
    max_delay_usec: int | None
    hdrh: str | None = None
    """The whole histogram, in microseconds: HdrHistogram V2, deflated, base64."""
    lat_percentile: dict[str, int] | None = None
    """By percentile, as `99`."""


class Sent(Form):
    """Frames that left."""

    total_pkts: int
    total_pkt_bytes: int
    """With FCS."""
    pkt_rate: int
    """Packets per second."""
    pkt_bit_rate: int
    """Bits per second, FCS included, gaps not (layer 2)."""


class Received(Delays):
    """Frames that arrived, and those that should have."""

    total_pkts: int
    total_pkt_bytes: int
    pkt_rate: int
    pkt_bit_rate: int
    dropped_pkts: int
    """Sent to this port from the other one, and not received."""


class PortStats(Form):
    """One port, or both together."""

    tx: Sent
    rx: Received
    drop_rate_percent: float | None
    """`dropped_pkts` as a share of what was sent to this port; null where nothing was."""
    hdrh: str | None = None


class Theory(Form):
    """What both directions together sent, and the most they could."""

    total_tx_rate: int
    """Packets per second, as measured."""
    offered_tx_rate_bps: float
    """The same in bits per second."""
    theoretical_tx_rate_pps: float
    """What fills the links inside the SUT, where frames are larger by `user_info.extra_encapsulation_bytes`."""
    theoretical_tx_rate_bps: float
    """The same in bits per second, without those bytes."""
    warning: str | None = None


class FixedStats(Theory):
    """Counters of a run at a fixed rate, by port: 0 is on the left, 1 on the right."""

    left: PortStats = Field(serialization_alias="0")
    right: PortStats = Field(serialization_alias="1")
    overall: PortStats
    """Sums; rates are the mean of the directions with traffic."""
    garp_total_tx_rate: int | None = None


class ChainPath(Form):
    """One chain, one way."""

    packets: tuple[int | str | None, ...]
    """Counters in the order of `interfaces`; an empty text where chains share one, null where nobody counts."""
    lat_min_usec: int | None
    lat_max_usec: int | None
    lat_avg_usec: int | None
    hdrh: str | None = None
    lat_percentile: dict[str, int] | None = None


class DirectionPath(Form):
    """All chains one way, hop by hop."""

    interfaces: tuple[str, ...]
    """Who counts: `<device>.<TX or RX>.<interface>`."""
    chains: dict[str, ChainPath]
    """`0` to the last, and with several `total`."""


class Paths(Form):
    """Both directions; zeros where nothing was to be sent."""

    forward: DirectionPath = Field(serialization_alias="Forward")
    reverse: DirectionPath = Field(serialization_alias="Reverse")


class FixedResult(Form):
    """One frame size at a fixed rate."""

    run_config: RunConfig
    stats: FixedStats
    packet_path_stats: Paths


class SearchedPort(Delays):
    """One port, or both together, at a load that was found."""

    tx_pkts: int
    rx_pkts: int
    dropped_pkts: int
    """Sent to this port and not received."""
    drop_percentage: float | None
    """The same as a share of what was sent to this port; null where nothing was."""
    drop_pct: float | None
    """`drop_percentage` again."""


class SearchedStats(Theory):
    """Counters of the trial that measured a load, by port."""

    left: SearchedPort = Field(serialization_alias="0")
    right: SearchedPort = Field(serialization_alias="1")
    overall: SearchedPort


class GoalLoad(Form):
    """The highest load that met a goal, as it was really sent; all zero where none did."""

    l2frame_size: str
    duration_sec: float
    """Of the trial, as measured."""
    initial_rate_type: str
    rate_percent: float
    """Of line rate, summed over directions: 200 is line rate both ways."""
    rate_pps: int
    """Total."""
    rate_bps: int
    """Total."""
    load_percent_per_direction: float
    stats: SearchedStats
    packet_path_stats: Paths | None = None
    timestamp_sec: float
    """When it was settled, seconds since 1970."""
    time_taken_sec: float
    """From the start of the search until then."""


class Iteration(Form):
    """One trial of a search, totals over directions."""

    tx_pps: int
    """Asked for."""
    total_tx_pps: int
    """Sent."""
    tx_pkts: int
    rx_pps: int
    rx_pkts: int
    dropped_pkts: int
    drop_pct: float
    """`drop_percentage` again."""
    drop_percentage: float
    time_ms: int
    """When it ended, milliseconds since 1970."""
    warning: str | None = None
    ndr_pps: int | None = None
    """On the trial that settled it: the NDR."""
    pdr_pps: int | None = None


class Iterations(Form):
    """The search, trial by trial."""

    ndr_pdr: tuple[Iteration, ...]


class SearchedResult(Form):
    """One frame size with loads that were searched for; goals of other names stand beside these two."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, GoalLoad]

    ndr: GoalLoad | None = None
    pdr: GoalLoad | None = None
    iteration_stats: Iterations


class ChainMeasurement(Form):
    """What was measured of a service chain."""

    flow_count: int
    """Over all chains and directions."""
    service_chain_count: int
    bidirectional: bool
    profile: str
    """Name of the traffic profile."""
    compute_nodes: dict[str, Any]
    result: dict[str, FixedResult | SearchedResult | str]
    """By frame size; `warning` is a text, what speaks against all of it."""


class ServiceChain(Form):
    """A kind of path."""

    result: ChainMeasurement


class NetworkBenchmark(Form):
    """The one benchmark there is."""

    versions: dict[str, Any]
    service_chain: dict[str, ServiceChain]
    """`PVP`, `PVVP` or `EXT`; none where nothing was to be sent."""


class Benchmarks(Form):
    """What was benchmarked."""

    network: NetworkBenchmark


class NfvbenchResult(Form):
    """A whole result."""

    date: str
    """When it began, local time."""
    nfvbench_version: str
    """Who wrote it: `nodrop <version>`."""
    config: dict[str, Any]
    """Every key of NFVbench's configuration as it held, and what NFVbench adds to it."""
    openstack_spec: dict[str, str] = {}
    """`vswitch` and `encaps` of a cloud; not there without one."""
    benchmarks: Benchmarks
