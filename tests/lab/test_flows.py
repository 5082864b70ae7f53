"""Flows on the wire: tcpdump sees exactly the requested flows leave the tester."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.bench import bench
from tests.lab.wiretap import read_fields, tapped

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

LOAD_PPS, DURATION_S = 12_000, 0.5
EXAMPLE = {"flows.ip": ["110.0.0.0/8", "120.0.0.0/8"], "chains": 3, "networks": "ports", "flow_count": 100}
"""Source: NFVbench's manual, "Examples of multiflow"."""
NARROW = {"flows.ip": ["110.0.0.0/29", "120.0.0.0/30"], "flows.udp_source": [10, 14], "flows.udp_destination": [20, 25]}
FIELDS = ("ip.src", "ip.dst", "udp.srcport", "udp.dstport", "tcp.srcport", "tcp.dstport")


@pytest.mark.parametrize(
    "keys",
    [
        {"flow_count": 1001},
        {"flow_count": 7, "bidirectional": False, "traffic.transport": "tcp", "frame_bytes": 76},
        EXAMPLE | NARROW | {"flows.udp_step": "random"},
        EXAMPLE | {"flows.ip_step": "random", "flows.static_source": False, "flow_count": 999, "chains": 2},
        {"chains": 3, "networks": "vlan", "flows.udp_source": [1024, 1030], "flow_count": 42},
        {"chains": 2, "networks": "shared", "flow_count": 101},
    ],
    ids=["ports", "one way", "example 4", "random", "vlan", "shared"],
)
def test_exactly_the_flows_asked_for_leave_the_tester(
    keys: dict[str, object], require_tool: RequireTool, tmp_path: Path
) -> None:
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    with bench(**keys) as lab:
        interfaces = lab.plan.lab.sut_interfaces[: 2 if lab.plan.traffic.direction_ratios.keys() > {(0, 1)} else 1]
        interfaces = lab.plan.lab.sut_interfaces if lab.plan.traffic.streams[1:] else interfaces
        with tapped(lab, tcpdump, tmp_path, interfaces) as captures:
            result = lab.measure(LOAD_PPS, DURATION_S)
    assert result.offered_count > LOAD_PPS * DURATION_S / 2
    flows = [read_fields(tshark, capture, "udp or tcp", FIELDS) for capture in captures]
    assert sum(map(len, flows)) == result.offered_count
    by_port = [len(set(flows)) for flows in flows]
    assert sum(by_port) == len(set().union(*flows)) == keys["flow_count"]
    expected = [0] * len(captures)
    for stream in lab.plan.traffic.streams:
        expected[stream.tx_port] += stream.flow_count
    assert by_port == expected
