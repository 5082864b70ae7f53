"""Tunnels of chains dissected by tshark, with latency and counts of every chain."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.bench import bench
from tests.lab.wiretap import read_fields, tapped

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

CHAINS = {"chains": 2, "networks": "ports", "sut": "bridge", "flow_count": 400, "frame_bytes": 128}
LOAD_PPS, DURATION_S = 8_000, 0.4


def test_vxlan_has_a_network_for_each_chain_and_an_outer_source_port_for_each_flow(
    require_tool: RequireTool, tmp_path: Path
) -> None:
    """Source: RFC 7348 section 5."""
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    keys = {"tunnel.kind": "vxlan", "tunnel.vnis": [[5000, 5001], [6000, 6001]], "tunnel.vlan": 77, "frame_bytes": 132}
    vteps = {"tunnel.src_vteps": ["10.1.0.1", "10.2.0.1"], "tunnel.dst_vtep": "10.9.0.1"}
    with (
        bench(**CHAINS | keys | vteps) as lab,
        tapped(lab, tcpdump, tmp_path, ("sut0", "sut1", "sut2", "sut3")) as captures,
    ):
        result = lab.measure(LOAD_PPS, DURATION_S)
    assert result.received_count == result.offered_count
    assert all(stream.received_count > 0 for stream in result.streams)
    assert all(direction.latency for direction in result.directions)
    fields = (
        "vlan.id",
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
        "vxlan.vni",
        "frame.len",
        "ip.checksum.status",
    )
    for port, (capture, vni) in enumerate(zip(captures, ("5000", "6000", "5001", "6001"), strict=True)):
        frames = read_fields(tshark, capture, "vxlan", fields, "-o", "ip.check_checksum:TRUE")
        assert len(frames) == result.streams[port].offered_count
        assert {frame[0] for frame in frames} == {("77",)}
        assert {(frame[1][0], frame[2][0]) for frame in frames} == {(("10.1.0.1", "10.2.0.1")[port % 2], "10.9.0.1")}
        assert {(frame[4][0], frame[5][0], frame[6][0]) for frame in frames} == {("4789", vni, "128")}
        assert {frame[7] for frame in frames} == {("1", "1")}
        inner = {(frame[1][1], frame[2][1], frame[3][1], frame[4][1]): frame[3][0] for frame in frames}
        assert len(inner) == len(set(inner.values())) == 100
        assert all(inner[frame[1][1], frame[2][1], frame[3][1], frame[4][1]] == frame[3][0] for frame in frames)


def test_a_layer_2_vpn_has_two_labels_and_a_whole_frame_behind_them(require_tool: RequireTool, tmp_path: Path) -> None:
    """Source: RFC 3032, RFC 4448 without control word; structure: NFVbench's manual, "MPLS encapsulation feature".

    By default tshark mistakes the leading 0 of MAC addresses for a control word, so `pwethnocw` is selected.
    """
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    labels = {"tunnel.transport_labels": [[16303, 16304]] * 2, "tunnel.service_labels": [[5010, 5020], [5011, 5021]]}
    with (
        bench(**CHAINS | {"tunnel.kind": "mpls"} | labels) as lab,
        tapped(lab, tcpdump, tmp_path, ("sut0", "sut1", "sut2", "sut3")) as captures,
    ):
        result = lab.measure(LOAD_PPS, DURATION_S)
    assert result.received_count == result.offered_count
    assert all(direction.latency for direction in result.directions)
    fields = ("mpls.label", "mpls.exp", "mpls.bottom", "mpls.ttl", "eth.dst", "ip.dst", "udp.dstport", "frame.len")
    label_pairs = (("16303", "5010"), ("16303", "5011"), ("16304", "5020"), ("16304", "5021"))
    for port, (capture, labeled) in enumerate(zip(captures, label_pairs, strict=True)):
        frames = read_fields(tshark, capture, "mpls", fields, "-d", f"mpls.label=={labeled[1]},pwethnocw")
        assert len(frames) == result.streams[port].offered_count
        stream = lab.plan.traffic.streams[port]
        assert {frame[0] for frame in frames} == {labeled}
        assert {(frame[1], frame[3]) for frame in frames} == {(("1", "1"), ("255", "255"))}
        assert all(frame[2] in {("0", "1"), ("False", "True")} for frame in frames)
        inner = [layer for layer in stream.layers if layer.kind == "ethernet"][1]
        assert {frame[4] for frame in frames} == {(stream.ethernet.dst, inner.dst)}
        assert {(frame[6], frame[7]) for frame in frames} == {(("9",), ("124",))}
        assert {len(frame[5]) for frame in frames} == {1}
