"""By which of TRex's counters each stream is counted."""

from nodrop.errors import GeneratorError
from nodrop.generator.trex.stream_set import FlowStatsIds
from nodrop.model.layer import Ethernet, IcmpEcho, Ipv4, Ipv6, Layer, Tcp, Udp, Vlan, Vxlan
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trex import TrexPlan

LATENCY_STREAMS_MAX = 128
"""That a server can measure at once, on all of its ports."""
TAGS_MAX = 2
FIRST = 1


def assign_ids(traffic: Traffic, plan: TrexPlan, counter_count: int) -> tuple[FlowStatsIds, ...]:
    """How each stream is counted, in their order: numbers are unique on all ports, however many chains there are.

    Args:
        counter_count: streams that the server's ports can count one by one.

    Raises: GeneratorError when there are not counters enough.
    """
    is_counted = plan.flow_stats and not plan.service_mode
    counted = [stream for stream in traffic.streams if is_counted and is_countable(stream)]
    timed = [stream for stream in counted if measures_latency(stream, plan)]
    _check(len(counted), len(timed), counter_count)
    numbers = {stream.stream_id: FIRST + at for at, stream in enumerate(counted)}
    latency = {stream.stream_id: FIRST + len(counted) + at for at, stream in enumerate(timed)}
    return tuple(
        FlowStatsIds(
            pg_id=numbers.get(stream.stream_id),
            latency_pg_id=latency.get(stream.stream_id),
            latency_load_pps=plan.latency_load_pps if stream.stream_id in latency else 0.0,
        )
        for stream in traffic.streams
    )


def measures_latency(stream: Stream, plan: TrexPlan) -> bool:
    """Whether a stream's latency is to be measured; that of echo requests cannot, whose checksum covers the mark."""
    return (
        plan.latency_load_pps > 0
        and stream.chain in plan.latency_chains
        and not isinstance(stream.layers[-1], IcmpEcho)
    )


def is_countable(stream: Stream) -> bool:
    """Whether TRex finds its mark in a stream's frames: in an IP header behind two tags at most, in VXLAN the inner.

    Labels, GRE and what is no IP are counted at the ports only; so are flow labels that change, where the mark goes.
    """
    inner = inner_layers(stream)
    behind = [layer for layer in inner if not isinstance(layer, Vlan)]
    tags = len(inner) - len(behind)
    if any(part.field == "flow_label" for part in stream.ranges) or tags > TAGS_MAX or len(behind) != 3:
        return False
    ethernet, ip, transport = behind
    return (
        isinstance(ethernet, Ethernet) and isinstance(ip, Ipv4 | Ipv6) and isinstance(transport, Udp | Tcp | IcmpEcho)
    )


def vxlan_port(stream: Stream) -> int | None:
    """The UDP port of the tunnel that a stream's frames are in; None: they are in none."""
    for layer, behind in zip(stream.layers, stream.layers[1:], strict=False):
        if isinstance(layer, Udp) and isinstance(behind, Vxlan):
            return layer.dst_port
    return None


def inner_layers(stream: Stream) -> list[Layer]:
    """The headers behind the tunnel's, all where there is no tunnel."""
    layers = list(stream.layers)
    tunnel = next((at for at, layer in enumerate(layers) if isinstance(layer, Vxlan)), None)
    return layers if tunnel is None else layers[tunnel + 1 :]


def _check(counted: int, timed: int, counter_count: int) -> None:
    if counted > counter_count:
        raise GeneratorError(
            f"trex.flow_stats: {counted} streams asked to be counted one by one, TRex's ports have {counter_count} "
            "counters; take fewer chains, or write trex.flow_stats: false to count at the ports only"
        )
    if timed > LATENCY_STREAMS_MAX:
        raise GeneratorError(
            f"trex: latency of {timed} streams asked, TRex measures {LATENCY_STREAMS_MAX} at once; "
            "measure that of fewer chains"
        )
