"""Flows by address and port: NFVbench's documented examples, and every flow of random configurations counted."""

import ipaddress
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodrop.config.flows import FlowsConfig, GatewaysConfig, TunnelConfig
from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.layer import Ipv4, Udp
from nodrop.model.traffic import Stream, Traffic
from nodrop.plan import build_plan

Flow = tuple[int, int, int, int]
"""Source and destination address and port, as numbers."""
EXAMPLE = {"flows.ip": ["110.0.0.0/8", "120.0.0.0/8"], "chains": 3, "flow_count": 100, "networks": "ports"}
"""Source: NFVbench's manual, "Examples of multiflow"."""


def traffic(keys: dict[str, Any]) -> Traffic:
    return build_plan(build_config((), keys), cpus=(0, 1)).traffic


def flows(stream: Stream, frames: int) -> Iterator[Flow]:
    """Yield the flow of each frame as the engine builds them; the step number stands for a random value."""
    ip, udp = stream.layers[-2:]
    assert isinstance(ip, Ipv4) and isinstance(udp, Udp)
    first = [int(ipaddress.ip_address(ip.src)), int(ipaddress.ip_address(ip.dst)), udp.src_port, udp.dst_port]
    places = [(1, "src"), (1, "dst"), (2, "src_port"), (2, "dst_port")]
    for sequence in range(frames):
        flow = list(first)
        for part in stream.ranges:
            frame = sequence % part.period if part.period else sequence
            step = part.values.step if part.values.mode == "increment" else 1
            flow[places.index((part.layer, part.field))] += frame // part.every % part.values.count * step
        yield flow[0], flow[1], flow[2], flow[3]


def stream_blocks(keys: dict[str, Any]) -> list[tuple[int, str, str, str, str]]:
    """Return chain, source, first and last destination of every stream, and its number of flows."""
    result = []
    for stream in traffic(EXAMPLE | keys).streams:
        created = [*flows(stream, stream.flow_count)]
        sources, ends = {flow[0] for flow in created}, [str(ipaddress.ip_address(flow[1])) for flow in created]
        assert len(sources) == 1
        result.append(
            (stream.chain, str(ipaddress.ip_address(sources.pop())), ends[0], ends[-1], str(len(set(created))))
        )
    return result


@pytest.mark.parametrize("step", ["0.0.0.1", "random"])
def test_the_first_two_documented_examples_come_out_as_documented(step: str) -> None:
    assert stream_blocks({"flows.ip_step": step}) == [
        (0, "110.0.0.0", "120.0.0.0", "120.0.0.15", "16"),
        (0, "120.0.0.0", "110.0.0.0", "110.0.0.15", "16"),
        (1, "110.0.0.1", "120.0.0.16", "120.0.0.32", "17"),
        (1, "120.0.0.1", "110.0.0.16", "110.0.0.32", "17"),
        (2, "110.0.0.2", "120.0.0.33", "120.0.0.49", "17"),
        (2, "120.0.0.2", "110.0.0.33", "110.0.0.49", "17"),
    ]


def test_the_third_documented_example_comes_out_as_documented() -> None:
    assert stream_blocks({"flows.ip_step": "0.0.0.5"}) == [
        (0, "110.0.0.0", "120.0.0.0", "120.0.0.75", "16"),
        (0, "120.0.0.0", "110.0.0.0", "110.0.0.75", "16"),
        (1, "110.0.0.5", "120.0.0.80", "120.0.0.160", "17"),
        (1, "120.0.0.5", "110.0.0.80", "110.0.0.160", "17"),
        (2, "110.0.0.10", "120.0.0.165", "120.0.0.245", "17"),
        (2, "120.0.0.10", "110.0.0.165", "110.0.0.245", "17"),
    ]


def test_the_fourth_documented_example_makes_100_flows_where_30_a_stream_are_documented() -> None:
    ranges = {"flows.udp_source": [10, 14], "flows.udp_destination": [20, 25], "flows.udp_step": "random"}
    created = traffic(EXAMPLE | ranges | {"flows.ip": ["110.0.0.0/29", "120.0.0.0/30"]}).streams
    assert [len(set(flows(stream, 200))) for stream in created] == [16, 16, 17, 17, 17, 17]
    ports = [{part.field: part.values.count for part in stream.ranges if part.layer == 2} for stream in created]
    assert ports == [{"src_port": 5, "dst_port": 6}] * 6


def random_configs() -> Iterator[dict[str, Any]]:
    draw = random.Random(7)
    for _ in range(25):
        chains, first_port = draw.choice((1, 2, 3, 7, 8)), draw.randint(0, 60000)
        keys: dict[str, Any] = {
            "flows.ip": [f"10.0.0.0/{draw.randint(18, 28)}", f"20.0.0.0/{draw.randint(18, 28)}"],
            "flows.static_source": draw.random() < 0.5,
            "flows.ip_step": draw.choice(("0.0.0.1", "0.0.0.2", "random")),
            "flows.udp_source": draw.choice((53, [first_port, first_port + draw.randint(0, 40)])),
            "flows.udp_destination": draw.choice((53, [1, draw.randint(1, 40)])),
            "flows.udp_step": draw.choice((1, 3, "random")),
            "chains": chains,
            "bidirectional": draw.random() < 0.7,
            "networks": "ports",
        }
        yield keys | {"flow_count": draw.randint(2 * chains, 3000)}


def test_exactly_the_flows_asked_for_are_made_and_no_stream_has_anothers() -> None:
    refused = 0
    for keys in random_configs():
        try:
            streams = traffic(keys).streams
        except ConfigError as error:
            assert "are possible" in str(error) or "too narrow" in str(error), error
            refused += 1
            continue
        created = [set(flows(stream, 3 * stream.flow_count)) for stream in streams]
        assert sum(map(len, created)) == len(set().union(*created)) == keys["flow_count"], keys
        for end, side in ((0, 0), (1, 1)):
            networks = [ipaddress.ip_network(network) for network in keys["flows.ip"]]
            for stream, its in zip(streams, created, strict=True):
                network = networks[side ^ (stream.tx_port & 1)]
                assert all(ipaddress.ip_address(flow[end]) in network for flow in its)
        for end, key in ((2, "flows.udp_source"), (3, "flows.udp_destination")):
            assert {int(flow[end]) for its in created for flow in its} <= list_ports(keys[key], keys["flows.udp_step"])
    assert refused < 15


def list_ports(ports: int | list[int], step: int | str) -> set[int]:
    first, last = (ports, ports) if isinstance(ports, int) else ports
    return {*range(first, last + 1, 1 if isinstance(step, str) else step)}


def test_a_step_between_ports_stays_within_their_range() -> None:
    keys = EXAMPLE | {"flows.udp_source": [50001, 50029], "flows.udp_step": 3, "flow_count": 58, "chains": 1}
    ports = {int(flow[2]) for stream in traffic(keys).streams for flow in flows(stream, 100)}
    assert ports <= {*range(50001, 50030, 3)}
    wide = {"flows.udp_source": [1024, 65535], "flows.udp_destination": [1024, 2048], "flows.udp_step": 4096}
    ports = {flow[2:4] for stream in traffic(keys | wide).streams for flow in flows(stream, 100)}
    assert {int(port) for port, _ in ports} <= {*range(1024, 65536, 4096)} and {int(port) for _, port in ports} == {
        1024
    }


def test_the_most_that_is_said_to_be_possible_is() -> None:
    for keys in random_configs():
        with pytest.raises(ConfigError) as refused:
            traffic(keys | {"flow_count": 2**28})
        text = str(refused.value)
        if "at most" in text:
            most = int(text.split("at most ")[1].split(maxsplit=1)[0])
            assert sum(stream.flow_count for stream in traffic(keys | {"flow_count": most}).streams) == most
            with pytest.raises(ConfigError, match=f"at most {most} are"):
                traffic(keys | {"flow_count": most + 1})


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"flows.ip": ["10.0.0.0/8", "10.1.0.0/16"]}, "flows.ip: overlapping networks (10.0.0.0/8, 10.1.0.0/16)"),
        (
            {"flows.ip": ["10.0.0.0/8", "239.0.0.0/16"]},
            "flows.ip: 224.0.0.0/4 is for groups (RFC 5771), not unicast (239.0.0.0/16)",
        ),
        (
            {"flows.ip": ["127.0.0.0/8", "20.0.0.0/16"]},
            "flows.ip: 127.0.0.0/8 is for a host itself (RFC 1122), not unicast (127.0.0.0/8)",
        ),
        ({"flows.ip_step": "0.0.0.0"}, "flows.ip_step: not above 0 (0.0.0.0)"),
        ({"flows.udp_destination": 0}, "flows.udp_destination: port 0 is reserved"),
        ({"flows.udp_source": 53, "traffic.transport": "icmp"}, "ICMP has no ports"),
        (
            {"flows.ip": ["10.0.0.0/8", "20.0.0.0/8"], "traffic.ip": 6, "frame_bytes": 128},
            "flows.ip: IPv4 networks with traffic.ip: 6",
        ),
        ({"flows.ip": ["10.0.0.0/30", "20.0.0.0/30"], "chains": 5}, "flows.ip is too narrow"),
    ],
)
def test_what_cannot_be_is_refused_with_key_value_and_what_to_write(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        traffic(keys)
    assert says in str(refused.value) and ("write" in str(refused.value) or "remove" in str(refused.value))


def test_ranges_without_networks_are_between_those_of_each_chain() -> None:
    streams = traffic({"flows.udp_source": [1024, 2047], "chains": 2, "networks": "ports", "flow_count": 4096}).streams
    assert [stream.flow_count for stream in streams] == [1024] * 4
    assert len({stream.ip.src for stream in streams if stream.ip}) == 4
    six = traffic({"flows.udp_source": [1024, 2047], "traffic.ip": 6, "frame_bytes": 128, "flow_count": 4096}).streams
    assert {stream.ip.src for stream in six if stream.ip} == {"2001:2::1", "2001:2:0:8000::1"}


def test_written_ranges_change_when_the_flows_have_gone_through() -> None:
    keys = EXAMPLE | {"traffic.vlan": 5, "traffic.ranges": [{"field": "vlan", "count": 3}], "frame_bytes": 68}
    stream = traffic(keys).streams[0]
    assert (stream.ranges[-1].every, stream.flow_count) == (16, 48)
    with pytest.raises(ConfigError, match=r"the flows vary this field already \(dst_ip\)"):
        traffic(EXAMPLE | {"traffic.ranges": [{"field": "dst_ip", "count": 3}]})
    fields = ["src_mac", "dst_mac", "vlan", "src_port", "dst_port", "src_ip", "qinq"]
    many = {"traffic.ranges": [{"field": field, "count": 2} for field in fields], "traffic.qinq": 7, "frame_bytes": 128}
    with pytest.raises(ConfigError, match=r"traffic.ranges: 9 varying fields with those of the flows \(7\)"):
        traffic(keys | many | {"tunnel.kind": "vxlan"})


def test_a_routing_chain_has_routes_to_the_destinations_of_its_flows_and_of_no_others() -> None:
    plan = build_plan(build_config((), EXAMPLE | {"sut": "vnf-l3"}), cpus=(0, 1))
    routed = [
        {ipaddress.ip_network(route.prefix) for port in forwarder.ports for route in port.routes}
        for forwarder in plan.lab.forwarders
    ]
    for stream in plan.traffic.streams:
        for flow in flows(stream, stream.flow_count):
            owners = [
                chain
                for chain, networks in enumerate(routed)
                if any(network.version == 4 and ipaddress.ip_address(flow[1]) in network for network in networks)
            ]
            assert owners == [stream.chain]
    alone = build_plan(build_config((), EXAMPLE | {"sut": "vnf-l3", "chains": 1}), cpus=(0, 1)).lab.forwarders[0]
    assert [port.routes[-1].prefix for port in alone.ports] == ["110.0.0.0/8", "120.0.0.0/8"]


def test_every_chain_has_the_next_gateways() -> None:
    gateways = {"gateways.tester": ["10.0.0.100", "10.1.0.100"], "gateways.sut": ["10.0.0.1", "10.1.0.1"]}
    plan = build_plan(build_config((), {"sut": "vnf-l3", "chains": 2, "networks": "ports", **gateways}), cpus=(0, 1))
    assert [(link.station.addresses[0], link.next_hop) for link in plan.neighbors.links] == [
        ("10.0.0.100", "10.0.0.1"),
        ("10.1.0.100", "10.1.0.1"),
        ("10.0.0.101", "10.0.0.2"),
        ("10.1.0.101", "10.1.0.2"),
    ]
    ports = [port for forwarder in plan.lab.forwarders for port in forwarder.ports]
    assert [port.addresses[0] for port in ports] == [link.next_hop for link in plan.neighbors.links]
    with pytest.raises(ConfigError, match=r"gateways.sut: no address left for chain 1 \(255.255.255.255 in"):
        traffic({"chains": 2, "gateways.sut": ["255.255.255.255", "10.0.0.1"], "sut": "vnf-l3"})


def test_the_reference_page_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/flows.md").read_text()
    sections = {"flows": FlowsConfig, "gateways": GatewaysConfig, "tunnel": TunnelConfig}
    keys = [f"{name}.{key}" for name, section in sections.items() for key in section.model_fields]
    assert [key for key in keys if f"`{key}`" not in page] == []
