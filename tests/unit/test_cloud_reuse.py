"""Existing resources of a cloud: reused if they fit, reported if they do not."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nodrop.errors import StageError
from nodrop.model.cloud import CloudFlavor, CloudImage, CloudNetwork, CloudPort, CloudServer
from nodrop.stage.openstack import existing_resources
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import CHAIN, USER_DATA, build_flavor_tag, build_ownership_tag

CLOUD = cast("Cloud", SimpleNamespace(name="here", project_id="p1", project_name="demo"))
OURS = build_ownership_tag("nodrop")
WANTED = CloudNetwork(name="left", role="left", segmentation_id=100, physical_network="physnet1")


def network(**changed: Any) -> dict[str, Any]:
    provider = {
        "provider:network_type": "vlan",
        "provider:segmentation_id": 100,
        "provider:physical_network": "physnet1",
    }
    return {"id": "n1", "name": "left", "project_id": "p1", "admin_state_up": True, **provider, **changed}


def test_a_network_that_fits_is_taken() -> None:
    assert existing_resources.find_network(CLOUD, WANTED, [network(name="right"), network()]) == network()
    assert existing_resources.find_network(CLOUD, WANTED, [network(name="right")]) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"provider:segmentation_id": 101},
            "Mismatch of 'segmentation_id' for reused network left: .* is 101 instead of 100",
        ),
        ({"provider:physical_network": "p2"}, "Mismatch of 'physical_network' .* is p2 instead of physnet1"),
        ({"provider:network_type": "vxlan"}, "Mismatch of 'network_type' .* is vxlan instead of vlan"),
        ({"admin_state_up": False}, "Mismatch of 'admin_state_up' .* is False instead of True"),
    ],
)
def test_a_network_that_differs_is_told_with_both_values(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(StageError, match=message):
        existing_resources.find_network(CLOUD, WANTED, [network(**changed)])


def test_what_only_administrators_are_told_is_not_compared_by_others() -> None:
    bare = {"id": "n1", "name": "left", "project_id": "p1", "admin_state_up": True}
    assert existing_resources.find_network(CLOUD, WANTED, [bare]) == bare


def test_the_projects_own_network_goes_before_shared_ones_and_others_are_not_seen() -> None:
    others = network(id="n2", project_id="p2")
    shared = network(id="n3", project_id="p2", shared=True)
    assert existing_resources.find_network(CLOUD, WANTED, [others]) is None
    assert existing_resources.find_network(CLOUD, WANTED, [others, shared]) == shared
    assert existing_resources.find_network(CLOUD, WANTED, [shared, network()]) == network()


def test_a_network_that_must_exist_and_two_of_a_name_are_errors() -> None:
    must = WANTED.model_copy(update={"must_exist": True})
    with pytest.raises(StageError, match="Network left not found"):
        existing_resources.find_network(CLOUD, must, [])
    with pytest.raises(StageError, match=r"2 resources match network left \(n1, n2\)"):
        existing_resources.find_network(CLOUD, WANTED, [network(), network(id="n2")])


def test_a_subnet_is_found_in_its_network_and_none_is_added_to_somebody_elses() -> None:
    expected = WANTED.model_copy(update={"subnet": "s", "cidr": "192.168.1.7/24"})
    existing = {"id": "s1", "name": "s", "network_id": "n1", "cidr": "192.168.1.0/24", "gateway_ip": None}
    assert (
        existing_resources.find_subnet(CLOUD, expected, network(), [existing | {"network_id": "n9"}, existing])
        == existing
    )
    assert existing_resources.find_subnet(CLOUD, expected, network(description=OURS), []) is None
    with pytest.raises(
        StageError, match=r"network left has no subnet s \(subnets: other \(10.0.0.0/8\)\), and nodrop does not"
    ):
        existing_resources.find_subnet(CLOUD, expected, network(), [existing | {"name": "other", "cidr": "10.0.0.0/8"}])
    with pytest.raises(StageError, match="Mismatch of 'cidr' for reused subnet s"):
        existing_resources.find_subnet(CLOUD, expected, network(), [existing | {"cidr": "192.168.9.0/24"}])


def test_a_flavor_fits_with_more_extra_specs_unless_nodrop_made_it() -> None:
    expected = CloudFlavor(name="f", vcpus=2, ram_mib=1024, disk_gib=0, extra_specs={"hw:cpu_policy": "dedicated"})
    specs = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "large"}
    existing = {"id": "f1", "name": "f", "vcpus": 2, "ram": 1024, "disk": 0, "extra_specs": specs}
    assert existing_resources.find_flavor(CLOUD, expected, [existing]) == existing
    own = existing | {"description": build_flavor_tag("nodrop", "p1")}
    with pytest.raises(
        StageError, match=r"extra spec hw:mem_page_size.*is large instead of not set; delete it .`nodrop"
    ):
        existing_resources.find_flavor(CLOUD, expected, [own])
    with pytest.raises(
        StageError, match=r"'vcpus' .* is 4 instead of 2; ram is 2048 instead of 1024; plan for its actual value"
    ):
        existing_resources.find_flavor(CLOUD, expected, [existing | {"vcpus": 4, "ram": 2048}])


def test_an_image_is_the_file_by_the_hash_glance_has_of_it(tmp_path: Path) -> None:
    file = tmp_path / "image"
    file.write_bytes(b"image")
    expected = CloudImage(name="i", file=str(file), properties={"hw_vif_multiqueue_enabled": "true"})
    existing = {
        "id": "i1",
        "name": "i",
        "status": "active",
        "owner": "p1",
        "tags": [OURS],
        "os_hash_algo": "sha512",
        "os_hash_value": hashlib.sha512(b"image").hexdigest(),
    }
    assert (
        existing_resources.find_image(CLOUD, expected, [existing | {"id": "i0", "status": "saving"}, existing])
        == existing
    )
    with pytest.raises(StageError, match="Mismatch of 'sha512' for reused image i"):
        existing_resources.find_image(CLOUD, expected, [existing | {"os_hash_value": "0" * 128}])
    with pytest.raises(StageError, match=r"'hw_vif_multiqueue_enabled' .* is not set instead of true"):
        existing_resources.find_image(CLOUD, expected, [existing | {"tags": []}])


def test_a_port_has_to_be_nodrops_of_its_network_and_open() -> None:
    expected = CloudPort(name="p", network="left")
    existing = {
        "id": "1",
        "name": "p",
        "project_id": "p1",
        "network_id": "n1",
        "description": OURS,
        "binding:vnic_type": "normal",
    }
    assert existing_resources.find_port(CLOUD, expected, "n1", [existing]) == existing
    for changed, message in (
        ({"description": ""}, "exists .1. and was not created by nodrop"),
        ({"network_id": "n2"}, "Mismatch of 'network_id'"),
        ({"binding:vnic_type": "direct"}, "Mismatch of 'vnic_type'"),
        ({"port_security_enabled": True, "security_groups": ["default"]}, "Mismatch of 'security groups'"),
    ):
        with pytest.raises(StageError, match=message):
            existing_resources.find_port(CLOUD, expected, "n1", [existing | changed])


def test_a_server_says_in_what_it_differs_and_somebody_elses_is_left_alone() -> None:
    ports = (CloudPort(name="a", network="l"), CloudPort(name="b", network="r"))
    expected = CloudServer(name="vm0", chain=0, ports=ports)
    existing = {
        "id": "v1",
        "name": "vm0",
        "tenant_id": "p1",
        "status": "ACTIVE",
        "flavor": {"original_name": "f"},
        "image": {"id": "i1"},
        "metadata": {"nodrop": OURS, CHAIN: "0", USER_DATA: "d" * 64},
    }
    requested: dict[str, Any] = {
        "flavor": "f",
        "image_id": "i1",
        "ports": [{"device_id": "v1"}, {"device_id": "v1"}],
        "user_data_digest": "d" * 64,
    }
    assert existing_resources.find_server(CLOUD, expected, [], **requested) is None
    assert existing_resources.find_server(CLOUD, expected, [existing], **requested) == existing_resources.ServerMatch(
        existing, ()
    )
    server = existing_resources.find_server(CLOUD, expected, [existing | {"status": "ERROR"}], **requested)
    assert server
    assert server.differences == ("status is ERROR instead of ACTIVE",)
    with pytest.raises(
        StageError, match=r"Instance vm0 cannot be reused \(chain is not set instead of 0; user data is not set"
    ):
        existing_resources.find_server(CLOUD, expected, [existing | {"metadata": {}}], **requested)
