"""Reports about paths on which learning frames did not arrive as expected."""

from typing import Any

from tests.traffic import plain_stream

from nodrop.generator.path_check import find_faults, no_path_error, to_direction_check
from nodrop.model.layer import Ethernet, Ipv4, Udp
from nodrop.model.neighbor import NextHop
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Stream, Traffic

PORTS = ("tester0", "tester1")
IPV4 = Ipv4(src="198.18.0.1", dst="198.19.0.1")
UDP = Udp(src_port=1024, dst_port=9)


def chains(count: int) -> Traffic:
    """Return chains on two ports, with VLANs 100, 101, ... on the left and 200, 201, ... on the right."""

    def stream(chain: int, way: int) -> Stream:
        return plain_stream(2 * chain + way, way, 1 - way, chain=chain, rx_vlan=(200 if way == 0 else 100) + chain)

    return Traffic(streams=tuple(stream(chain, way) for chain in range(count) for way in range(2)))


def check(stream: Stream, *arrivals: tuple[int, int | None]) -> DirectionCheck:
    """Return the report on twenty frames sent, all of which arrived at these ports and VLANs."""
    seen = [{"port": port, "vlan": vlan, "src": "s", "dst": "d", "count": 20} for port, vlan in arrivals]
    here = sum(20 for port, _ in arrivals if port == stream.rx_port)
    reply: dict[str, Any] = {"sent_count": 20, "received_count": here, "arrivals": seen}
    return to_direction_check(stream, reply)


def expected_arrivals(stream: Stream) -> DirectionCheck:
    return check(stream, (stream.rx_port, stream.rx_vlan))


def test_paths_that_deliver_have_no_fault() -> None:
    traffic = chains(64)
    assert find_faults(traffic, [*map(expected_arrivals, traffic.streams)], PORTS, {}) == []


def test_a_dead_direction_is_named_with_its_chain_and_who_answered_arp() -> None:
    traffic = chains(5)
    checks = [check(stream) if stream.stream_id == 6 else expected_arrivals(stream) for stream in traffic.streams]
    next_hops = {(0, 3): NextHop(address="192.168.1.4", mac="02:00:00:00:00:04", chain=3)}
    assert find_faults(traffic, checks, PORTS, next_hops) == [
        "chain 3, left to right (tester0 to tester1, VLAN 203 there): 20 learning frames sent, none arrived (its next "
        "hop 192.168.1.4 answered, as 02:00:00:00:00:04)"
    ]


def test_frames_that_arrive_as_another_chains_are_a_fault_though_the_port_is_right() -> None:
    traffic = chains(2)
    checks = [
        check(stream, (1, 201)) if stream.stream_id == 0 else expected_arrivals(stream) for stream in traffic.streams
    ]
    assert find_faults(traffic, checks, PORTS, {}) == [
        "chain 0, left to right (tester0 to tester1, VLAN 200 there): 20 learning frames sent, 20 arrived at tester1 "
        "in VLAN 201, which is chain 1's (VLAN 200 expected)"
    ]


def test_frames_that_come_back_to_where_they_left_are_said_to() -> None:
    traffic = Traffic(streams=(plain_stream(0, 0, 1),))
    assert find_faults(traffic, [check(traffic.streams[0], (0, None))], PORTS, {}) == [
        "left to right (tester0 to tester1): 20 learning frames sent, none arrived there; 20 arrived at tester0"
    ]


def test_many_dead_directions_are_counted_and_the_first_named() -> None:
    traffic = chains(64)
    faults = find_faults(traffic, [check(stream) for stream in traffic.streams], PORTS, {})
    assert len(faults) == 9 and faults[-1] == "and 120 more"


def test_frames_that_another_chain_sent_on_do_not_prove_their_own() -> None:
    def stream(chain: int, way: int) -> Stream:
        layers = (Ethernet(src=f"02:00:00:00:01:0{way}", dst=f"02:00:00:00:02:{chain}{way}"), IPV4, UDP)
        return plain_stream(2 * chain + way, way, 1 - way, chain=chain, layers=layers)

    traffic = Traffic(streams=tuple(stream(chain, way) for chain in (0, 1) for way in (0, 1)))
    vms = {chain: f"02:00:00:00:02:{chain}1" for chain in (0, 1)}

    def from_mac_owners(stream: Stream, *macs: str) -> DirectionCheck:
        seen = [{"port": stream.rx_port, "vlan": None, "src": mac, "dst": "d", "count": 20} for mac in macs]
        return to_direction_check(stream, {"sent_count": 20, "received_count": 20 * len(macs), "arrivals": seen})

    left_to_right, *rest = traffic.streams
    proven = [expected_arrivals(other) for other in rest]
    assert find_faults(traffic, [from_mac_owners(left_to_right, vms[1]), *proven], PORTS, {}) == [
        "chain 0, left to right (tester0 to tester1): 20 learning frames sent, none arrived through its own chain; 20 "
        "from 02:00:00:00:02:11, which is chain 1's"
    ]
    assert no_path_error(["so"], traffic, [from_mac_owners(left_to_right, vms[1]), *proven], {}).chains == (0,)
    assert find_faults(traffic, [from_mac_owners(left_to_right, *vms.values()), *proven], PORTS, {}) == []
    assert find_faults(traffic, [from_mac_owners(left_to_right, left_to_right.ethernet.src), *proven], PORTS, {}) == []
