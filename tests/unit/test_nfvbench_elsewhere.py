"""NFVbench's keys for OpenStack and TRex: their translation, and refusals."""

import json
from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.plan import build_plan

LOCAL = {
    "name": "t",
    "tool": "TRex",
    "ip": "127.0.0.1",
    "cores": 4,
    "interfaces": [{"port": 1, "pci": "0a:00.1", "switch_port": None}, {"port": 0, "pci": "0a:00.0"}],
    "intf_speed": "25Gbps",
    "zmq_rpc_port": 4601,
    "platform": {"master_thread_id": 0},
}
EXT = {"service_chain": "EXT"}


def load_dicts(*text: dict[str, Any]) -> Config:
    return build_config([json.dumps(each) for each in text], {})


def trex(**profile: Any) -> dict[str, Any]:
    return {"traffic_generator": {"default_profile": "t", "generator_profile": [LOCAL | profile]}}


def test_pvp_with_an_openrc_file_is_staged_in_the_cloud() -> None:
    config = load_dicts({"openrc_file": "/root/openrc", "vm_forwarder": "vpp", "service_chain": "PVVP"})
    assert (config.sut, config.hops) == ("openstack", 2)
    assert (config.openstack.openrc, config.openstack.forwarder) == ("/root/openrc", "vpp")


def test_a_name_in_clouds_yaml_does_as_well() -> None:
    config = load_dicts({"clouds_detail": "lab"})
    assert (config.sut, config.openstack.cloud, config.openstack.forwarder) == ("openstack", "lab", "testpmd")


def test_without_a_cloud_chains_are_made_on_this_machine() -> None:
    assert load_dicts({"vm_forwarder": "vpp"}).sut == "vnf-l3"
    assert load_dicts({"openrc_file": "x", "l2_loopback": True}).sut == "wire"


def test_a_cloud_may_be_named_after_what_is_staged_there() -> None:
    """As with `-r openrc` and a file."""
    config = load_dicts({"service_chain_shared_net": True, "sriov": True}, {"openrc_file": "x"})
    assert (config.sut, config.networks, config.openstack.sriov) == ("openstack", "shared", True)


def test_networks_have_names_numbers_and_carriers_of_their_own() -> None:
    config = load_dicts(
        {
            "openrc_file": "x",
            "service_chain_count": 2,
            "internal_networks": {
                "left": {"name": "l", "segmentation_id": 2000, "physical_network": "phys0"},
                "right": {"segmentation_id": [3000, 3007], "physical_network": ["phys1", "phys2"], "subnet": "s"},
            },
            "edge_networks": {"left": {"gateway": "192.168.3.9", "router_name": "r-left"}},
            "management_network": {"name": "m"},
        }
    )
    networks = config.openstack.networks
    assert (networks.left.name, networks.left.segmentation_id, networks.left.physical_network) == ("l", 2000, "phys0")
    assert (networks.right.segmentation_id, networks.right.subnet) == ((3000, 3007), "s")
    assert networks.right.physical_network == ("phys1", "phys2")
    assert (str(networks.edge_left.gateway), config.openstack.router_names.left) == ("192.168.3.9", "r-left")
    assert networks.management.name == "m"
    assert config.vlans is None  # from the networks


@pytest.mark.parametrize(
    ("key", "value", "read", "expected"),
    [
        ("vm_image_file", "/i/nfvbenchvm-0.16.qcow2", "image.name", "nfvbenchvm-0.16"),
        ("flavor_type", "big", "flavor.name", "big"),
        ("flavor", {"vcpus": 4, "extra_specs": {"hw:cpu_policy": "dedicated"}}, "flavor.vcpus", 4),
        ("compute_nodes", "nova:c1", "hosts", ("nova:c1",)),
        ("compute_nodes", ["c1", "c2"], "hosts", ("c1", "c2")),
        ("hypervisor_hostname", "c3", "hosts", ("c3",)),
        ("availability_zone", "az", "availability_zone", "az"),
        ("availability_zone", "az:compute1", "availability_zone", "az"),
        ("loop_vm_name", "vm", "server", "vm"),
        ("vif_multiqueue_size", 2, "multiqueue", 2),
        ("num_mbufs", 4096, "mbufs", 4096),
        ("use_management_port", True, "management", True),
        ("use_floating_ip", True, "floating_ip", False),
        ("no_cleanup", True, "keep", True),
        ("vlan_tagging", False, "tagged", False),
    ],
)
def test_a_key_of_openstack_has_one_here(key: str, value: Any, read: str, expected: Any) -> None:
    result: Any = load_dicts({"openrc_file": "x", key: value}).openstack
    for part in read.split("."):
        result = getattr(result, part)
    assert result == expected


def test_networks_of_an_ext_chain_are_looked_up_where_there_is_a_cloud() -> None:
    networks = {"external_networks": {"left": "l", "right": ["a", "b"]}}
    assert load_dicts(EXT | {"openrc_file": "x"} | networks).openstack.external.right == ("a", "b")
    assert load_dicts(EXT | networks).openstack.external.left is None


def test_the_time_of_the_path_check_is_that_of_the_vms_too() -> None:
    config = load_dicts({"check_traffic_time_sec": 77})
    assert (config.path_check_timeout, config.openstack.active_timeout) == (77.0, 77.0)


def test_a_profile_with_ports_is_trex() -> None:
    config = load_dicts(EXT | trex())
    assert config.generator == "trex"
    assert config.trex.ports == (0, 1)
    assert config.trex.start.interfaces == ("0a:00.0", "0a:00.1")
    assert (config.trex.rpc_port, config.trex.start.cores, config.link_speed) == (4601, 4, "25.0Gbps")
    assert config.trex.start.platform == {"master_thread_id": 0}


def test_a_trex_elsewhere_is_never_started() -> None:
    config = load_dicts(EXT | trex(ip="10.1.1.1"))
    assert (config.trex.host, config.trex.start.interfaces) == ("10.1.1.1", ())


def test_cores_and_speed_of_the_command_line_go_before_those_of_the_profile() -> None:
    config = load_dicts(EXT | trex(), {"cores": 2, "intf_speed": "10Gbps"})
    assert (config.trex.start.cores, config.engine.cores, config.link_speed) == (2, "auto", "10.0Gbps")


def test_chains_of_this_machine_are_measured_by_its_own_engine() -> None:
    config = load_dicts(trex())
    assert (config.sut, config.generator) == ("vnf-l2", "engine")
    assert any(
        "the generator is nodrop's engine, not TRex" in warning for warning in build_plan(config, cpus=(0, 1)).warnings
    )


def test_a_profile_without_ports_is_nodrop_s_own_engine() -> None:
    assert load_dicts(EXT | trex(interfaces=[{"port": 0, "pci": None}, {"port": 1, "pci": None}])).generator == "engine"


@pytest.mark.parametrize(
    ("key", "value", "read", "expected"),
    [
        ("restart", True, "start.restart", True),
        ("cache_size", -1, "cache_size", 10000),
        ("cache_size", 500, "cache_size", 500),
        ("i40e_mixed", "unbind", "start.i40e_mixed", "unbind"),
        ("i40e_mixed", "check", "start.i40e_mixed", "exit"),
        ("mbuf_64", 1000, "start.mbuf_64", 1000),
        ("mbuf_factor", 1.5, "start.mbuf_factor", 1.5),
        ("disable_hdrh", True, "histograms", False),
        ("no_flow_stats", True, "flow_stats", False),
        ("service_mode", True, "service_mode", True),
    ],
)
def test_a_key_of_trex_has_one_here(key: str, value: Any, read: str, expected: Any) -> None:
    config = load_dicts(EXT | trex() | {key: value})
    result: Any = config.trex
    for part in read.split("."):
        result = getattr(result, part)
    assert result == expected
    assert config.capture.file is None


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ({"traffic_generator": {"default_profile": "nope"}}, r"no generator profile is named 'nope'"),
        (
            trex(interfaces=[{"port": 0, "pci": "a"}, {"port": 2, "pci": "b"}]),
            r"wrong port numbers \(0, 2\); number them 0 and 1",
        ),
        (trex(interfaces=[{"port": 0, "pci": "a"}, {"port": 1, "pci": ""}]), r"pci is missing for one of them"),
        (trex(interfaces="eth0"), r"not a list"),
        (
            {"traffic_generator": {"default_profile": "t", "generator_profile": [LOCAL, LOCAL]}},
            r"2 generator profiles are named 't'; give each its own name",
        ),
    ],
)
def test_a_profile_that_cannot_be_used_says_why_once(written: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        load_dicts(EXT | written)
    assert len(str(refused.value).splitlines()) == 1
