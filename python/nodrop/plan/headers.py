"""The headers of a stream's frames."""

from collections.abc import Iterator

from pydantic import Field

from nodrop.config.traffic import RangeField, TrafficConfig
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.layer import (
    Ethernet,
    Gre,
    IcmpEcho,
    Layer,
    Mpls,
    Tcp,
    Udp,
    Vlan,
    Vxlan,
    make_ip_layer,
)
from nodrop.model.traffic import FieldName
from nodrop.plan import addressing
from nodrop.plan.flow_fields import DISCARD_PORT, FIRST_DYNAMIC_PORT
from nodrop.plan.tunnel import VXLAN_PORT

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
"""Kinds of layer and field name of every field that can vary."""


class StreamEnds(Value):
    """Addresses of both ends of a stream."""

    src_mac: str
    dst_mac: str
    src_ips: dict[int, str]
    """By IP version."""
    dst_ips: dict[int, str]
    src_port: int = FIRST_DYNAMIC_PORT
    dst_port: int = DISCARD_PORT
    tunnel_ips: dict[int, tuple[str, str]] = Field(default_factory=dict)
    """Outer source and destination of `traffic.vxlan` and `traffic.gre`, by IP version."""
    tags: tuple[Vlan, ...] = ()
    """VLAN tags of the chain's frames, outermost first."""
    tunnel: tuple[Layer, ...] = ()
    """All headers outside of the packet if the chain has a tunnel."""


def plan_layers(traffic: TrafficConfig, ends: StreamEnds) -> tuple[Layer, ...]:
    """Return all headers. Raises ConfigError if they contradict each other."""
    if traffic.vxlan is not None and traffic.gre is not None:
        raise ConfigError("traffic.vxlan and traffic.gre: frames can have one tunnel; remove one of them")
    if ends.tunnel:
        return (*ends.tunnel, *_build_tags(traffic), *_build_packet(traffic, ends))
    tags = (*ends.tags, *_build_tags(traffic))
    if ends.tags and any(isinstance(tag, Vlan) for tag in tags[len(ends.tags) :]):
        raise ConfigError("traffic.vlan: chains are distinguished by VLAN already; write vlans, or networks: ports")
    return (
        Ethernet(src=ends.src_mac, dst=ends.dst_mac),
        *tags,
        *_build_tunnel(traffic, ends),
        *_build_packet(traffic, ends),
    )


def find_field(layers: tuple[Layer, ...], field: RangeField) -> tuple[int, FieldName]:
    """Return layer and name of a varying field. Raises ConfigError if the frames lack it."""
    inner_name = field.removeprefix("outer_")
    kinds, name = FIELDS[inner_name]  # type: ignore[index]
    indices = [index for index, layer in enumerate(layers) if layer.kind in kinds]
    if not indices or (inner_name != field and not _is_tunneled(layers)):
        raise ConfigError(f"traffic.ranges: frames have no such field ({field}); use a field of their headers")
    return indices[0 if inner_name != field else -1], name


def _is_tunneled(layers: tuple[Layer, ...]) -> bool:
    return any(layer.kind in ("vxlan", "gre") for layer in layers) or len([*_build_ethernets(layers)]) > 1


def _build_ethernets(layers: tuple[Layer, ...]) -> Iterator[Layer]:
    return (layer for layer in layers if layer.kind == "ethernet")


def _build_tags(traffic: TrafficConfig) -> Iterator[Layer]:
    if traffic.qinq is not None:
        yield Vlan(kind="qinq", id=traffic.qinq)
    if traffic.vlan is not None:
        yield Vlan(id=traffic.vlan)
    for label in traffic.mpls:
        yield Mpls(label=label)


def _build_tunnel(traffic: TrafficConfig, ends: StreamEnds) -> Iterator[Layer]:
    """Yield the outer headers, and with VXLAN the inner Ethernet header."""
    if traffic.vxlan is None and traffic.gre is None:
        return
    src, dst = ends.tunnel_ips[traffic.tunnel_ip]
    yield make_ip_layer(src, dst, traffic.dscp)
    if traffic.vxlan is not None:
        yield Udp(src_port=FIRST_DYNAMIC_PORT, dst_port=VXLAN_PORT)
        yield Vxlan(vni=traffic.vxlan)
        yield Ethernet(
            src=addressing.build_inner_station_mac(ends.src_mac), dst=addressing.build_inner_station_mac(ends.dst_mac)
        )
    if traffic.gre is not None:
        yield Gre(key=traffic.gre)


def _build_packet(traffic: TrafficConfig, ends: StreamEnds) -> Iterator[Layer]:
    yield make_ip_layer(ends.src_ips[traffic.ip], ends.dst_ips[traffic.ip], traffic.dscp)
    match traffic.transport:
        case "udp":
            yield Udp(src_port=ends.src_port, dst_port=ends.dst_port)
        case "tcp":
            yield Tcp(src_port=ends.src_port, dst_port=ends.dst_port)
        case "icmp":
            yield IcmpEcho()
