"""NFVbench's result JSON as types: its nesting, names and units.

Rates are in bits per second on the wire (layer 1: 20 bytes a frame more) or packets per second, times in whole
microseconds, shares in percent. A field that does not apply is absent; null is an unknown value.
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
    """The unit of the configured rate: `rate_pps`, `rate_bps` or `rate_percent`."""
    rate_pps: int | float
    rate_bps: int | float
    rate_percent: float
    """Percent of the line rate of one direction; up to 200 for the total of both."""


class DirectionRates(Form):
    """Intended, sent and received rates."""

    orig: Rate
    tx: Rate
    rx: Rate


class RunConfig(Form):
    """Rates of a run at a fixed rate, by direction and in total."""

    direction_forward: DirectionRates = Field(serialization_alias="direction-forward")
    direction_reverse: DirectionRates = Field(serialization_alias="direction-reverse")
    direction_total: DirectionRates = Field(serialization_alias="direction-total")
    garp_direction_total: DirectionRates | None = Field(default=None, serialization_alias="garp-direction-total")
    warning: str | None = None
    """Reasons to distrust the rates."""


class Delays(Form):
    """Latency in microseconds."""

    avg_delay_usec: int | None
    min_delay_usec: int | None
    max_delay_usec: int | None
    hdrh: str | None = None
    """The histogram in microseconds: HdrHistogram V2, deflated, base64."""
    lat_percentile: dict[str, int] | None = None
    """Latency by percentile, e.g. `99`."""


class Sent(Form):
    """Sent frames."""

    total_pkts: int
    total_pkt_bytes: int
    """Bytes, including FCS."""
    pkt_rate: int
    """Packets per second."""
    pkt_bit_rate: int
    """Bits per second, including FCS, without gaps (layer 2)."""


class Received(Delays):
    """Received and dropped frames."""

    total_pkts: int
    total_pkt_bytes: int
    pkt_rate: int
    pkt_bit_rate: int
    dropped_pkts: int
    """Sent from the other port to this port, and not received."""


class PortStats(Form):
    """Statistics of one port, or of both ports."""

    tx: Sent
    rx: Received
    drop_rate_percent: float | None
    """`dropped_pkts` in percent of the frames sent to this port; null without frames."""
    hdrh: str | None = None


class Theory(Form):
    """Total sent rate and theoretical maximum of both directions."""

    total_tx_rate: int
    """Packets per second, as measured."""
    offered_tx_rate_bps: float
    """The rate in bits per second."""
    theoretical_tx_rate_pps: float
    """The line rate of the links inside the SUT, with frames larger by `user_info.extra_encapsulation_bytes`."""
    theoretical_tx_rate_bps: float
    """The rate in bits per second, without the extra bytes."""
    warning: str | None = None


class FixedStats(Theory):
    """Counters of a run at a fixed rate, by port: 0 is the left, 1 the right port."""

    left: PortStats = Field(serialization_alias="0")
    right: PortStats = Field(serialization_alias="1")
    overall: PortStats
    """Sums; rates are the mean of the directions with traffic."""
    garp_total_tx_rate: int | None = None


class ChainPath(Form):
    """One chain in one direction."""

    packets: tuple[int | str | None, ...]
    """Counters in the order of `interfaces`; an empty string for a counter shared by chains, null without a counter."""
    lat_min_usec: int | None
    lat_max_usec: int | None
    lat_avg_usec: int | None
    hdrh: str | None = None
    lat_percentile: dict[str, int] | None = None


class DirectionPath(Form):
    """All chains in one direction, hop by hop."""

    interfaces: tuple[str, ...]
    """Names of the counters: `<device>.<TX or RX>.<interface>`."""
    chains: dict[str, ChainPath]
    """Chains by number from `0`, and `total` with several chains."""


class Paths(Form):
    """Both directions; zeros without an intended load."""

    forward: DirectionPath = Field(serialization_alias="Forward")
    reverse: DirectionPath = Field(serialization_alias="Reverse")


class FixedResult(Form):
    """One frame size at a fixed rate."""

    run_config: RunConfig
    stats: FixedStats
    packet_path_stats: Paths


class SearchedPort(Delays):
    """Statistics of one port, or of both ports, at a resulting load."""

    tx_pkts: int
    rx_pkts: int
    dropped_pkts: int
    """Frames sent to this port and not received."""
    drop_percentage: float | None
    """Dropped frames in percent of the frames sent to this port; null without frames."""
    drop_pct: int
    """`dropped_pkts` again: NFVbench's name for the count."""


class SearchedStats(Theory):
    """Counters of the trial that measured a load, by port."""

    left: SearchedPort = Field(serialization_alias="0")
    right: SearchedPort = Field(serialization_alias="1")
    overall: SearchedPort


class GoalLoad(Form):
    """The highest load that met a goal, as sent; all zero without such a load."""

    l2frame_size: str
    duration_sec: float
    """Measured duration of the trial."""
    initial_rate_type: str
    rate_percent: float
    """Percent of line rate, summed over directions: 200 is line rate in both directions."""
    rate_pps: int
    """Total."""
    rate_bps: int
    """Total."""
    load_percent_per_direction: float
    stats: SearchedStats
    packet_path_stats: Paths | None = None
    timestamp_sec: float
    """Time of the decision, seconds since 1970."""
    time_taken_sec: float
    """Time from the start of the search to the decision."""


class Iteration(Form):
    """One trial of a search, totals over directions."""

    tx_pps: int
    """Intended rate."""
    total_tx_pps: int
    """Sent rate."""
    tx_pkts: int
    rx_pps: int
    rx_pkts: int
    dropped_pkts: int
    drop_pct: int
    """`dropped_pkts` again: NFVbench's name for the count."""
    drop_percentage: float
    time_ms: int
    """End of the trial, milliseconds since 1970."""
    warning: str | None = None
    ndr_pps: int | None = None
    """The NDR, on the trial that decided it."""
    pdr_pps: int | None = None


class Iterations(Form):
    """The search, trial by trial."""

    ndr_pdr: tuple[Iteration, ...]


class SearchedResult(Form):
    """One frame size with searched loads; goals with other names are additional fields."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, GoalLoad]

    ndr: GoalLoad | None = None
    pdr: GoalLoad | None = None
    iteration_stats: Iterations


class ChainMeasurement(Form):
    """The measurements of a service chain."""

    flow_count: int
    """Over all chains and directions."""
    service_chain_count: int
    bidirectional: bool
    profile: str
    """Name of the traffic profile."""
    compute_nodes: dict[str, Any]
    result: dict[str, FixedResult | SearchedResult | str]
    """Results by frame size; `warning` is a text with reasons to distrust all of them, absent at a fixed rate, where
    `run_config` has it."""


class ServiceChain(Form):
    """The result of a service chain."""

    result: ChainMeasurement


class NetworkBenchmark(Form):
    """The network benchmark."""

    versions: dict[str, Any]
    service_chain: dict[str, ServiceChain]
    """Results by `PVP`, `PVVP` or `EXT`; empty without traffic."""


class Benchmarks(Form):
    """All benchmarks."""

    network: NetworkBenchmark


class NfvbenchResult(Form):
    """A complete result."""

    date: str
    """Start, in local time."""
    nfvbench_version: str
    """The writer: `nodrop <version>`."""
    config: dict[str, Any]
    """Every key of NFVbench's configuration as used, with the keys that NFVbench adds."""
    openstack_spec: dict[str, str] = {}
    """`vswitch` and `encaps` of a cloud; absent without a cloud."""
    benchmarks: Benchmarks
