"""The tester's addresses on its links, and the neighbors that it resolves."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.neighbor import NeighborPlan
from nodrop.model.trex import TrexPort
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers


def neighbors(sut: str, **keys: Any) -> NeighborPlan:
    text = {"sut": sut, **{key.replace("__", "."): value for key, value in keys.items()}}
    return build_plan(build_config((), text), cpus=(0, 1)).neighbors


@pytest.mark.parametrize("sut", ["router", "vnf-l3"])
@pytest.mark.parametrize(
    ("version", "next_hops"),
    [
        (4, ("198.18.255.254", "198.19.255.254")),
        (6, ("2001:2:0:7fff:ffff:ffff:ffff:fffe", "2001:2:0:ffff:ffff:ffff:ffff:fffe")),
    ],
)
def test_in_front_of_a_router_every_port_asks_for_it_and_can_be_asked_for(
    sut: str, version: int, next_hops: tuple[str, str]
) -> None:
    links = neighbors(sut, traffic__ip=version, frame_bytes=128).links
    assert tuple(link.next_hop for link in links) == next_hops
    assert links[0].station.addresses == ("198.18.0.1", "2001:2::1")
    assert [link.station.mac for link in links] == ["02:6e:64:00:00:00", "02:6e:64:00:00:01"]


def test_a_port_that_only_receives_is_asked_for_and_asks_for_nobody() -> None:
    near, far = neighbors("router", bidirectional=False).links
    assert near.next_hop == "198.18.255.254"
    assert far.next_hop is None
    assert far.station.addresses[0] == "198.19.0.1"


def test_the_outer_header_says_which_next_hop_a_tunnel_has() -> None:
    keys = {"traffic__gre": 1, "traffic__ip": 4, "traffic__tunnel_ip": 6, "frame_bytes": 128}
    assert neighbors("router", **keys).links[0].next_hop == "2001:2:0:7fff:ffff:ffff:ffff:fffe"


def test_a_router_is_answered_also_where_the_tester_asks_for_nobody() -> None:
    links = neighbors("router", neighbors__resolve=False).links
    assert len(links) == 2 and all(link.next_hop is None for link in links)


@pytest.mark.parametrize("sut", ["bridge", "ovs", "wire"])
def test_through_a_bridge_the_tester_asks_for_its_other_end_if_told_to(sut: str) -> None:
    assert neighbors(sut).links == ()
    links = neighbors(sut, neighbors__resolve=True, traffic__vlan=100, traffic__qinq=7, frame_bytes=128).links
    assert [link.next_hop for link in links] == ["198.19.0.1", "198.18.0.1"]
    assert [[tag.kind, tag.id] for tag in links[0].station.tags] == [["qinq", 7], ["vlan", 100]]


@pytest.mark.parametrize("sut", ["vnf-l2", "xdp"])
def test_where_nobody_could_answer_asking_is_refused_and_announcing_is_not(sut: str) -> None:
    with pytest.raises(ConfigError, match=f"neighbors.resolve: {sut} has no addresses"):
        neighbors(sut, neighbors__resolve=True)
    created = neighbors(sut, neighbors__announce_every="0.5s")
    assert (len(created.links), created.announce_every_s) == (2, 0.5)


def test_ports_of_several_chains_have_links_of_their_own() -> None:
    links = neighbors("vnf-l3", chains=2, networks="ports").links
    assert [link.port for link in links] == [0, 1, 2, 3]
    assert len({link.next_hop for link in links}) == 4


def external(**keys: Any) -> NeighborPlan:
    text = {"sut": "ext", "ports": ["a", "b"], **{key.replace("__", "."): value for key, value in keys.items()}}
    macs = ("02:00:00:00:00:0a", "02:00:00:00:00:0b")
    return build_plan(build_config((), text), Resolvers(inspect_ports=lambda _: macs), (0, 1)).neighbors


def test_chains_of_a_sut_that_is_there_are_asked_for_in_their_vlans_by_their_own_stations() -> None:
    gateways = {"gateways__tester": ["10.0.0.100", "10.1.0.100"], "gateways__sut": ["10.0.0.1", "10.1.0.1"]}
    links = external(chains=2, vlans=[[100, 101], [200, 201]], frame_bytes=68, **gateways).links
    assert [(link.port, link.chain, link.station.tags[0].id, link.next_hop) for link in links] == [
        (0, 0, 100, "10.0.0.1"),
        (1, 0, 200, "10.1.0.1"),
        (0, 1, 101, "10.0.0.2"),
        (1, 1, 201, "10.1.0.2"),
    ]
    assert [link.station.addresses[0] for link in links] == ["10.0.0.100", "10.1.0.100", "10.0.0.101", "10.1.0.101"]


def test_a_sut_that_is_there_is_asked_for_nobody_where_mac_addresses_or_no_gateways_are_written() -> None:
    macs = [["02:00:00:00:01:01"], ["02:00:00:00:01:02"]]
    for keys in ({"macs": macs}, {}):
        assert all(link.next_hop is None for link in external(**keys).links)
    with pytest.raises(ConfigError, match=r"gateways.sut: missing"):
        external(neighbors__resolve=True)


def test_one_way_to_a_sut_that_is_there_the_far_port_says_where_it_is() -> None:
    assert external(bidirectional=False).announce_every_s == 1
    assert external(bidirectional=False, neighbors__announce_every="5s").announce_every_s == 5
    assert external().announce_every_s is None


def test_in_front_of_a_router_trex_announces_its_stations_as_it_answers_nobody_during_a_trial() -> None:
    def through_trex(**keys: Any) -> NeighborPlan:
        text = {"sut": "ext", "generator": "trex", **{key.replace("__", "."): value for key, value in keys.items()}}
        result = tuple(TrexPort(number=at, mac=f"02:00:00:00:00:0{at}", speed_bps=None, driver="x") for at in (0, 1))
        return build_plan(build_config((), text), Resolvers(inspect_trex=lambda _: result), (0, 1)).neighbors

    gateways = {"gateways__tester": ["10.0.0.100", "10.1.0.100"], "gateways__sut": ["10.0.0.1", "10.1.0.1"]}
    assert through_trex(**gateways).announce_every_s == 1
    assert through_trex(**gateways, neighbors__announce_every="3s").announce_every_s == 3
    assert through_trex().announce_every_s is None
