"""Leftovers in a cloud: found and removed, also while its services fail."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openstack")

from tests.small_cloud import SmallCloud, clouds_yaml, log_in, serve_cloud

from nodrop.cli import main
from nodrop.model.cloud import CloudResource
from nodrop.run import machine_lock
from nodrop.stage import persistent_lab
from nodrop.stage.openstack import cleanup, requests, rollback
from nodrop.stage.openstack.cleanup import NfvbenchNames, find_nfvbench_leftovers
from nodrop.stage.openstack.ownership_tags import build_flavor_tag, build_ownership_tag, build_server_group_name
from nodrop.system import runtime_dirs

NETWORK, COMPUTE, IMAGE = "/network/v2.0", "/compute/v2.1", "/image/v2"
OURS = build_ownership_tag("nodrop")


@pytest.fixture
def small_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallCloud]:
    """Serve a cloud, and hide the labs and runs of this machine."""
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(requests, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(requests, "RETRY_S", 0.1)
    for name in ("BETWEEN_PASSES_S", "POLL_S"):
        monkeypatch.setattr(rollback, name, 0.01)
    monkeypatch.setattr(machine_lock, "LOCK_ADDRESS", f"\0nodrop.test.{os.getpid()}.cleanup")
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path / "records")
    monkeypatch.setattr(persistent_lab, "_find_holders", lambda: iter(()))
    with serve_cloud(SmallCloud()) as cloud:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds_yaml(cloud, tmp_path)))
        yield cloud


@pytest.fixture
def staged_cloud(small_cloud: SmallCloud) -> SmallCloud:
    """Put a chain of nodrop into the cloud, with resources of other users."""
    small_cloud.add(f"{IMAGE}/images", name="nodrop-vm", tags=[OURS], status="active")
    small_cloud.add(f"{IMAGE}/images", name="debian", tags=[], status="active")
    small_cloud.add(f"{COMPUTE}/flavors", name="nodrop.medium", description=build_flavor_tag("nodrop", "p1"))
    small_cloud.add(f"{COMPUTE}/flavors", name="nodrop.other", description=build_flavor_tag("nodrop", "p2"))
    small_cloud.add(f"{COMPUTE}/flavors", name="m1.small", description=None)
    small_cloud.add(f"{COMPUTE}/os-server-groups", name=build_server_group_name("nodrop"))
    network = small_cloud.add(
        f"{NETWORK}/networks", name="nodrop-left-0", description=OURS, created_at="2026-11-22T03:04:05Z"
    )
    small_cloud.add(f"{NETWORK}/networks", name="nodrop-left-1", description="mine, in spite of its name")
    small_cloud.add(f"{NETWORK}/subnets", name="s", description=OURS, network_id=network["id"])
    vm = small_cloud.add(f"{COMPUTE}/servers", name="nodrop-vm-0", metadata={"nodrop": OURS, "nodrop-chain": "0"})
    small_cloud.add(f"{COMPUTE}/servers", name="www", metadata={})
    small_cloud.add(f"{NETWORK}/ports", name="p0", description=OURS, network_id=network["id"], device_id=vm["id"])
    router = small_cloud.add(f"{NETWORK}/routers", name="r", description=OURS, routes=[{"destination": "16.0.0.0/8"}])
    interface = {"network_id": network["id"], "device_owner": "network:router_interface", "fixed_ips": []}
    small_cloud.add(f"{NETWORK}/ports", name="", description="", device_id=router["id"], **interface)
    small_cloud.add(f"{NETWORK}/floatingips", description=OURS, floating_ip_address="10.0.0.9", port_id=None)
    return small_cloud


def names(small_cloud: SmallCloud) -> set[str]:
    return {each["name"] for some in small_cloud.resources.values() for each in some if each.get("name")}


def test_only_what_carries_the_mark_is_found_in_the_order_of_taking_away(staged_cloud: SmallCloud) -> None:
    leftovers = cleanup.find_leftovers(log_in())
    assert [(each.resource.kind, each.resource.name, each.chain) for each in leftovers] == [
        ("floating_ip", "10.0.0.9", ""),
        ("server", "nodrop-vm-0", "0"),
        ("router", "r", ""),
        ("port", "p0", "0"),
        ("subnet", "s", "0"),
        ("network", "nodrop-left-0", "0"),
        ("server_group", "nodrop:nodrop", ""),
        ("flavor", "nodrop.medium", ""),
        ("image", "nodrop-vm", ""),
    ]
    assert leftovers[5].created_at == "2026-11-22 03:04"
    assert cleanup.find_leftovers(log_in(), "elsewhere") == ()
    assert len(staged_cloud.resources[f"{NETWORK}/ports"]) == 2


def test_all_of_it_is_taken_away_and_nothing_else(staged_cloud: SmallCloud) -> None:
    cloud, report = log_in(), list[str]()
    result = [each.resource for each in cleanup.find_leftovers(cloud)]
    assert rollback.delete_resources(cloud, result, lambda text, _done, _count: report.append(text)) == ()
    assert names(staged_cloud) == {"debian", "nodrop.other", "m1.small", "nodrop-left-1", "www"}
    assert report[1] == "server nodrop-vm-0 deleted"
    assert len(report) == len(result)
    assert ("PUT", f"{NETWORK}/routers/{result[2].id}/remove_router_interface") in staged_cloud.requests
    assert rollback.delete_resources(cloud, result) == ()  # A resource that is already gone is no failure.


def test_what_was_found_there_stays(staged_cloud: SmallCloud) -> None:
    network = staged_cloud.resources[f"{NETWORK}/networks"][1]
    resource = CloudResource(kind="network", name=network["name"], id=network["id"], found=True)
    assert rollback.delete_resources(log_in(), [resource]) == ()
    assert network in staged_cloud.resources[f"{NETWORK}/networks"]


def test_what_is_still_in_use_is_tried_again_and_what_stays_is_told_with_the_reason(staged_cloud: SmallCloud) -> None:
    cloud = log_in()
    staged_cloud.failures = [("DELETE", f"{NETWORK}/networks", 409), *[("DELETE", f"{NETWORK}/subnets", 409)] * 9]
    stored = rollback.delete_resources(cloud, [each.resource for each in cleanup.find_leftovers(cloud)])
    assert [each.resource.kind for each in stored] == ["subnet"]
    assert "cannot delete subnet s: HTTP 409" in stored[0].reason
    assert "nodrop-left-0" not in names(staged_cloud)


def test_a_cloud_that_gives_no_answer_is_not_asked_for_everything(staged_cloud: SmallCloud) -> None:
    cloud = log_in()
    result = [each.resource for each in cleanup.find_leftovers(cloud)]
    staged_cloud.failures = [(method, "/", "cut") for method in ("DELETE", "GET", "PUT") for _ in range(1000)]
    stored = rollback.delete_resources(cloud, result)
    assert len(stored) == len(result)
    assert all("no reply" in each.reason for each in stored)


def test_a_flavor_that_others_use_stays(staged_cloud: SmallCloud) -> None:
    cloud = log_in()
    flavors = [each.resource for each in cleanup.find_leftovers(cloud) if each.resource.kind == "flavor"]
    staged_cloud.add(f"{COMPUTE}/servers", name="theirs", flavor={"id": flavors[0].id}, metadata={})
    (stored,) = rollback.delete_resources(cloud, flavors)
    assert stored.reason == "server theirs still uses it; delete the server first"
    assert "nodrop.medium" in names(staged_cloud)


def test_nfvbenchs_are_known_by_names_it_gives_and_not_by_how_names_begin(small_cloud: SmallCloud) -> None:
    vm = small_cloud.add(f"{COMPUTE}/servers", name="nfvbench-loop-vm0", metadata={})
    small_cloud.add(f"{COMPUTE}/servers", name="nfvbench-loop-vm1-0", metadata={})
    small_cloud.add(f"{COMPUTE}/servers", name="nfvbench-loop-vm-of-mine", metadata={})
    network = small_cloud.add(f"{NETWORK}/networks", name="nfvbench-lnet0", description="")
    small_cloud.add(f"{NETWORK}/networks", name="nfvbench-lnet-backup", description="")
    small_cloud.add(f"{NETWORK}/networks", name="nfvbench-rnet0", description=OURS)
    small_cloud.add(f"{NETWORK}/ports", name="nfvbench-loop-vm0-0", network_id=network["id"], device_id=vm["id"])
    small_cloud.add(f"{NETWORK}/ports", name="mine", network_id=network["id"], device_id="")
    small_cloud.add(f"{COMPUTE}/flavors", name="nfvbench.medium", description=None)
    nfvbench_leftovers = find_nfvbench_leftovers(cleanup.list_project(log_in()), NfvbenchNames())
    assert [(each.resource.name, each.chain) for each in nfvbench_leftovers] == [
        ("nfvbench-loop-vm0", "0"),
        ("nfvbench-loop-vm1-0", "1"),
        ("nfvbench-loop-vm0-0", "0"),
        ("nfvbench-lnet0", "0"),
        ("nfvbench.medium", ""),
    ]


def test_status_shows_what_is_in_the_cloud(staged_cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    staged_cloud.add(f"{COMPUTE}/servers", name="nfvbench-loop-vm0", metadata={})
    assert main(["status", "--cloud", "small"]) == 0
    output = capsys.readouterr().out
    assert "cloud small, project demo: 9 resources created by nodrop" in output
    assert "cloud small, project demo: 1 resource with NFVbench's names" in output


def test_nothing_is_asked_of_a_cloud_that_nobody_names(
    small_cloud: SmallCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["status"]) == 0
    assert "cloud" not in capsys.readouterr().out
    assert not small_cloud.requests
    monkeypatch.setenv("OS_CLOUD", "small")
    assert main(["status"]) == 0
    assert "cloud small, project demo: no nodrop resources" in capsys.readouterr().out


def test_a_cloud_of_the_environment_that_cannot_be_asked_is_left_out(
    small_cloud: SmallCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_cloud.password = "changed"
    monkeypatch.setenv("OS_CLOUD", "small")
    assert main(["status"]) == 0
    assert "skipping the cloud of the environment (OS_...): cloud small: cannot log in" in capsys.readouterr().err
    assert main(["status", "--cloud", "small"]) == 3


def test_a_clean_up_takes_nfvbenchs_only_when_asked(
    staged_cloud: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    staged_cloud.add(f"{COMPUTE}/servers", name="nfvbench-loop-vm0", metadata={})
    assert main(["cleanup", "--cloud", "small"]) == 2
    assert "use --force" in capsys.readouterr().err
    assert main(["cleanup", "--cloud", "small", "--force"]) == 0
    assert "[9/9] image nodrop-vm deleted" in capsys.readouterr().out
    assert "nfvbench-loop-vm0" in names(staged_cloud)
    assert main(["cleanup", "--cloud", "small", "--force", "--nfvbench"]) == 0
    assert names(staged_cloud) == {"debian", "nodrop.other", "m1.small", "nodrop-left-1", "www"}
    assert main(["cleanup", "--cloud", "small", "--force"]) == 0


@pytest.mark.usefixtures("staged_cloud")
def test_a_clean_up_of_a_named_cloud_leaves_labs_of_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistent_lab, "_find_holders", lambda: iter((os.getpid(),)))
    assert main(["cleanup", "--cloud", "small", "--force"]) == 0
    output = capsys.readouterr().out
    assert "image nodrop-vm deleted" in output and "lab" not in output


def test_a_clean_up_that_leaves_something_says_so(staged_cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    staged_cloud.failures = [("DELETE", f"{IMAGE}/images", 403)]
    assert main(["cleanup", "--cloud", "small", "--force"]) == 3
    assert "1 resource could not be deleted:\n  image nodrop-vm" in capsys.readouterr().err


def test_a_configuration_names_the_cloud(staged_cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "-c", "{openstack: {cloud: small, label: nodrop}}"]) == 0
    assert "9 resources created by nodrop" in capsys.readouterr().out
    assert main(["status", "-c", "{sut: vnf-l2}"]) == 0
    assert "cloud" not in capsys.readouterr().out
    assert names(staged_cloud)


def test_nfvbenchs_flags_mean_the_cloud_of_its_configuration(
    staged_cloud: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    staged_cloud.add(f"{COMPUTE}/servers", name="loop0", metadata={})
    configuration = "{clouds_detail: small, loop_vm_name: loop}"
    assert main(["run", "--status", "-c", configuration]) == 0
    assert "1 resource with NFVbench's names" in capsys.readouterr().out
    assert main(["run", "--force-cleanup", "-c", configuration]) == 0
    assert names(staged_cloud) == {"debian", "nodrop.other", "m1.small", "nodrop-left-1", "www"}


def test_an_openrc_file_by_nfvbenchs_flag_names_the_cloud(
    staged_cloud: SmallCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rc"
    login = f"OS_AUTH_URL={staged_cloud.base}/identity/v3 OS_USERNAME=demo OS_PASSWORD=secret OS_PROJECT_NAME=demo"
    file.write_text(f"export {login} OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_REGION_NAME=R\n")
    assert main(["run", "--status", "-r", str(file)]) == 0
    assert "cloud 127.0.0.1, project demo: 9 resources created by nodrop" in capsys.readouterr().out
