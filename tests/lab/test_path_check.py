"""Path checks before traffic: each chain and direction separately, also with shared ports and MAC addresses."""

import pytest
from tests.lab.bench import bench, changed_lab

from nodrop.errors import GeneratorError
from nodrop.plan import addressing

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

VLANS = {"chains": 3, "networks": "vlan", "vlans": [[100, 101, 102], [200, 201, 202]], "frame_bytes": 68}


def test_a_chain_that_is_cut_is_named_in_both_directions_and_no_other() -> None:
    with (
        changed_lab(VLANS | {"sut": "bridge"}, "ip link set chain1l nomaster") as lab,
        lab.measurer as measurer,
        pytest.raises(GeneratorError) as refused,
    ):
        measurer.check_path()
    text = str(refused.value)
    assert "chain 1, left to right (tester0 to tester1, VLAN 201 there): " in text
    assert "chain 1, right to left (tester1 to tester0, VLAN 101 there): " in text
    assert "learning frames sent, none arrived" in text
    assert "chain 0" not in text and "chain 2" not in text


def test_frames_that_arrive_in_the_vlan_of_another_chain_are_told_though_their_port_is_right() -> None:
    """A wire does not change tags, so each chain's frames return in the VLAN of the other."""
    crossed = {"sut": "wire", "chains": 2, "networks": "vlan", "vlans": [[100, 101], [101, 100]], "frame_bytes": 68}
    message = r"chain 0, left to right .* VLAN 100, which is chain 1's \(VLAN 101 expected\)"
    with pytest.raises(GeneratorError, match=message), bench(**crossed):
        pytest.fail("the path check passed")


def test_the_next_hop_of_every_chain_is_found_in_its_vlan_and_its_frames_go_there() -> None:
    gateways = {"gateways.tester": ["10.0.0.100", "10.1.0.100"], "gateways.sut": ["10.0.0.1", "10.1.0.1"]}
    with bench(**VLANS | gateways | {"sut": "vnf-l3"}) as lab:
        result = lab.measure(3_000, 0.3)
        next_hops = [[(hop.chain, hop.address, hop.mac) for hop in port.next_hops] for port in lab.measurer.ports]
    assert next_hops == [
        [(chain, f"10.{side}.0.{chain + 1}", addressing.build_sut_mac(2 * chain + side)) for chain in range(3)]
        for side in range(2)
    ]
    assert all(stream.received_count == stream.offered_count > 0 for stream in result.streams)


def test_sixty_four_chains_are_checked_at_once() -> None:
    with bench(chains=64, frame_bytes=68, flow_count=10_000, sut="vnf-l2") as lab:
        checks = lab.measurer.check_path()
    assert len(checks) == 128 and all(check.received_count > 0 for check in checks)
    assert len({(seen.port, seen.vlan) for check in checks for seen in check.arrivals}) == 128
