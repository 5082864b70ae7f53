"""Addresses and ports in a stream's frames: first values, and the varying fields that distinguish its flows."""

import ipaddress
import itertools
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from typing import NamedTuple

from nodrop.config.flows import FlowsConfig
from nodrop.config.schema import Config
from nodrop.config.traffic import RangeField
from nodrop.errors import ConfigError
from nodrop.model.traffic import IncrementedValues, RandomValues
from nodrop.plan import addressing
from nodrop.plan.flows import FLOWS_MAX, FlowFit, count_values, fit_nested, fit_parallel, split_evenly
from nodrop.units import format_count

PORTS_MAX = 16384
"""Number of dynamic source ports (RFC 6335)."""
IDENTIFIERS_MAX = 65536
FIRST_DYNAMIC_PORT = 49152
"""First dynamic port (RFC 6335), unassigned, so that no dissector misinterprets test frames."""
DISCARD_PORT = 9
DNS_PORT = 53
"""Both ports of flows that differ in their addresses, as in NFVbench."""
RANDOM_MAX = 2**20
"""Largest number of random values of a field: the engine keeps them in a table."""
FIELD_ORDER: tuple[RangeField, ...] = ("dst_ip", "src_ip", "src_port", "dst_port")
LARGEST_ADDRESS_RANGE = 2**32
"""Largest number of addresses used of an IPv6 network."""

ChainNetworks = Sequence[tuple[Sequence[addressing.IPNetwork], Sequence[addressing.IPNetwork]]]
"""Networks on the left and right of every chain, an IPv4 and an IPv6 network each."""
StreamKey = tuple[int, int, int]
"""Chain, direction (0 from the left) and number of a stream."""
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class VaryingField(NamedTuple):
    """A field that distinguishes flows."""

    field: RangeField
    values: IncrementedValues | RandomValues
    every: int
    period: int | None

    @property
    def span(self) -> int:
        """Distance from the first to the last possible value."""
        values = self.values
        return values.span - 1 if isinstance(values, RandomValues) else (values.count - 1) * values.step


class StreamFlows(NamedTuple):
    """The flows of a stream."""

    flow_count: int
    src_ips: dict[int, str]
    """First address by IP version."""
    dst_ips: dict[int, str]
    src_port: int
    dst_port: int
    changing: tuple[VaryingField, ...]


def plan_flows(config: Config, chains: ChainNetworks) -> dict[StreamKey, StreamFlows]:
    """Return the flows of every stream, in total exactly the configured number. Raises ConfigError."""
    shares = _split_flows(config, len(chains))
    if config.flows == FlowsConfig():
        return _vary_source_port(config, chains, shares)
    return _RangeFlows(config, chains).plan(shares)


def find_flow_networks(
    config: Config, base: ChainNetworks
) -> list[tuple[tuple[IPv4Network, ...], tuple[IPv4Network, ...]]]:
    """Return the destination networks of each chain's flows on each side if `flows.ip` is set.

    Raises: ConfigError if the flows are impossible.
    """
    if config.flows.ip is None:
        return [((), ())] * len(base)
    if len(base) == 1:
        left, right = config.flows.ip
        return [((left,), (right,))]
    networks: list[tuple[list[IPv4Network], list[IPv4Network]]] = [([], []) for _ in base]
    for (chain, way, _), flows in plan_flows(config, base).items():
        first = ipaddress.IPv4Address(flows.dst_ips[4])
        steps = sum(part.span for part in flows.changing if part.field == "dst_ip")
        networks[chain][1 - way].extend(ipaddress.summarize_address_range(first, first + steps))
    return [(tuple(left), tuple(right)) for left, right in networks]


def _split_flows(config: Config, chain_count: int) -> dict[StreamKey, int]:
    """Return the number of flows of each stream. Raises ConfigError if there are fewer flows than streams."""
    each_way = [*itertools.product(range(chain_count), range(config.traffic.streams))]
    ways = 2 if config.bidirectional else 1
    least = ways * len(each_way)
    flow_count = config.flow_count if "flow_count" in config.model_fields_set else max(config.flow_count, least)
    if flow_count < least:
        raise ConfigError(
            f"flow_count: fewer flows than streams ({config.flow_count}, {least} streams: "
            f"{_describe_streams(config, chain_count)}); write {least} or more"
        )
    totals = split_evenly(flow_count, ways)[::-1]
    return {
        (chain, way, number): count
        for way, total in enumerate(totals)
        for (chain, number), count in zip(each_way, split_evenly(total, len(each_way)), strict=True)
    }


def _describe_streams(config: Config, chain_count: int) -> str:
    parts = [
        format_count(chain_count, "chain"),
        "both ways" if config.bidirectional else "one way",
        *([f"traffic.streams: {config.traffic.streams}"] if config.traffic.streams > 1 else []),
    ]
    return ", ".join(parts)


def _vary_source_port(
    config: Config, chains: ChainNetworks, shares: dict[StreamKey, int]
) -> dict[StreamKey, StreamFlows]:
    """Return flows that differ in the source port (with ICMP the identifier), many flows also in the source address."""
    field: RangeField = "identifier" if config.traffic.transport == "icmp" else "src_port"
    most = IDENTIFIERS_MAX if field == "identifier" else PORTS_MAX
    used: dict[tuple[int, int], int] = {}
    flows = {}
    for (chain, way, number), count in shares.items():
        near, far = chains[chain][way], chains[chain][1 - way]
        network = near[0]
        room = (int(network[-3]) - int(network[1])) // config.traffic.streams
        if count > min(most * max(room, 0), FLOWS_MAX):
            raise ConfigError(
                f"flow_count: too many flows ({config.flow_count}, {count} per stream), {most} source ports times "
                f"{max(room, 0)} addresses of {network} allow {min(most * max(room, 0), FLOWS_MAX)} per stream; use "
                "fewer flows, chains or traffic.streams, or set wider networks in flows.ip"
            )
        fit = fit_nested(count, (most, room))
        first = used.get((chain, way), 0)
        used[chain, way] = first + fit.parts[1].value_count
        increments = (IncrementedValues(count=part.value_count) for part in fit.parts)
        flows[chain, way, number] = StreamFlows(
            flow_count=count,
            src_ips={network.version: str(network[1 + first]) for network in near[:2]},
            dst_ips={network.version: str(network[1]) for network in far[:2]},
            src_port=FIRST_DYNAMIC_PORT,
            dst_port=DISCARD_PORT,
            changing=_select_varying((field, "src_ip"), increments, fit),
        )
    return flows


def _select_varying(
    fields: Sequence[RangeField], values: Iterable[IncrementedValues | RandomValues], fit: FlowFit
) -> tuple[VaryingField, ...]:
    """Return the fields that have more than one value."""
    each = zip(fields, values, fit.parts, strict=True)
    return tuple(
        VaryingField(field, value, part.every, fit.period) for field, value, part in each if part.value_count > 1
    )


class _AddressPool:
    """The addresses behind one side, allocated to streams in order."""

    def __init__(self, first: IPAddress, count: int, step: int, sharers: int) -> None:
        self.share = count // sharers
        """Addresses a stream may have."""
        self._first, self._step = first, step
        self._used = {"src": 0, "dst": 0}

    def allocate(self, end: str, count: int) -> IPAddress:
        """Allocate addresses for one end of a stream's flows, and return the first."""
        first = self._used[end]
        self._used[end] += count
        return self._first + first * self._step


class _RangeFlows:
    """Flows as in the `flows` section."""

    def __init__(self, config: Config, chains: ChainNetworks) -> None:
        self._config, self._flows = config, config.flows
        self._is_random = self._flows.ip_step == "random", self._flows.udp_step == "random"
        self._step = 1 if self._flows.ip_step == "random" else int(self._flows.ip_step)
        self._port_step = 1 if self._flows.udp_step == "random" else self._flows.udp_step
        if self._step == 0:
            raise ConfigError("flows.ip_step: not above 0 (0.0.0.0); write 0.0.0.1 or more")
        if self._flows.ip is not None:
            _check_networks(self._flows.ip, config.traffic.ip)
        self._ports = [
            _parse_port_range(f"flows.udp_{end}", ports, self._port_step, config.traffic.transport)
            for end, ports in (("source", self._flows.udp_source), ("destination", self._flows.udp_destination))
        ]
        if self._ports[1][0] == 0:
            raise ConfigError(
                "flows.udp_destination: port 0 is reserved and hosts drop its frames (0); write 1 to 65535"
            )
        self._pools = self._make_pools(chains)

    def plan(self, shares: dict[StreamKey, int]) -> dict[StreamKey, StreamFlows]:
        """Return streams in the order of their shares. Raises ConfigError if their flows are impossible."""
        most = [self._compute_max_flows(way) for way in range(2 if self._config.bidirectional else 1)]
        for (_, way, _), count in shares.items():
            if count > most[way]:
                raise ConfigError(self._describe_excess(shares, most))
        return {place: self._build_stream(place, count) for place, count in shares.items()}

    def _make_pools(self, chains: ChainNetworks) -> list[list[_AddressPool]]:
        """Return pools by chain and side; chains share the pools of configured networks."""
        streams = self._config.traffic.streams
        if self._flows.ip is not None:
            counts = [count_values(network.num_addresses, self._step) for network in self._flows.ip]
            shared = [
                _AddressPool(network.network_address, count, self._step, len(chains) * streams)
                for network, count in zip(self._flows.ip, counts, strict=True)
            ]
            return [shared] * len(chains)

        def build_pool(networks: Sequence[addressing.IPNetwork]) -> _AddressPool:
            network = networks[0 if self._config.traffic.ip == 4 else 1]
            span = min(int(network[-3]) - int(network[1]) + 1, LARGEST_ADDRESS_RANGE)
            return _AddressPool(network[1], count_values(span, self._step), self._step, streams)

        return [[build_pool(left), build_pool(right)] for left, right in chains]

    def _list_sizes(self, way: int, chain: int = 0) -> tuple[int, ...]:
        """Return the number of values that a stream can use of each field, in the order of `FIELD_ORDER`."""
        pools = self._pools[chain]
        dst, src = pools[1 - way].share, pools[way].share
        sizes = [dst, min(src, 1) if self._flows.static_source else src, *(size for _, size in self._ports)]
        most = [RANDOM_MAX if is_random else max(sizes) for is_random in self._is_random]
        return tuple(min(size, most[place // 2]) for place, size in enumerate(sizes))

    def _compute_max_flows(self, way: int) -> int:
        """Return the largest number of flows of a stream."""
        product = 1
        for size in self._list_sizes(way):
            product *= size
        return min(product, FLOWS_MAX)

    def _describe_excess(self, shares: dict[StreamKey, int], most: list[int]) -> str:
        each_way = len(shares) // len(most)
        total = each_way * most[0] if len(most) == 1 else min(2 * each_way * most[0], 2 * each_way * most[1] + 1)
        networks = ", ".join(map(str, self._flows.ip or addressing.SIDES[0][:1] + addressing.SIDES[1][:1]))
        way = most.index(min(most))
        dst, src, src_ports, dst_ports = self._list_sizes(way)
        available = (
            f"of {networks} each of {each_way} streams a way has {dst} destination and {src} source addresses, with "
            f"{src_ports} source and {dst_ports} destination ports"
        )
        problem = f"flow_count: too many flows ({self._config.flow_count})"
        if min(most) == 0:
            return f"{problem}, flows.ip is too narrow: {available}; write wider networks, or use fewer chains"
        if min(most) == FLOWS_MAX:
            return f"{problem}, a stream can have {FLOWS_MAX}, all together {total}; write flow_count: {total} or less"
        wider = "flows.udp_source" if dst > src_ports else f"flows.ip ({'left' if way else 'right'})"
        static = ", write flows.static_source: false" if self._flows.static_source else ""
        return f"{problem}, at most {total} are possible: {available}; widen {wider}{static}, or write {total} or less"

    def _build_stream(self, place: StreamKey, count: int) -> StreamFlows:
        chain, way, _ = place
        fit = fit_parallel(count, self._list_sizes(way, chain))
        pools = self._pools[chain]
        dst = pools[1 - way].allocate("dst", fit.parts[0].value_count)
        src = pools[way].allocate("src", fit.parts[1].value_count)
        (src_port, _), (dst_port, _) = self._ports
        return StreamFlows(
            flow_count=count,
            src_ips={src.version: str(src)},
            dst_ips={dst.version: str(dst)},
            src_port=src_port,
            dst_port=dst_port,
            changing=_select_varying(FIELD_ORDER, self._list_values(place, fit), fit),
        )

    def _list_values(self, place: StreamKey, fit: FlowFit) -> list[IncrementedValues | RandomValues]:
        """Return the values: random addresses are drawn from the stream's block, random ports from their range."""
        chain, way, number = place
        seed = self._flows.seed + 8 * ((2 * chain + way) * self._config.traffic.streams + number)
        counts = [part.value_count for part in fit.parts]
        values: list[IncrementedValues | RandomValues] = []
        for index, count in enumerate(counts):
            is_port = index >= 2
            if self._is_random[is_port]:
                span = self._ports[index - 2][1] if is_port else count
                values.append(RandomValues(count=count, span=span, seed=seed + index))
            else:
                values.append(IncrementedValues(count=count, step=self._port_step if is_port else self._step))
        return values


def _check_networks(networks: tuple[ipaddress.IPv4Network, ipaddress.IPv4Network], version: int) -> None:
    """Raise ConfigError if frames between the networks would be ambiguous or not be forwarded."""
    left, right = networks
    if version == 6:
        raise ConfigError(f"flows.ip: IPv4 networks with traffic.ip: 6 ({left}); remove one of them")
    if left.overlaps(right):
        raise ConfigError(
            f"flows.ip: overlapping networks ({left}, {right}), in which flows of both directions would be the same; "
            "write disjoint networks"
        )
    for network in networks:
        for other, what in NOT_UNICAST.items():
            if network.overlaps(other):
                raise ConfigError(
                    f"flows.ip: {other} is {what}, not unicast ({network}); write a network of unicast addresses"
                )


NOT_UNICAST = {
    ipaddress.IPv4Network("0.0.0.0/8"): "for hosts that do not know their address (RFC 1122)",
    ipaddress.IPv4Network("127.0.0.0/8"): "for a host itself (RFC 1122)",
    ipaddress.IPv4Network("224.0.0.0/4"): "for groups (RFC 5771)",
    ipaddress.IPv4Network("240.0.0.0/4"): "reserved (RFC 1112)",
}
"""Networks that routers do not forward to a neighbor."""


def _parse_port_range(key: str, ports: int | tuple[int, int] | None, step: int, transport: str) -> tuple[int, int]:
    """Return the first port and the number of ports if every `step`-th is used. Raises ConfigError."""
    if ports is None:
        return DNS_PORT, 1
    if transport == "icmp":
        raise ConfigError(f"{key}: ICMP has no ports ({ports}); remove {key}, or change traffic.transport")
    first, last = (ports, ports) if isinstance(ports, int) else ports
    if not 0 <= first <= last <= 65535:
        raise ConfigError(
            f"{key}: not a port range ({ports}); write ports from 0 to 65535, lower first, e.g. [1024, 65000]"
        )
    return first, count_values(last - first + 1, step)
