"""The streams of a plan: who sends what to whom, and which fields change."""

import ipaddress
import itertools
from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.config.traffic import RangeConfig
from nodrop.errors import ConfigError
from nodrop.model.layer import Layer
from nodrop.model.plan import LabPlan
from nodrop.model.traffic import FieldRange, Increment, Listed, Random, Stream, Traffic
from nodrop.plan.chains import ChainEnd, chain_ends
from nodrop.plan.headers import Ends, find_field, plan_layers
from nodrop.plan.pattern import plan_pattern
from nodrop.plan.replay import Replayed, replay_streams
from nodrop.plan.sizes import plan_sizes

PORTS_MAX = 16384
"""Source ports from the first dynamic one on (RFC 6335)."""
IDENTIFIERS_MAX = 65536
BEHIND_HEADERS_BYTES = 18 + 4
"""Signature and FCS."""
SMALLEST_FRAME_BYTES = 64
FRAMES_MAX = 2**23
"""Frames after which every range has begun again, at most."""


def plan_traffic(config: Config, lab: LabPlan, replayed: Replayed | None = None) -> Traffic:
    """All streams, of made frames or of a file's.

    Raises: ConfigError when headers, sizes and ranges do not go together.
    """
    if replayed:
        streams = tuple(replay_streams(config, lab, replayed))
    else:
        streams = tuple(_streams(config, lab))
        _check_sizes(streams[0])
    return Traffic(streams=streams, pattern=plan_pattern(config.pattern))


def _streams(config: Config, lab: LabPlan) -> Iterator[Stream]:
    """Those of each direction and chain, addressed to whatever is next on their way."""
    asked = config.traffic
    sizes, order = plan_sizes(config)
    ways = range(2 if config.bidirectional else 1)
    for ends, way, number in itertools.product(chain_ends(config, lab), ways, range(asked.streams)):
        here, there = ends[way], ends[1 - way]
        layers = plan_layers(asked, _ends(config, here, there, number))
        header_bytes = sum(layer.header_bytes for layer in layers)
        yield Stream(
            stream_id=(2 * here.chain + way) * asked.streams + number,
            tx_port=here.port,
            rx_port=there.port,
            chain=here.chain,
            share=(asked.forward if way == 0 else 1 - asked.forward) if config.bidirectional else 1.0,
            sizes=sizes,
            size_order=order,
            layers=layers,
            ranges=_ranges(config, layers),
            rx_offsets=tuple(header_bytes + shift for shift in asked.rx_shift),
        )


def _ends(config: Config, here: ChainEnd, there: ChainEnd, number: int) -> Ends:
    """The sending end has an address for each stream and each of its `_split` addresses."""
    addresses = _split(config)[1]
    first = [ipaddress.ip_address(ip) + number * addresses for ip in here.tester_ips]
    network = here.networks[0]
    if int(first[0]) + addresses > int(network[-3]):
        raise ConfigError(
            f"flow_count and traffic.streams: {config.flow_count} and {config.traffic.streams} asked, {network} "
            "has too few source addresses for so many; take fewer of either"
        )
    return Ends(
        src_mac=here.tester_mac,
        dst_mac=here.next_mac,
        src_ips={ip.version: str(ip) for ip in first},
        dst_ips=dict(zip((4, 6), there.tester_ips, strict=True)),
    )


def _split(config: Config) -> tuple[int, int]:
    """Flows as source ports (or identifiers) times source addresses. Raises ConfigError."""
    flows, most = config.flow_count, IDENTIFIERS_MAX if config.traffic.transport == "icmp" else PORTS_MAX
    ports = _largest_divisor(flows, most)
    if flows // ports > 4 * FRAMES_MAX // PORTS_MAX:
        near = flows - flows % PORTS_MAX
        raise ConfigError(
            f"flow_count: {flows} asked, flows are source ports times source addresses, up to {most} ports; "
            f"write a number that can be divided so, for example {near}"
        )
    return ports, flows // ports


def _largest_divisor(number: int, most: int) -> int:
    return next(divisor for divisor in range(min(number, most), 0, -1) if number % divisor == 0)


def _ranges(config: Config, layers: tuple[Layer, ...]) -> tuple[FieldRange, ...]:
    """The flows' own, then those written: each changes when those before it have gone through."""
    ports, addresses = _split(config)
    first: list[RangeConfig] = []
    if ports > 1:
        first.append(RangeConfig(field="identifier" if config.traffic.transport == "icmp" else "src_port", count=ports))
    if addresses > 1:
        first.append(RangeConfig(field="src_ip", count=addresses))
    taken = {(part.field) for part in first}
    made: list[FieldRange] = []
    for asked in (*first, *config.traffic.ranges):
        if asked.field in taken and asked not in first:
            raise ConfigError(
                f"traffic.ranges: {asked.field} asked, flows change it already; write flow_count: 1, or another field"
            )
        made.append(_range(asked, layers, made))
    return tuple(made)


def _range(asked: RangeConfig, layers: tuple[Layer, ...], before: list[FieldRange]) -> FieldRange:
    layer, field = find_field(layers, asked.field)
    values = _values(asked)
    every = 1
    if before:
        last = before[-1]
        every = last.every if asked.together else last.every * last.values.count
    if every * values.count > FRAMES_MAX:
        raise ConfigError(
            f"traffic.ranges: {asked.field} asked with {values.count} values, each for {every} frames; all counts "
            f"multiply to more than {FRAMES_MAX}; take fewer values, or write together: true"
        )
    return FieldRange(layer=layer, field=field, values=values, every=every)


def _values(asked: RangeConfig) -> Increment | Listed | Random:
    if asked.values is not None:
        return Listed(values=asked.values)
    if asked.count is None:
        raise ConfigError(f"traffic.ranges: {asked.field} asked without count or values; write one of them")
    if asked.seed is not None:
        return Random(count=asked.count, span=asked.span or asked.count, seed=asked.seed)
    return Increment(count=asked.count, step=asked.step)


def _check_sizes(stream: Stream) -> None:
    """Refuse sizes too small for headers and signature."""
    smallest = max(SMALLEST_FRAME_BYTES, stream.header_bytes + BEHIND_HEADERS_BYTES)
    for size in stream.sizes:
        if size.frame_bytes < smallest:
            key = "frame_bytes" if len(stream.sizes) == 1 else "traffic.imix or traffic.genome"
            stack = ", ".join(layer.kind for layer in stream.layers)
            raise ConfigError(
                f"{key}: {size.frame_bytes} asked, {stack} and the signature need {smallest}; "
                f"write {smallest} or more, or take fewer headers"
            )
