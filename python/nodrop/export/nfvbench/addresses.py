"""Addresses and ports of the traffic in NFVbench's keys, as the smallest enclosing networks."""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nodrop.export.nfvbench.counts import is_forward
from nodrop.model.layer import Ipv4, Udp
from nodrop.model.traffic import FieldRange, ListedValues, RandomValues, Stream

IPV4_MAX, PORT_MAX = 2**32 - 1, 2**16 - 1


def build_address_keys(streams: Sequence[Stream]) -> dict[str, Any]:
    """Build `ip_addrs` and UDP ports of streams; none for traffic other than UDP over IPv4."""
    if not all(_find_layer_position(stream, Ipv4) and _find_layer_position(stream, Udp) for stream in streams):
        return {}
    left_addresses: list[ipaddress.IPv4Address] = []
    right_addresses: list[ipaddress.IPv4Address] = []
    for stream in streams:
        source, destination = (
            (left_addresses, right_addresses) if is_forward(stream) else (right_addresses, left_addresses)
        )
        source.extend(_iter_addresses(stream, "src"))
        destination.extend(_iter_addresses(stream, "dst"))
    return {
        "ip_addrs": [_find_network(left_addresses), _find_network(right_addresses)],
        "udp_src_port": _collect_ports(streams, "src_port"),
        "udp_dst_port": _collect_ports(streams, "dst_port"),
    }


def _find_layer_position(stream: Stream, kind: type[Ipv4] | type[Udp]) -> int | None:
    """Return the position of the innermost header of a kind, counted from 1."""
    return max((place for place, layer in enumerate(stream.layers, 1) if isinstance(layer, kind)), default=None)


def _iter_ends(stream: Stream, kind: type[Ipv4] | type[Udp], field: str) -> Iterator[str | int]:
    """Yield the first and last value of a field, or the listed values."""
    place = (_find_layer_position(stream, kind) or 1) - 1
    first = getattr(stream.layers[place], field)
    ranges = [part for part in stream.ranges if part.layer == place and part.field == field]
    if ranges and isinstance(ranges[0].values, ListedValues):
        yield from ranges[0].values.values
        return
    yield first
    if ranges:
        number = int(ipaddress.IPv4Address(first)) if kind is Ipv4 else int(first)
        last = min(number + _compute_value_range(ranges[0]), IPV4_MAX if kind is Ipv4 else PORT_MAX)
        yield str(ipaddress.IPv4Address(last)) if kind is Ipv4 else last


def _compute_value_range(part: FieldRange) -> int:
    """Return the distance of the last value from the first."""
    if isinstance(part.values, RandomValues):
        return part.values.span - 1
    return (part.values.count - 1) * getattr(part.values, "step", 1)


def _iter_addresses(stream: Stream, field: str) -> Iterator[ipaddress.IPv4Address]:
    yield from (ipaddress.IPv4Address(value) for value in _iter_ends(stream, Ipv4, field))


def _find_network(addresses: Iterable[ipaddress.IPv4Address]) -> str:
    """Return the smallest network that contains all addresses."""
    numbers = [int(address) for address in addresses]
    prefix = 32 - (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.IPv4Network((min(numbers), prefix), strict=False))


def _collect_ports(streams: Sequence[Stream], field: str) -> int | list[int]:
    ports = [int(port) for stream in streams for port in _iter_ends(stream, Udp, field)]
    return ports[0] if min(ports) == max(ports) else [min(ports), max(ports)]
