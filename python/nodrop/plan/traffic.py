"""The streams of a plan: sender, receiver and varying fields."""

import itertools
from collections.abc import Iterator

from nodrop.config.schema import Config, PatternConfig
from nodrop.config.traffic import RangeConfig
from nodrop.errors import ConfigError
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Layer
from nodrop.model.pattern import BurstLoad, FlatLoad, LoadPattern, PoissonLoad, RandomLoad, StairLoad, WaveLoad
from nodrop.model.traffic import FieldRange, IncrementedValues, ListedValues, RandomValues, SizeShare, Stream, Traffic
from nodrop.plan import bras
from nodrop.plan.chain_ends import ChainEnd, plan_chain_ends
from nodrop.plan.flow_fields import PORTS_MAX, StreamFlows, plan_flows
from nodrop.plan.frame_sizes import BEHIND_HEADERS_BYTES, plan_sizes
from nodrop.plan.headers import StreamEnds, find_field, plan_layers
from nodrop.plan.pcap_files import ReplayInput, build_replay_streams
from nodrop.plan.tunnel import build_tunnel_layers, check_tunnel

SMALLEST_FRAME_BYTES = 64
FRAMES_MAX = 2**23
"""Largest number of frames after which every range has restarted."""
RANGES_MAX = 8
"""Largest number of varying fields of a frame."""


def plan_traffic(config: Config, lab: LabPlan, replayed: ReplayInput | None = None) -> Traffic:
    """Return all streams, of synthetic frames or of a file's.

    Raises: ConfigError if headers, sizes and ranges contradict each other.
    """
    if replayed:
        streams = tuple(build_replay_streams(config, lab, replayed))
    elif config.workload == "bras":
        streams = tuple(bras.build_streams(config, lab, *plan_sizes(config)))
    else:
        check_tunnel(config, lab.chain_count)
        streams = tuple(_build_streams(config, lab))
        _check_sizes(streams[0])
    return Traffic(streams=streams, pattern=_plan_pattern(config.pattern), warm_up_s=config.warm_up)


def _plan_pattern(section: PatternConfig) -> LoadPattern:
    """Return the load pattern with the keys that its kind uses."""
    period_s, amplitude_ratio = section.period, section.amplitude
    match section.kind:
        case "flat":
            return FlatLoad()
        case "burst":
            return BurstLoad(period_s=period_s, duty_ratio=section.duty)
        case "stair":
            return StairLoad(
                period_s=period_s,
                amplitude_ratio=amplitude_ratio,
                step_count=section.steps,
                direction=section.direction,
            )
        case "random":
            return RandomLoad(period_s=period_s, amplitude_ratio=amplitude_ratio, seed=section.seed)
        case "poisson":
            return PoissonLoad(seed=section.seed)
        case _:
            return WaveLoad(kind=section.kind, period_s=period_s, amplitude_ratio=amplitude_ratio)


def _build_streams(config: Config, lab: LabPlan) -> Iterator[Stream]:
    """Yield the streams of each direction and chain, addressed to their next hop."""
    section = config.traffic
    sizes, order = plan_sizes(config)
    chains = plan_chain_ends(config, lab)
    flows = plan_flows(config, [(left.networks, right.networks) for left, right in chains])
    ways = range(2 if config.bidirectional else 1)
    for ends, way, number in itertools.product(chains, ways, range(section.streams)):
        near, far = ends[way], ends[1 - way]
        stream_flows = flows[near.chain, way, number]
        layers = plan_layers(section, _build_ends(config, near, far, stream_flows))
        header_bytes = sum(layer.header_bytes for layer in layers)
        yield Stream(
            stream_id=(2 * near.chain + way) * section.streams + number,
            tx_port=near.port,
            rx_port=far.port,
            chain=near.chain,
            rx_vlan=far.tags[0].id if far.tags else None,
            share=(section.forward if way == 0 else 1 - section.forward) if config.bidirectional else 1.0,
            sizes=_with_room(sizes, header_bytes, _sum_chain_bytes(config, near)),
            size_order=order,
            layers=layers,
            ranges=_list_ranges(config, layers, stream_flows),
            rx_offsets=tuple(header_bytes + shift for shift in section.rx_shift),
        )


def _build_ends(config: Config, near: ChainEnd, far: ChainEnd, flows: StreamFlows) -> StreamEnds:
    return StreamEnds(
        src_mac=near.tester_mac,
        dst_mac=near.next_mac,
        src_ips=flows.src_ips,
        dst_ips=flows.dst_ips,
        src_port=flows.src_port,
        dst_port=flows.dst_port,
        tunnel_ips={
            source.version: (str(source[1]), str(destination[1]))
            for source, destination in zip(near.networks[:2], far.networks[:2], strict=True)
        },
        tags=near.tags,
        tunnel=build_tunnel_layers(config, near, far),
    )


def _list_ranges(config: Config, layers: tuple[Layer, ...], flows: StreamFlows) -> tuple[FieldRange, ...]:
    """Return the ranges of the flows, then the configured ones: each varies once per pass of the previous ones."""
    ranges = [
        FieldRange(layer=layer, field=field, values=part.values, every=part.every, period=part.period)
        for part in flows.changing
        for layer, field in [find_field(layers, part.field)]
    ]
    if config.tunnel.kind == "vxlan" and flows.flow_count > 1:
        ranges.append(_build_entropy(layers, flows.flow_count))
    used = {part.field for part in flows.changing}
    through, every = flows.flow_count, flows.changing[-1].every if flows.changing else 1
    for entry in config.traffic.ranges:
        if entry.field in used:
            raise ConfigError(
                f"traffic.ranges: the flows vary this field already ({entry.field}); use fewer flows, or another field"
            )
        every = every if entry.together else through
        ranges.append(_build_range(entry, layers, every))
        through = max(through, every * ranges[-1].values.count)
    if len(ranges) > RANGES_MAX:
        raise ConfigError(
            f"traffic.ranges: {len(ranges)} varying fields with those of the flows ({len(config.traffic.ranges)}), at "
            f"most {RANGES_MAX} are possible; remove some"
        )
    return tuple(ranges)


def _build_entropy(layers: tuple[Layer, ...], flow_count: int) -> FieldRange:
    """Return an outer source port for each flow, by which networks below the tunnel distribute them (RFC 7348 section
    5)."""
    layer, field = find_field(layers, "outer_src_port")
    count = min(flow_count, PORTS_MAX)
    period = flow_count if flow_count % count else None
    return FieldRange(layer=layer, field=field, values=IncrementedValues(count=count), period=period)


def _build_range(entry: RangeConfig, layers: tuple[Layer, ...], every: int) -> FieldRange:
    layer, field = find_field(layers, entry.field)
    values = _build_values(entry)
    if every * values.count > FRAMES_MAX:
        raise ConfigError(
            f"traffic.ranges: the period exceeds {FRAMES_MAX} frames ({entry.field}: {values.count} values of {every} "
            "frames each); use fewer values, or write together: true"
        )
    return FieldRange(layer=layer, field=field, values=values, every=every)


def _build_values(entry: RangeConfig) -> IncrementedValues | ListedValues | RandomValues:
    if entry.values is not None:
        return ListedValues(values=entry.values)
    if entry.count is None:
        raise ConfigError(f"traffic.ranges: neither count nor values ({entry.field}); write one of them")
    if entry.seed is not None:
        return RandomValues(count=entry.count, span=entry.span or entry.count, seed=entry.seed)
    return IncrementedValues(count=entry.count, step=entry.step)


def list_traffic_warnings(config: Config, traffic: Traffic) -> Iterator[str]:
    """Yield deviations of the sent frames from the configuration."""
    if config.traffic.replay.file is not None:
        return
    if config.workload == "bras":
        yield from bras.list_size_warnings(config, plan_sizes(config)[0])
        yield from bras.list_age_warnings(config)
        return
    tunneled = config.tunnel.kind != "none"
    reason = "the tunnel of each chain needs" if tunneled else "the VLAN tag that tells chains apart needs"
    seen = "" if tunneled else "; the chains themselves have it taken off"
    for requested, sent in zip(plan_sizes(config)[0], traffic.streams[0].sizes, strict=True):
        if requested != sent:
            yield (
                f"frames of {requested.frame_bytes} bytes are sent with {sent.frame_bytes}, to which all rates refer: "
                f"{reason} space next to the signature{seen}"
            )


def _sum_chain_bytes(config: Config, end: ChainEnd) -> int:
    """Return the bytes of headers that distinguish chains, in addition to the configured headers."""
    outside = build_tunnel_layers(config, end, end)[:-1] or end.tags
    return sum(layer.header_bytes for layer in outside)


def _with_room(sizes: tuple[SizeShare, ...], header_bytes: int, chain_bytes: int) -> tuple[SizeShare, ...]:
    """Return the sizes; those too small only because of the chain's headers become the smallest possible."""
    least, plain = _find_smallest_frame(header_bytes), _find_smallest_frame(header_bytes - chain_bytes)
    return tuple(size.replace(frame_bytes=least) if plain <= size.frame_bytes < least else size for size in sizes)


def _find_smallest_frame(header_bytes: int) -> int:
    return max(SMALLEST_FRAME_BYTES, header_bytes + BEHIND_HEADERS_BYTES)


def _check_sizes(stream: Stream) -> None:
    """Raise ConfigError for sizes too small for headers and signature."""
    smallest = _find_smallest_frame(stream.header_bytes)
    for size in stream.sizes:
        if size.frame_bytes < smallest:
            key = "frame_bytes" if len(stream.sizes) == 1 else "traffic.imix or traffic.genome"
            stack = ", ".join(layer.kind for layer in stream.layers)
            raise ConfigError(
                f"{key}: too small ({size.frame_bytes}), {stack} and the signature need {smallest}; write {smallest} "
                "or more, or use fewer headers"
            )
