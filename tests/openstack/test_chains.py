"""Chains in a real cloud: nodrop creates what the plan requires, reads it back, and removes it afterwards."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.openstack.services.layout import Layout
from tests.openstack.services.register import connection
from tests.openstack.staging import cloud_of, contents, diff_contents, plan, run_nodrop, staged

from nodrop.errors import StageError

pytestmark = [
    *(pytest.mark.lab, pytest.mark.openstack, pytest.mark.timeout(900)),
    pytest.mark.usefixtures("nothing_left"),
]
Figure = Callable[[str], None]


@pytest.mark.parametrize("chains", [1, 10])
def test_chains_stand_and_go(services: Layout, image: Path, figure: Figure, chains: int) -> None:
    run_plan = plan(services, image, chains=chains)
    begun_s = time.monotonic()
    with staged(services, run_plan) as staged_chains:
        up_s = time.monotonic() - begun_s
        facts = staged_chains.stage.facts
        assert facts.cloud
        assert len(facts.cloud.servers) == len(facts.chains) == chains
        calls = facts.cloud.api_call_counts
        begun_s = time.monotonic()
    down_s = time.monotonic() - begun_s
    total = sum(calls.values())
    figure(
        f"{chains} PVP chain{'s' if chains > 1 else ''}: staged in {up_s:.1f} s, removed in {down_s:.1f} s, "
        f"{total} requests to stage ({total / chains:.1f} per chain): {calls}"
    )


def test_two_vms_in_line_have_a_network_between(services: Layout, image: Path) -> None:
    with staged(services, plan(services, image, hops=2)) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        first, second = facts.cloud.servers
        assert first.host == second.host
        assert {network.role for network in facts.cloud.networks} == {"left", "middle", "right"}
        (chain,) = facts.chains
        assert chain.macs == (first.macs[0], second.macs[1])
        cloud = connection(services)
        middle = next(each for each in facts.cloud.networks if each.role == "middle")
        owners = {port.device_id for port in cloud.network.ports(network_id=middle.id)}
        assert owners == {first.id, second.id}


def test_shared_networks_are_made_once(services: Layout, image: Path) -> None:
    with staged(services, plan(services, image, chains=3, networks="shared")) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        assert len(facts.cloud.networks) == 2
        assert len({chain.vlans for chain in facts.chains}) == 1
        assert len({chain.macs for chain in facts.chains}) == 3


TUNNEL = {"tunnel__kind": "vxlan", "tunnel__src_vteps": "9.9.9.1,9.9.9.2", "tunnel__dst_vtep": "9.9.9.9"}
UNTAGGED = {"openstack__tagged": False}


@pytest.mark.parametrize(
    ("kind", "numbers", "keys"),
    [("vlan", (150, 250), {}), ("vlan", None, {}), ("vxlan", None, TUNNEL), ("flat", None, UNTAGGED)],
)
def test_segmentation_ids_are_those_that_neutron_has(
    services: Layout, image: Path, kind: str, numbers: tuple[int, int] | None, keys: dict[str, object]
) -> None:
    network_keys = dict(keys)
    for side, number in zip(("left", "right"), numbers or (None, None), strict=True):
        network_keys[f"openstack__networks__{side}__type"] = kind
        network_keys[f"openstack__networks__{side}__segmentation_id"] = number
        if kind == "vxlan":
            network_keys[f"openstack__networks__{side}__physical_network"] = None
    with staged(services, plan(services, image, **network_keys)) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        for reported in facts.cloud.networks:
            actual = connection(services).network.get_network(reported.id)
            assert (reported.kind, reported.segmentation_id) == (kind, actual.provider_segmentation_id)
        left, right = (each.segmentation_id for each in facts.cloud.networks)
        (chain,) = facts.chains
        assert chain.vlans == ((left, right) if kind == "vlan" else None)
        assert chain.vnis == ((left, right) if kind == "vxlan" else None)
        assert numbers in (None, (left, right))


def test_ports_have_no_security_and_the_macs_that_are_told(services: Layout, image: Path) -> None:
    with staged(services, plan(services, image)) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        cloud = connection(services)
        ports = list(cloud.network.ports(device_id=facts.cloud.servers[0].id))
        assert {port.mac_address for port in ports} == set(facts.cloud.servers[0].macs)
        assert [port.is_port_security_enabled for port in ports] == [False, False]
        assert {port.binding_vif_type for port in ports} == {"ovs"}


SRIOV = {
    "openstack__sriov": True,
    "openstack__networks__left__segmentation_id": 161,
    "openstack__networks__right__segmentation_id": 261,
}


def test_virtual_functions_are_bound_where_a_host_has_some(services: Layout, image: Path) -> None:
    with staged(services, plan(services, image, **SRIOV)) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        cloud = connection(services)
        ports = list(cloud.network.ports(device_id=facts.cloud.servers[0].id))
        assert {port.binding_vnic_type for port in ports} == {"direct"}
        assert {port.binding_vif_type for port in ports} == {"hw_veb"}
        assert facts.cloud.servers[0].host == "compute1"
        assert facts.chains[0].vlans == (161, 261)


def test_virtual_functions_no_host_has_are_refused_with_the_reason(
    services: Layout, image: Path, figure: Figure
) -> None:
    run_plan = plan(services, image, **SRIOV, openstack__hosts="nova:compute2")
    with pytest.raises(StageError, match=r"nodrop-vm-0") as refused, staged(services, run_plan):
        pass
    figure(f"SR-IOV without virtual functions: {refused.value}")


def test_a_flavor_has_its_extra_specs_and_a_bad_one_is_refused(services: Layout, image: Path) -> None:
    specs = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "large"}
    with staged(services, plan(services, image, openstack__flavor__extra_specs=specs)) as staged_chains:
        flavor = next(each for each in connection(services).compute.flavors() if each.name == "t-flavor")
        assert flavor.extra_specs == specs
        assert staged_chains.stage.facts.cloud
    run_plan = plan(services, image, openstack__flavor__extra_specs={"hw:cpu_policy": "bogus"})
    with pytest.raises(StageError, match="bogus"), staged(services, run_plan):
        pass


def test_servers_are_in_the_group_that_was_asked_for(services: Layout, image: Path) -> None:
    run_plan = plan(services, image, chains=2, openstack__server_group="anti-affinity")
    with staged(services, run_plan) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        assert len({server.host for server in facts.cloud.servers}) == 2
        groups = list(connection(services).compute.server_groups())
        assert {member for group in groups for member in group.member_ids} == {each.id for each in facts.cloud.servers}


def test_idle_interfaces_are_on_networks_of_their_own(services: Layout, image: Path) -> None:
    with staged(services, plan(services, image, idle_interfaces=2)) as staged_chains:
        facts = staged_chains.stage.facts
        assert facts.cloud
        assert len(facts.cloud.servers[0].macs) == 4
        assert [network.role for network in facts.cloud.networks].count("idle") == 2


def test_routers_stand_between_the_tester_and_the_chain(services: Layout, image: Path) -> None:
    run_plan = plan(services, image, routers=True, openstack__forwarder="vnf-l3")
    with staged(services, run_plan) as staged_chains:
        cloud = connection(services)
        routers = {router.name: router for router in cloud.network.routers()}
        assert set(routers) == {router.name for router in cloud_of(run_plan).routers}
        for planned in cloud_of(run_plan).routers:
            routes = {(each["destination"], each["nexthop"]) for each in routers[planned.name].routes}
            assert routes == {(each.prefix, each.via) for each in planned.routes}
        macs = {port.mac_address for router in routers.values() for port in cloud.network.ports(device_id=router.id)}
        (chain,) = staged_chains.stage.facts.chains
        assert chain.macs
        assert set(chain.macs) <= macs


def test_a_vm_has_a_floating_address_to_log_in_by(services: Layout, image: Path) -> None:
    cloud = connection(services)
    outside = cloud.network.create_network(name="outside", is_router_external=True)
    subnet = cloud.network.create_subnet(network_id=outside.id, cidr="203.0.113.0/24", ip_version=4, enable_dhcp=False)
    try:
        run_plan = plan(
            services, image, openstack__management=True, openstack__floating_ip=True,
            openstack__networks__floating__name="outside",
        )  # fmt: skip
        with staged(services, run_plan) as staged_chains:
            facts = staged_chains.stage.facts
            assert facts.cloud
            (floating,) = cloud.network.ips()
            assert facts.cloud.servers[0].address == floating.floating_ip_address
            assert floating.port_id
    finally:
        cloud.network.delete_subnet(subnet)
        cloud.network.delete_network(outside)


def test_a_second_run_takes_what_stands_and_makes_nothing(services: Layout, image: Path, figure: Figure) -> None:
    run_plan = plan(services, image, chains=2, openstack__keep=True)
    with staged(services, run_plan) as staged_chains:
        first = staged_chains.stage.facts
    begun_s = time.monotonic()
    with staged(services, plan(services, image, chains=2)) as staged_chains:
        took_s = time.monotonic() - begun_s
        second = staged_chains.stage.facts
        assert first.cloud
        assert second.cloud
        assert {each.id for each in second.cloud.resources} == {each.id for each in first.cloud.resources}
        assert all(each.found for each in second.cloud.resources)
        assert second.chains == first.chains
        calls = second.cloud.api_call_counts
    figure(f"2 existing chains: staged in {took_s:.1f} s with {sum(calls.values())} requests: {calls}")
    cleaned = run_nodrop(services, "cleanup", "--force", "--cloud", "admin")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr


def test_a_network_that_is_not_as_asked_is_not_taken(services: Layout, image: Path) -> None:
    cloud = connection(services)
    network = cloud.network.create_network(name="nodrop-left-0", provider_network_type="vxlan")
    try:
        with pytest.raises(StageError, match="nodrop-left-0"), staged(services, plan(services, image)):
            pass
        assert cloud.network.find_network(network.id)
    finally:
        cloud.network.delete_network(network)


def test_who_is_no_administrator_is_told_what_needs_one(services: Layout, image: Path, figure: Figure) -> None:
    run_plan = plan(services, image, openstack__cloud="member")
    before = contents(services, "member")
    with pytest.raises(StageError, match="administrator") as refused, staged(services, run_plan):
        pass
    assert diff_contents(contents(services, "member"), before) == {}
    figure(f"member requires an administrator: {refused.value}")


def test_who_is_no_administrator_stages_what_members_may(services: Layout, image: Path) -> None:
    admin = connection(services)
    flavor = admin.compute.create_flavor(name="for-all", ram=64, vcpus=1, disk=1)
    keys: dict[str, object] = {"openstack__cloud": "member", "openstack__tagged": False}
    for side in ("left", "right"):
        keys |= {f"openstack__networks__{side}__type": "any", f"openstack__networks__{side}__physical_network": None}
    keys |= {
        "openstack__flavor__name": "for-all",
        "openstack__flavor__vcpus": 1,
        "openstack__flavor__disk": 1,  # flavors without a disk require an administrator
    }
    before = contents(services, "member")
    try:
        with staged(services, plan(services, image, **keys)) as staged_chains:
            facts = staged_chains.stage.facts
            assert facts.cloud
            assert not facts.cloud.is_admin
            assert len(facts.cloud.servers[0].macs) == 2
        assert diff_contents(contents(services, "member"), before) == {}
    finally:
        admin.compute.delete_flavor(flavor)
