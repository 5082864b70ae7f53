"""Chains read back from a cloud: complete and unambiguous, or an error."""

from collections.abc import Mapping
from typing import Any

import pytest

from nodrop.errors import StageError
from nodrop.model.cloud import CloudLogin, CloudNetwork, CloudPlan, CloudPort, CloudRouter, CloudServer
from nodrop.model.facts import ChainFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.openstack import chain_facts
from nodrop.stage.openstack.chain_facts import CloudState

Json = dict[str, Any]


def lab(count: int = 1, *, tagged: bool = True, networks: str = "vlan") -> LabPlan:
    ports = ("eth0", "eth1") if networks != "ports" else tuple(f"eth{port}" for port in range(2 * count))
    return LabPlan.model_validate(
        {
            "sut": "openstack",
            "networks": networks,
            "chain_count": count,
            "vlans": ((0, 0),) * count if tagged else (),
            "tester_interfaces": ports,
            "sut_interfaces": (),
            "forwarders": (),
            "sut_queue_slots": 64,
        }
    )


def plan(count: int = 1, **more: Any) -> CloudPlan:
    return CloudPlan(
        login=CloudLogin(),
        networks=tuple(
            CloudNetwork.model_validate({"name": f"{role}{chain}", "role": role, "chain": chain})
            for chain in range(count)
            for role in ("left", "right")
        ),
        servers=tuple(
            CloudServer(
                name=f"vm{chain}",
                chain=chain,
                ports=(
                    CloudPort(name=f"vm{chain}-0", network=f"left{chain}"),
                    CloudPort(name=f"vm{chain}-1", network=f"right{chain}"),
                ),
            )
            for chain in range(count)
        ),
        **more,
    )


def networks(cloud_plan: CloudPlan, **segments: Any) -> Mapping[str, Json]:
    """Return networks as Neutron shows them to administrators, by default with VLANs from 100."""
    return {
        network.name: {
            "id": f"id-{network.name}",
            "provider:network_type": "vlan",
            "provider:segmentation_id": segments.get(network.name, 100 + index),
            "provider:physical_network": "physnet1",
        }
        for index, network in enumerate(cloud_plan.networks)
    }


def read_chains(cloud_plan: CloudPlan, **changed: Json) -> CloudState:
    ports = {
        port.name: {
            "mac_address": f"FA:16:3E:00:{server.chain:02}:0{side}",
            "device_id": f"id-{server.name}",
            "binding:vif_type": "ovs",
            "binding:host_id": "compute1",
            **changed.get(port.name, {}),
        }
        for server in cloud_plan.servers
        for side, port in enumerate(server.ports)
    }
    servers = {
        server.name: {
            "id": f"id-{server.name}",
            chain_facts.HOST: "compute1",
            chain_facts.HOST_ID: "h1",
            **changed.get(server.name, {}),
        }
        for server in cloud_plan.servers
    }
    return CloudState("here", ports, servers, {}, ())


def facts(cloud_plan: CloudPlan, of: LabPlan, **segments: Any) -> tuple[ChainFacts, ...]:
    return tuple(
        chain_facts.build_chain_facts(
            cloud_plan,
            of,
            tuple(chain_facts.build_network_facts(cloud_plan, networks(cloud_plan, **segments))),
            read_chains(cloud_plan),
        )
    )


def test_a_chain_has_the_vlans_and_macs_that_the_cloud_gave_it() -> None:
    first, second = facts(plan(2), lab(2))
    assert first.vlans == (100, 101)
    assert first.macs == ("fa:16:3e:00:00:00", "fa:16:3e:00:00:01")
    assert first.tester_interfaces == ("eth0", "eth1")
    assert first.vnis is None
    assert second.vlans == (102, 103)


def test_frames_without_tags_have_no_vlan() -> None:
    [chain] = facts(plan(), lab(tagged=False))
    assert chain.vlans is None


def test_networks_of_a_tunnel_give_their_numbers() -> None:
    requested, report = plan(), {}
    for name, network in networks(requested, left0=7000, right0=7001).items():
        report[name] = network | {"provider:network_type": "vxlan"}
    result = tuple(chain_facts.build_network_facts(requested, report))
    [chain] = chain_facts.build_chain_facts(requested, lab(tagged=False), result, read_chains(requested))
    assert chain.vnis == (7000, 7001)
    assert chain.vlans is None
    with pytest.raises(StageError, match=r"network left0 has no VLAN \(kind vxlan\); request kind vlan"):
        chain_facts.build_chain_ids("here", requested, lab(), result)


def test_two_networks_with_one_vlan_at_a_port_of_the_tester_are_an_error() -> None:
    with pytest.raises(StageError, match="networks left0 and left1 both have VLAN 7 at the same port of the tester"):
        facts(plan(2), lab(2), left0=7, left1=7)


def test_a_vlan_may_be_on_both_sides_and_at_ports_of_different_chains() -> None:
    [chain] = facts(plan(), lab(), left0=7, right0=7)
    assert chain.vlans == (7, 7)
    assert [each.vlans for each in facts(plan(2), lab(2, networks="ports"), left0=7, left1=7)] == [(7, 101), (7, 103)]


def test_chains_of_a_shared_network_have_its_vlan_and_their_own_macs() -> None:
    shared = tuple(network.model_copy(update={"chain": None}) for network in plan().networks)
    ports = tuple(
        CloudServer(
            name=f"vm{chain}",
            chain=chain,
            ports=(CloudPort(name=f"vm{chain}-0", network="left0"), CloudPort(name=f"vm{chain}-1", network="right0")),
        )
        for chain in range(2)
    )
    first, second = facts(plan().model_copy(update={"networks": shared, "servers": ports}), lab(2, networks="shared"))
    assert first.vlans == second.vlans == (100, 101)
    assert first.macs != second.macs


def test_who_is_not_told_a_vlan_may_write_it_and_else_is_told_who_is() -> None:
    bare = {name: {"id": f"id-{name}"} for name in ("left0", "right0")}
    with pytest.raises(
        StageError, match="segmentation id of network left0 is unknown, as only administrators can read it"
    ):
        chain_facts.build_chain_ids("here", plan(), lab(), tuple(chain_facts.build_network_facts(plan(), bare)))
    text = plan().model_copy(
        update={
            "networks": tuple(
                network.model_copy(update={"segmentation_id": 300 + index})
                for index, network in enumerate(plan().networks)
            )
        }
    )
    [result] = chain_facts.build_chain_ids("here", text, lab(), tuple(chain_facts.build_network_facts(text, bare)))
    assert result.vlans == (300, 301)


def test_where_routers_stand_they_are_the_stations_and_edges_the_tester_s_networks() -> None:
    edges = tuple(
        CloudNetwork.model_validate({"name": f"edge_{side}0", "role": f"edge_{side}", "chain": 0})
        for side in ("left", "right")
    )
    routers = tuple(CloudRouter(name=f"r{side}", networks=(f"edge_{side}0", f"{side}0")) for side in ("left", "right"))
    requested = plan(routers=routers)
    requested = requested.model_copy(update={"networks": (*edges, *requested.networks)})
    result = tuple(chain_facts.build_network_facts(requested, networks(requested)))
    state = read_chains(requested)._replace(router_macs=("FA:16:3E:AA:00:00", "FA:16:3E:AA:00:01"))
    [chain] = chain_facts.build_chain_facts(requested, lab(), result, state)
    assert chain.vlans == (100, 101)
    assert chain.macs == ("fa:16:3e:aa:00:00", "fa:16:3e:aa:00:01")


def test_a_mac_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(StageError, match="ports vm0-0 and vm1-1 have the same MAC address fa:16:3e:00:00:00"):
        tuple(
            chain_facts.build_server_facts(
                plan(2), read_chains(plan(2), **{"vm1-1": {"mac_address": "fa:16:3e:00:00:00"}}), set()
            )
        )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"binding:vif_type": "binding_failed"}, r"is not bound on compute1 \(binding_failed\)"),
        ({"binding:vif_type": "unbound", "binding:host_id": ""}, r"is not bound on a host \(unbound\)"),
        ({"device_id": "id-other"}, "belongs to id-other instead of server vm0"),
        ({"device_id": ""}, "belongs to none instead of server vm0"),
        ({"mac_address": ""}, "no longer exists"),
    ],
)
def test_a_port_that_is_not_as_it_has_to_be_is_an_error(changed: Json, message: str) -> None:
    with pytest.raises(StageError, match=f"port vm0-1 .*{message}"):
        tuple(chain_facts.build_server_facts(plan(), read_chains(plan(), **{"vm0-1": changed}), set()))


def test_what_only_administrators_are_told_is_not_missed() -> None:
    requested = plan()
    report = read_chains(requested)
    bare = {name: {key: port[key] for key in ("mac_address", "device_id")} for name, port in report.ports.items()}
    servers = {name: {"id": server["id"], "hostId": "h1"} for name, server in report.servers.items()}
    [server] = chain_facts.build_server_facts(requested, report._replace(ports=bare, servers=servers), set())
    assert (server.host, server.restaged) == ("", False)
    chain_facts.check_hosts(requested, report._replace(servers=servers))


def test_a_vm_on_another_host_than_asked_for_is_an_error() -> None:
    requested = plan(2, hosts=("compute1", "az:compute2"))
    chain_facts.check_hosts(
        requested, read_chains(requested, vm1={chain_facts.HOST: "compute2.example.org", chain_facts.HOST_ID: "h2"})
    )
    with pytest.raises(StageError, match="server vm1 is on host compute1 instead of compute2"):
        chain_facts.check_hosts(requested, read_chains(requested))


def test_a_chain_on_two_hosts_is_an_error_unless_that_was_asked_for() -> None:
    requested = plan()
    second = requested.servers[0].model_copy(
        update={
            "name": "vm0-1",
            "hop": 1,
            "ports": (CloudPort(name="vm0-1-0", network="left0"), CloudPort(name="vm0-1-1", network="right0")),
        }
    )
    requested = requested.model_copy(update={"servers": (*requested.servers, second)})
    elsewhere = read_chains(requested, **{"vm0-1": {chain_facts.HOST: "compute2", chain_facts.HOST_ID: "h2"}})
    with pytest.raises(
        StageError, match=r"servers vm0 and vm0-1 of one chain are on different hosts \(compute1 and comp"
    ):
        chain_facts.check_hosts(requested, elsewhere)
    chain_facts.check_hosts(requested.model_copy(update={"same_host": False}), elsewhere)
