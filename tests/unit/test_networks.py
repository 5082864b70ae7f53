"""Networks of chains, and contradictory settings."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.lab_plan import LabPlan
from nodrop.plan.chain_ends import plan_chain_ends
from nodrop.plan.lab import check_lab, plan_private_lab
from nodrop.plan.resolvers import TesterPorts


def lab(**keys: Any) -> LabPlan:
    config = build_config((), keys)
    check_lab(config)
    macs = tuple(f"02:00:00:00:00:{len(name):02x}" for name in config.ports)
    return plan_private_lab(config, (0, 1), 128, TesterPorts("ports", config.ports, macs))


@pytest.mark.parametrize(
    ("keys", "networks"),
    [
        ({}, "ports"),
        ({"chains": 2}, "vlan"),
        ({"chains": 1, "vlans": [[5], [6]]}, "vlan"),
        ({"chains": 2, "sut": "ext", "ports": ["a", "bb"]}, "shared"),
        ({"chains": 2, "sut": "ext", "ports": ["a", "bb"], "vlans": [[1, 2], [3, 4]]}, "vlan"),
        ({"chains": 2, "networks": "ports"}, "ports"),
    ],
)
def test_networks_are_chosen_by_what_else_is_asked(keys: dict[str, Any], networks: str) -> None:
    assert lab(**keys).networks == networks


def test_every_chain_has_a_vlan_of_its_own_on_each_side() -> None:
    created = lab(chains=128)
    assert len(created.vlans) == 128
    assert all(len({vlans[side] for vlans in created.vlans}) == 128 for side in range(2))
    text = lab(chains=2, vlans=[[100, 101], [200, 201]])
    assert text.vlans == ((100, 200), (101, 201))
    assert [[port.vlan for port in edge.ports] for edge in text.edges] == [[100, 101], [200, 201]]


def test_on_shared_networks_one_vlan_a_side_or_none_holds_for_all() -> None:
    created = lab(chains=3, networks="shared", vlans=[[7], [8]])
    assert created.vlans == ((7, 8),) * 3
    macs = [[port.mac for port in edge.ports] for edge in created.edges]
    assert len({mac for side in macs for mac in side}) == 6
    assert lab(chains=3, networks="shared").vlans == ()


@pytest.mark.parametrize("networks", ["vlan", "shared"])
@pytest.mark.parametrize("hops", [1, 2])
def test_two_tester_ports_carry_all_chains_and_every_interface_has_one_end(networks: str, hops: int) -> None:
    config = build_config((), {"chains": 5, "hops": hops, "networks": networks})
    created = lab(chains=5, hops=hops, networks=networks)
    assert created.tester_interfaces == ("tester0", "tester1")
    assert {(end.chain, end.side, end.port) for ends in plan_chain_ends(config, created) for end in ends} == {
        (chain, side, side) for chain in range(5) for side in range(2)
    }
    ends = [end.interface for link in created.links for end in (link.near, link.far)]
    used = [port.interface for forwarder in created.forwarders for port in forwarder.ports]
    used += [port.interface for edge in created.edges for port in edge.ports]
    assert sorted(ends) == sorted(used)
    assert len(set(ends)) == len(ends) and all(len(name) <= 15 for name in ends)


def test_with_128_chains_all_addresses_differ_and_names_fit() -> None:
    created = lab(chains=128, hops=2, sut="vnf-l3", routers=True, idle_interfaces=8)
    ports = [port for forwarder in created.forwarders for port in forwarder.ports]
    ports += [port for router in created.routers for pair in router.ports for port in pair]
    macs, ips = [port.mac for port in ports], [ip for port in ports for ip in port.addresses]
    assert len(set(macs)) == len(macs) == 8 * 128
    assert len(set(ips)) == len(ips)
    names = [end.interface for link in created.links for end in (link.near, link.far)]
    assert len(names) == len(set(names)) and max(map(len, names)) <= 15


def test_with_many_chains_queues_are_shorter_unless_that_was_asked() -> None:
    assert [lab(chains=chains).sut_queue_slots for chains in (1, 8, 9, 64, 128)] == [4096, 4096, 2048, 512, 512]
    assert lab(**{"chains": 64, "vnf.queue_slots": 1024}).sut_queue_slots == 1024


def test_processes_that_share_a_cpu_sleep_when_there_is_nothing_to_do() -> None:
    assert [forwarder.yields for forwarder in lab().forwarders] == [False]
    created = lab(chains=2)
    assert all(process.yields for process in (*created.edges, *created.forwarders))


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"chains": 9, "networks": "ports"}, r"networks: too many chains for ports \(9, at most 8\)"),
        ({"networks": "ports", "vlans": [[1], [2]]}, r"networks: chains with ports of their own have no VLANs"),
        ({"chains": 2, "networks": "shared", "sut": "bridge"}, r"networks: 2 chains of bridge .* a loop"),
        (
            {"chains": 3, "vlans": [[1, 2], [3, 4]]},
            r"vlans\[0\]: 2 VLANs for 3 chains.*write 3, or chains: 2",
        ),
        ({"chains": 1, "vlans": [[1, 2], [3, 4]]}, r"vlans\[0\]: 2 VLANs for 1 chain,.*or chains: 2"),
        ({"vlans": [[1], [3, 4]]}, r"1 VLANs left and 2 right"),
        ({"chains": 2, "vlans": [[1, 1], [3, 4]]}, r"vlans\[0\]: duplicate VLAN \(1\)"),
        ({"vlans": [[0], [1]]}, r"vlans.0.0: should be greater than or equal to 1 \(0\)"),
        ({"vlans": [[1], [4095]]}, r"vlans.1.0: should be less than or equal to 4094 \(4095\)"),
        (
            {"chains": 2, "networks": "shared", "vlans": [[1, 2], [3, 3]]},
            r"vlans\[0\]: networks: shared has one VLAN for all chains \(1, 2\)",
        ),
        ({"vlans": [[], []]}, r"0 VLANs left and 0 right"),
        ({"routers": True}, r"routers: vnf-l2 does not answer"),
        ({"sut": "router", "idle_interfaces": 1}, r"idle_interfaces: router has no VNFs \(1\)"),
        ({"ports": ["eth1", "eth2"]}, r"ports: vnf-l2 is brought up between ports of its own \(eth1, eth2\)"),
        ({"sut": "ext"}, r"ports: wrong number of ports \(none\), 1 chain with networks: ports need 2"),
        ({"sut": "ext", "ports": ["a", "a"]}, r"ports: duplicate port \(a, a\)"),
        (
            {"sut": "ext", "ports": ["a", "b"], "macs": [["02:00:00:00:00:01"] * 2] * 2},
            r"macs\[0\]: 2 MAC addresses for 1 chain",
        ),
    ],
)
def test_what_does_not_go_together_names_key_found_and_remedy(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        lab(**keys)


def test_a_wire_between_named_interfaces_is_one_that_is_there() -> None:
    """NFVbench calls this setup a loopback; frames are addressed to the other port."""
    config = build_config((), {"sut": "wire", "ports": ["a", "bb"], "chains": 2, "vlans": [[111, 112], [211, 212]]})
    created = lab(sut="wire", ports=["a", "bb"], chains=2, vlans=[[111, 112], [211, 212]])
    assert (created.sut, created.tester_interfaces, created.forwarders) == ("ext", ("a", "bb"), ())
    for left, right in plan_chain_ends(config, created):
        assert (left.tester_mac, left.next_mac) == ("02:00:00:00:00:01", "02:00:00:00:00:02")
        assert (right.tester_mac, right.next_mac) == ("02:00:00:00:00:02", "02:00:00:00:00:01")
        assert ([tag.id for tag in left.tags], [tag.id for tag in right.tags]) == (
            [111 + left.chain],
            [211 + left.chain],
        )
