"""The headers of a stream's frames, from what was written."""

from collections.abc import Iterator

from nodrop.config.traffic import RangeField, TrafficConfig
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.layer import (
    Ethernet,
    Gre,
    IcmpEcho,
    Ipv4,
    Ipv6,
    Layer,
    Mpls,
    Tcp,
    Udp,
    Vlan,
    Vxlan,
    ip_layer,
)
from nodrop.model.traffic import FieldName
from nodrop.plan import addressing

DISCARD_PORT = 9
FIRST_DYNAMIC_PORT = 49152
"""Start of the ports nobody's protocol owns (RFC 6335), so that no dissector takes test frames for something."""
VXLAN_PORT = 4789
"""Source: RFC 7348 section 8."""

FIELDS: dict[RangeField, tuple[tuple[str, ...], FieldName]] = {
    "src_mac": (("ethernet",), "src"),
    "dst_mac": (("ethernet",), "dst"),
    "vlan": (("vlan",), "id"),
    "qinq": (("qinq",), "id"),
    "mpls": (("mpls",), "label"),
    "src_ip": (("ipv4", "ipv6"), "src"),
    "dst_ip": (("ipv4", "ipv6"), "dst"),
    "flow_label": (("ipv6",), "flow_label"),
    "src_port": (("udp", "tcp"), "src_port"),
    "dst_port": (("udp", "tcp"), "dst_port"),
    "identifier": (("icmp_echo",), "identifier"),
    "vni": (("vxlan",), "vni"),
    "gre_key": (("gre",), "key"),
}
"""Kinds of layer and name in there of every field that can change."""


class Ends(Value):
    """Addresses of both ends of a stream."""

    src_mac: str
    dst_mac: str
    src_ips: dict[int, str]
    """By IP version."""
    dst_ips: dict[int, str]


def plan_layers(asked: TrafficConfig, ends: Ends) -> tuple[Layer, ...]:
    """All headers. Raises ConfigError when they do not go together."""
    if asked.vxlan is not None and asked.gre is not None:
        raise ConfigError("traffic.vxlan and traffic.gre: both asked, frames go through one tunnel; leave one out")
    return (Ethernet(src=ends.src_mac, dst=ends.dst_mac), *_tags(asked), *_tunnel(asked, ends), *_packet(asked, ends))


def find_field(layers: tuple[Layer, ...], field: RangeField) -> tuple[int, FieldName]:
    """Layer and name of a field that can change. Raises ConfigError when the frames have none."""
    plain = field.removeprefix("outer_")
    kinds, name = FIELDS[plain]  # type: ignore[index]
    found = [index for index, layer in enumerate(layers) if layer.kind in kinds]
    if not found or (plain != field and not any(layer.kind in ("vxlan", "gre") for layer in layers)):
        raise ConfigError(
            f"traffic.ranges: {field} asked, frames have no such field; take one of the headers they have"
        )
    return found[0 if plain != field else -1], name


def _tags(asked: TrafficConfig) -> Iterator[Layer]:
    if asked.qinq is not None:
        yield Vlan(kind="qinq", id=asked.qinq)
    if asked.vlan is not None:
        yield Vlan(id=asked.vlan)
    for label in asked.mpls:
        yield Mpls(label=label)


def _tunnel(asked: TrafficConfig, ends: Ends) -> Iterator[Layer]:
    """Outer headers, and with VXLAN the inner Ethernet header."""
    if asked.vxlan is None and asked.gre is None:
        return
    yield _ip(asked, ends, asked.tunnel_ip)
    if asked.vxlan is not None:
        yield Udp(src_port=FIRST_DYNAMIC_PORT, dst_port=VXLAN_PORT)
        yield Vxlan(vni=asked.vxlan)
        yield Ethernet(src=addressing.carried_mac(ends.src_mac), dst=addressing.carried_mac(ends.dst_mac))
    if asked.gre is not None:
        yield Gre(key=asked.gre)


def _packet(asked: TrafficConfig, ends: Ends) -> Iterator[Layer]:
    yield _ip(asked, ends, asked.ip)
    match asked.transport:
        case "udp":
            yield Udp(src_port=FIRST_DYNAMIC_PORT, dst_port=DISCARD_PORT)
        case "tcp":
            yield Tcp(src_port=FIRST_DYNAMIC_PORT, dst_port=DISCARD_PORT)
        case "icmp":
            yield IcmpEcho()


def _ip(asked: TrafficConfig, ends: Ends, version: int) -> Ipv4 | Ipv6:
    return ip_layer(ends.src_ips[version], ends.dst_ips[version], asked.dscp)
