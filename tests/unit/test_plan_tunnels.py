"""Tunnels of chains: their headers, and the addresses to resolve on the way."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.layer import Ethernet, Ipv4, Mpls, Vlan, Vxlan
from nodrop.model.plan import Plan
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers

VTEPS = {"tunnel.src_vteps": ["10.1.0.1", "10.2.0.1"], "tunnel.dst_vtep": "10.9.0.1"}


def plan(**keys: Any) -> Plan:
    text = {key.replace("__", "."): value for key, value in keys.items()}
    config = build_config((), {"frame_bytes": 256, "flow_count": 200, "sut": "wire"} | text)
    macs = Resolvers(inspect_ports=lambda names: tuple(f"02:00:00:00:00:{len(name):02x}" for name in names))
    return build_plan(config, macs, (0, 1))


def test_every_chain_has_its_vxlan_network_between_the_addresses_written() -> None:
    built_plan = plan(
        tunnel__kind="vxlan", chains=2, tunnel__vnis=[[5000, 5001], [6000, 6001]], tunnel__vlan=7, **VTEPS
    )
    streams = built_plan.traffic.streams
    assert [layer.vni for stream in streams for layer in stream.layers if isinstance(layer, Vxlan)] == [
        5000,
        6000,
        5001,
        6001,
    ]
    kinds = "/".join(layer.kind for layer in streams[0].layers)
    assert kinds == "ethernet/vlan/ipv4/udp/vxlan/ethernet/ipv4/udp"
    outer, inner = (layer for layer in streams[0].layers if isinstance(layer, Ipv4))
    assert (outer.src, outer.dst) == ("10.1.0.1", "10.9.0.1")
    assert inner.src != outer.src
    assert streams[0].layers[1] == Vlan(id=7)


def test_every_flow_has_an_outer_source_port_of_its_own_and_keeps_it() -> None:
    """Source: RFC 7348 section 5, the outer source port is a hash of the inner headers."""
    stream = plan(tunnel__kind="vxlan").traffic.streams[0]
    outer = next(part for part in stream.ranges if part.layer == 2)
    assert (outer.field, outer.values.count, outer.every, stream.flow_count) == ("src_port", 100, 1, 100)
    many = plan(tunnel__kind="vxlan", flow_count=2 * 20_000).traffic.streams[0]
    outer = next(part for part in many.ranges if part.layer == 2)
    assert (outer.values.count, outer.period, many.flow_count) == (16384, 20_000, 20_000)


def test_a_layer_2_vpn_has_two_labels_and_a_frame_inside() -> None:
    """Source: the structure in NFVbench's manual, "MPLS encapsulation feature": class 1, time to live 255."""
    labels = {"tunnel__transport_labels": [[16303], [16304]], "tunnel__service_labels": [[5010], [5011]]}
    stream = plan(tunnel__kind="mpls", macs=[["fa:16:3e:bd:02:b5"], ["fa:16:3e:bd:02:b6"]], **labels).traffic.streams[0]
    assert "/".join(layer.kind for layer in stream.layers) == "ethernet/mpls/mpls/ethernet/ipv4/udp"
    assert stream.layers[1:3] == (Mpls(label=16303, tc=1, ttl=255), Mpls(label=5010, tc=1, ttl=255))
    inner = stream.layers[3]
    assert isinstance(inner, Ethernet) and inner.dst == "fa:16:3e:bd:02:b5"


@pytest.mark.parametrize(("kind", "least"), [("vxlan", 114), ("mpls", 86)])
def test_the_frame_size_is_that_of_the_outer_frame_and_only_a_warning_lets_it_grow(kind: str, least: int) -> None:
    grown = plan(tunnel__kind=kind, frame_bytes=64)
    assert grown.traffic.frame_bytes == least
    assert grown.warnings[-1].startswith(f"frames of 64 bytes are sent with {least}, to which all rates refer: ")
    smallest = plan(tunnel__kind=kind, frame_bytes=least)
    assert smallest.traffic.frame_bytes == least and not smallest.warnings


def test_the_ends_of_tunnels_are_stations_and_whoever_is_next_is_asked_for() -> None:
    built_plan = plan(sut="ext", ports=["a", "b"], tunnel__kind="vxlan", tunnel__vlan=7, **VTEPS).neighbors
    assert [(link.station.addresses, link.next_hop) for link in built_plan.links] == [
        (("10.1.0.1",), "10.9.0.1"),
        (("10.2.0.1",), "10.9.0.1"),
    ]
    assert [link.station.tags for link in built_plan.links] == [(Vlan(id=7),)] * 2
    gateways = {"tunnel__gateways": ["10.1.0.254", "10.2.0.254"], "tunnel__src_vteps": ["10.1.0.1", "10.2.0.1"]}
    built_plan = plan(sut="ext", ports=["a", "b"], tunnel__kind="mpls", **gateways).neighbors
    assert [link.next_hop for link in built_plan.links] == ["10.1.0.254", "10.2.0.254"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"tunnel.kind": "vxlan", "traffic.vxlan": 5}, "tunnel.kind and traffic.vxlan: frames can have one tunnel"),
        ({"tunnel.kind": "mpls", "traffic.mpls": "16"}, "tunnel.kind and traffic.mpls: frames can have one tunnel"),
        (
            {"tunnel.kind": "vxlan", "tunnel.vnis": [[1], [2]], "chains": 2},
            "tunnel.vnis: 1 value on the left for 2 chains",
        ),
        (
            {"tunnel.kind": "vxlan", "tunnel.vnis": [[7, 7], [1, 2]], "chains": 2},
            "tunnel.vnis: duplicate number on the left",
        ),
        ({"tunnel.kind": "vxlan", "tunnel.vnis": [[2**24], [1]]}, "tunnel.vnis: out of range on the left (16777216)"),
        (
            {"tunnel.kind": "mpls", "tunnel.service_labels": [[15], [16]]},
            "tunnel.service_labels: out of range on the left (15)",
        ),
        ({"tunnel.kind": "mpls", "sut": "vnf-l3"}, "tunnel.kind: vnf-l3 forwards IP only (mpls)"),
        ({"tunnel.kind": "vxlan", "sut": "ext", "ports": ["a", "b"]}, "tunnel.src_vteps: missing"),
    ],
)
def test_what_does_not_go_together_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan(**keys)
    assert says in str(refused.value)
