"""The plan of a cloud's chains, down to each port, and their traffic before and after staging."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.cloud import CloudFlavor, CloudNetwork, CloudPlan
from nodrop.model.facts import ChainFacts
from nodrop.model.layer import Ethernet, Vlan, Vxlan
from nodrop.model.plan import Plan
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.plan.stage_facts import apply_stage_facts

PORTS = {"sut": "openstack", "ports": ["eth8", "eth9"]}
MACS = ("02:aa:00:00:00:08", "02:aa:00:00:00:09")
HERE = Resolvers(inspect_ports=lambda _: MACS)


def plan(**keys: Any) -> Plan:
    """Build a plan; keys with `__` for the dot, e.g. openstack__sriov."""
    return build_plan(
        build_config((), PORTS | {key.replace("__", "."): value for key, value in keys.items()}), HERE, (0, 1)
    )


def cloud(**keys: Any) -> CloudPlan:
    built_plan = plan(**keys).cloud
    assert built_plan
    return built_plan


def network(cloud_plan: CloudPlan, name: str) -> CloudNetwork:
    return next(each for each in cloud_plan.networks if each.name == name)


def test_one_chain_is_a_vm_between_two_networks() -> None:
    created = cloud(openstack__cloud="test")
    assert [(each.name, each.role, each.chain, each.kind, each.cidr) for each in created.networks] == [
        ("nodrop-left-0", "left", 0, "vlan", "192.168.1.0/24"),
        ("nodrop-right-0", "right", 0, "vlan", "192.168.2.0/24"),
    ]
    (server,) = created.servers
    assert (server.name, server.forwarder, server.addresses, server.routes) == ("nodrop-vm-0", "vnf-l2", None, ())
    assert [(port.name, port.network) for port in server.ports] == [
        ("nodrop-vm-0-0", "nodrop-left-0"),
        ("nodrop-vm-0-1", "nodrop-right-0"),
    ]
    assert created.tester_macs == MACS
    assert created.login.cloud == "test"


def test_two_vms_in_line_share_a_network_in_the_middle() -> None:
    created = cloud(chains=2, hops=2)
    assert [server.name for server in created.servers] == [
        "nodrop-vm-0-0",
        "nodrop-vm-0-1",
        "nodrop-vm-1-0",
        "nodrop-vm-1-1",
    ]
    assert [tuple(port.network for port in server.ports) for server in created.servers[2:]] == [
        ("nodrop-left-1", "nodrop-middle-1"),
        ("nodrop-middle-1", "nodrop-right-1"),
    ]


def test_shared_networks_are_of_no_chain_and_every_vm_is_on_them() -> None:
    created = cloud(chains=3, networks="shared")
    assert [(each.name, each.chain) for each in created.networks] == [("nodrop-left", None), ("nodrop-right", None)]
    assert {port.network for server in created.servers for port in server.ports} == {"nodrop-left", "nodrop-right"}


def test_networks_may_have_a_name_and_a_number_each() -> None:
    created = cloud(
        chains=2,
        openstack__networks__left__name=["blue", "red"],
        openstack__networks__left__segmentation_id=[111, 222],
        openstack__networks__right__name="r",
        openstack__networks__right__segmentation_id=300,
        openstack__networks__right__physical_network="physnet1",
    )
    assert [(each.name, each.segmentation_id, each.physical_network) for each in created.networks] == [
        ("blue", 111, None),
        ("r0", 300, "physnet1"),
        ("red", 222, None),
        ("r1", 301, "physnet1"),
    ]


def test_vlans_of_the_tester_are_those_of_the_networks() -> None:
    """As in NFVbench for users without administrator rights."""
    built_plan = plan(chains=2, vlans=[[111, 112], [211, 212]])
    assert built_plan.cloud
    assert [each.segmentation_id for each in built_plan.cloud.networks] == [111, 211, 112, 212]
    assert built_plan.lab.vlans == ((111, 211), (112, 212))


def test_idle_and_management_interfaces_come_behind_those_that_forward() -> None:
    created = cloud(hops=2, idle_interfaces=2, openstack__management=True, openstack__floating_ip=True)
    assert [port.network for port in created.servers[1].ports] == [
        "nodrop-middle-0",
        "nodrop-right-0",
        "nodrop-idle-0.1.0",
        "nodrop-idle-0.1.1",
        "nodrop-management",
    ]
    assert network(created, "nodrop-management").kind == "any"
    assert network(created, "nodrop-floating").must_exist


def test_sriov_leaves_the_network_between_two_vms_to_the_switch_unless_asked_otherwise() -> None:
    keys = {"hops": 2, "openstack__sriov": True} | {
        f"openstack__networks__{role}__{key}": value
        for role in ("left", "right", "middle")
        for key, value in (("physical_network", f"phys-{role}"), ("segmentation_id", 100))
    }
    types = [[port.vnic_type for port in server.ports] for server in cloud(**keys).servers]
    assert types == [["direct", "normal"], ["normal", "direct"]]
    types = [
        [port.vnic_type for port in server.ports] for server in cloud(**keys, openstack__sriov_middle=True).servers
    ]
    assert types == [["direct", "direct"], ["direct", "direct"]]


def test_a_vm_that_routes_has_addresses_and_ways_to_the_traffic() -> None:
    built_plan = plan(openstack__forwarder="vnf-l3", flows__ip="10.0.0.0/8,20.0.0.0/8")
    assert built_plan.cloud
    (server,) = built_plan.cloud.servers
    assert server.addresses == ("192.168.1.1/24", "192.168.2.1/24")
    assert [(route.prefix, route.via) for route in server.routes] == [
        ("10.0.0.0/8", "192.168.1.254"),
        ("20.0.0.0/8", "192.168.2.254"),
    ]
    assert [link.station.addresses[0] for link in built_plan.neighbors.links] == ["192.168.1.254", "192.168.2.254"]
    assert [link.next_hop for link in built_plan.neighbors.links] == [None, None]  # from the cloud


def test_addresses_of_the_gateways_are_the_users() -> None:
    created = cloud(
        chains=2,
        openstack__forwarder="vpp",
        gateways__sut="192.168.1.1,192.168.2.1",
        gateways__tester="192.168.1.100,192.168.2.100",
    )
    assert [server.addresses for server in created.servers] == [
        ("192.168.1.1/24", "192.168.2.1/24"),
        ("192.168.1.2/24", "192.168.2.2/24"),
    ]
    assert [server.routes[0].via for server in created.servers] == ["192.168.1.100", "192.168.1.101"]


def test_routers_stand_between_edge_networks_and_the_vm() -> None:
    built_plan = plan(openstack__forwarder="vnf-l3", routers=True, flows__ip="10.0.0.0/8,20.0.0.0/8")
    assert built_plan.cloud
    left, right = built_plan.cloud.routers
    assert (left.networks, right.networks) == (
        ("nodrop-edge-left-0", "nodrop-left-0"),
        ("nodrop-edge-right-0", "nodrop-right-0"),
    )
    assert [(route.prefix, route.via) for route in left.routes] == [
        ("10.0.0.0/8", "192.168.5.254"),  # the tester
        ("20.0.0.0/8", "192.168.1.2"),  # the VM
    ]
    assert [(route.prefix, route.via) for route in built_plan.cloud.servers[0].routes] == [
        ("10.0.0.0/8", "192.168.1.1"),
        ("20.0.0.0/8", "192.168.2.1"),
    ]
    assert [link.next_hop for link in built_plan.neighbors.links] == ["192.168.5.1", "192.168.6.1"]


def test_in_a_tunnel_vms_send_to_the_station_inside() -> None:
    built_plan = plan(chains=2, tunnel__kind="vxlan", tunnel__src_vteps="9.9.9.1,9.9.9.2", tunnel__dst_vtep="9.9.9.9")
    assert built_plan.cloud
    assert {each.kind for each in built_plan.cloud.networks} == {"vxlan"}
    assert built_plan.cloud.tester_macs == ("02:6e:65:00:00:08", "02:6e:65:00:00:09")
    assert built_plan.lab.vlans == ()


def test_hosts_may_name_their_zone() -> None:
    created = cloud(openstack__hosts=["nova:compute1", "compute2"])
    assert (created.availability_zone, created.hosts) == ("nova", ("compute1", "compute2"))
    assert cloud(openstack__hosts="nova:").availability_zone == "nova"
    zone = {"openstack__availability_zone": "other"}
    assert cloud(openstack__hosts="nova:compute1", **zone).availability_zone == "nova"
    assert cloud(openstack__hosts="compute1", **zone).availability_zone == "other"


def test_networks_of_a_sut_that_others_staged_are_found_only() -> None:
    built_plan = plan(sut="ext", chains=2, openstack__external__left=["a", "b"], openstack__external__right="r")
    assert built_plan.cloud
    assert [(each.name, each.role, each.chain, each.must_exist) for each in built_plan.cloud.networks] == [
        ("a", "left", 0, True),
        ("b", "left", 1, True),
        ("r0", "right", 0, True),
        ("r1", "right", 1, True),
    ]
    assert built_plan.cloud.servers == ()
    assert built_plan.lab.sut == "ext"
    assert len(built_plan.lab.vlans) == 2


def test_a_vm_descriptor_says_what_the_flavor_is() -> None:
    result = CloudFlavor(name="", vcpus=6, ram_mib=8192, disk_gib=1, extra_specs={"hw:cpu_policy": "dedicated"})
    lookups = HERE._replace(read_flavor=lambda vmd, host: result if (vmd, host) == ("a.vmd", None) else pytest.fail())
    built_plan = build_plan(
        build_config((), PORTS | {"openstack.flavor.vmd": "a.vmd", "openstack.flavor.name": "f"}), lookups, (0, 1)
    )
    assert built_plan.cloud
    assert built_plan.cloud.flavor == result.model_copy(update={"name": "f"})


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"ports": []}, r"ports: missing, sut: openstack .* generator: trex"),
        ({"ports": ["eth8"]}, r"ports: wrong number of ports \(eth8\), 1 chain .* name 2 interfaces"),
        ({"openstack.sriov": True}, r"openstack.networks.left.physical_network: missing, SR-IOV virtual functions"),
        (
            {"openstack.sriov": True, "openstack.networks.left.physical_network": "p"},
            r"openstack.networks.left.segmentation_id: missing",
        ),
        ({"openstack.sriov_middle": True}, r"openstack.sriov_middle: requires two VMs with SR-IOV"),
        (
            {"routers": True},
            r"routers: vnf-l2 does not answer neighboring routers .* openstack.forwarder: vnf-l3 or vpp",
        ),
        ({"routers": True, "openstack.forwarder": "vpp", "hops": 2}, r"routers: require one VM per chain \(hops: 2\)"),
        ({"routers": True, "openstack.forwarder": "vpp", "networks": "shared"}, r"write networks: vlan"),
        (
            {"networks": "ports", "chains": 2},
            r"networks: the tester reaches a cloud by two ports, not enough for ports with 2 chains",
        ),
        (
            {"networks": "shared", "tunnel.kind": "vxlan", "chains": 2},
            r"networks: chains in a cloud are distinguished by their tunnels, .* \(tunnel.kind: vxlan\)",
        ),
        ({"networks": "vlan", "chains": 2, "openstack.tagged": False}, r"2 chains on separate networks require tags"),
        ({"tunnel.kind": "vxlan"}, r"tunnel.src_vteps: missing"),
        ({"openstack.networks.left.type": "vxlan"}, r"reaches it only with tunnel.kind: vxlan"),
        ({"openstack.networks.right.type": "flat"}, r"write openstack.tagged: false"),
        ({"openstack.floating_ip": True}, r"write openstack.management: true"),
        (
            {"openstack.forwarder": "testpmd", "openstack.flavor.vcpus": 1},
            r"openstack.flavor.vcpus: testpmd occupies a CPU .* \(1\)",
        ),
        ({"openstack.multiqueue": 4}, r"openstack.multiqueue: more queues than CPUs \(4, 2 CPUs\)"),
        ({"openstack.hosts": ["a:x", "b:y"]}, r"several availability zones \(a, b\)"),
        (
            {"openstack.networks.left.name": ["a"], "chains": 2},
            r"openstack.networks.left.name: too few values \(1, at least 2 needed\)",
        ),
        (
            {"openstack.forwarder": "vnf-l3", "traffic.ip": 6, "frame_bytes": 128},
            r"traffic.ip: vnf-l3 has only IPv4 routes in a cloud \(6\)",
        ),
        ({"macs": ["02:00:00:00:00:01", "02:00:00:00:00:02"]}, r"the cloud assigns the VMs' addresses"),
        ({"antagonist.kind": "cpu"}, r"external or remote"),
        ({"sut": "ext", "openstack.external.left": "l"}, r"openstack.external.right: missing"),
        ({"openstack.flavor.vmd": "a.vmd"}, r"descriptors cannot be read here"),
    ],
)
def test_what_does_not_go_together_names_key_found_and_remedy(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        build_plan(build_config((), PORTS | keys), HERE, (0, 1))


def chains(count: int, **kind: Any) -> list[ChainFacts]:
    return [
        ChainFacts(
            chain=chain,
            tester_interfaces=("eth8", "eth9"),
            macs=(f"fa:16:3e:00:00:{chain:02x}", f"fa:16:3e:00:01:{chain:02x}"),
            **{key: (first + chain, first + 50 + chain) for key, first in kind.items()},
        )
        for chain in range(count)
    ]


def test_a_plan_is_settled_with_what_stands() -> None:
    created = apply_stage_facts(plan(chains=2), chains(2, vlans=700))
    assert created.lab.vlans == ((700, 750), (701, 751))
    streams = {(stream.chain, stream.tx_port): stream for stream in created.traffic.streams}
    for (chain, port), stream in streams.items():
        ethernet, tag = stream.layers[0], stream.layers[1]
        assert isinstance(ethernet, Ethernet)
        assert isinstance(tag, Vlan)
        assert ethernet.src == MACS[port]
        assert ethernet.dst == f"fa:16:3e:00:{port:02x}:{chain:02x}"
        assert (tag.id, stream.rx_vlan) == ((700 + chain, 750 + chain) if port == 0 else (750 + chain, 700 + chain))
    assert [link.station.tags[0].id for link in created.neighbors.links] == [700, 750, 701, 751]


def test_a_plan_without_tags_stays_without() -> None:
    created = apply_stage_facts(plan(openstack__tagged=False), chains(1))
    assert all(len(stream.layers) == 3 and stream.rx_vlan is None for stream in created.traffic.streams)
    assert created.traffic.streams[1].ethernet.dst == "fa:16:3e:00:01:00"


def test_a_tunnel_is_settled_inside() -> None:
    planned = plan(
        chains=2,
        tunnel__kind="vxlan",
        tunnel__src_vteps="9.9.9.1,9.9.9.2",
        tunnel__dst_vtep="9.9.9.9",
        tunnel__vlan=42,
    )
    created = apply_stage_facts(planned, chains(2, vnis=5000))
    for before, stream in zip(planned.traffic.streams, created.traffic.streams, strict=True):
        vni = next(layer for layer in stream.layers if isinstance(layer, Vxlan)).vni
        inner = [layer for layer in stream.layers if isinstance(layer, Ethernet)][1]
        assert vni == 5000 + 50 * stream.tx_port + stream.chain
        assert inner.dst == f"fa:16:3e:00:{stream.tx_port:02x}:{stream.chain:02x}"
        assert stream.ethernet.dst == before.ethernet.dst  # resolved, of the tunnel's other end
        assert stream.layers[1] == before.layers[1] == Vlan(id=42)


def test_a_plan_without_a_cloud_is_left_as_it_is() -> None:
    built_plan = build_plan(build_config((), {}), cpus=(0, 1))
    assert apply_stage_facts(built_plan, chains(1, vlans=700)) is built_plan
