"""Chains staged while services fail, lose answers and refuse: the result is correct, or nothing remains."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openstack")

from tests.small_cloud import SmallCloud, clouds_yaml, log_in, serve_cloud

from nodrop.errors import StageError
from nodrop.model.cloud import CloudFlavor, CloudImage, CloudLogin, CloudNetwork, CloudPlan, CloudPort, CloudServer
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.openstack import requests, rollback
from nodrop.stage.openstack.ownership_tags import build_ownership_tag
from nodrop.stage.openstack.stage import OpenStackStage

NETWORK, COMPUTE, IMAGE = "/network/v2.0", "/compute/v2.1", "/image/v2"
NETWORKS, SUBNETS, PORTS = (f"{NETWORK}/{kind}" for kind in ("networks", "subnets", "ports"))
SERVERS, FLAVORS = f"{COMPUTE}/servers", f"{COMPUTE}/flavors"
LIMITS = {"maxTotalInstances": 10, "totalInstancesUsed": 0}


class Services(SmallCloud):
    """A cloud that numbers networks, gives ports their MACs, and starts servers, all without a host."""

    def __init__(self) -> None:
        super().__init__()
        self.finish = self._finish
        self.status = "ACTIVE"
        """Servers to start, by name and status."""
        self.replies[f"{COMPUTE}/limits"] = {"limits": {"absolute": LIMITS}}
        self.replies[f"{NETWORK}/quotas/p1/details.json"] = {"quota": {}}
        self.add(f"{IMAGE}/images", name="image", status="active", tags=[])

    def _finish(self, path: str, created: dict[str, Any]) -> None:
        if path.endswith("/os-extra_specs"):
            self.resources.pop(path)
            self.resources[FLAVORS][-1]["extra_specs"] = {"hw:cpu_policy": created["hw:cpu_policy"]}
        if path == NETWORKS:
            created |= {"provider:network_type": "vlan", "provider:segmentation_id": 100 + int(created["id"])}
        if path == PORTS:
            created |= {
                "mac_address": f"fa:16:3e:00:00:{int(created['id']):02x}",
                "fixed_ips": [],
                "binding:vif_type": "ovs",
            }
        if path == SERVERS:
            host = {"OS-EXT-SRV-ATTR:host": "compute1", "hostId": "h1"}
            fault = {"fault": {"message": "No valid host was found."}} if self.status == "ERROR" else {}
            created |= {
                "status": self.status,
                "flavor": {"original_name": "flavor"},
                "image": {"id": "1"},
                **host,
                **fault,
            }
            for port in self.resources[PORTS]:
                if {"port": port["id"]} in created["networks"]:
                    port["device_id"] = created["id"]

    def posts(self) -> list[str]:
        """Return the last path parts of all creation requests."""
        return [path.rpartition("/")[2] for method, path in self.requests if method == "POST"]

    def left(self) -> dict[str, int]:
        """Return the number of resources of each kind, images excluded."""
        return {
            path: len(resources)
            for path, resources in self.resources.items()
            if resources and path != f"{IMAGE}/images"
        }


@pytest.fixture
def small_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(requests, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(requests, "RETRY_S", 60.0)
    for name in ("BETWEEN_PASSES_S", "POLL_S"):
        monkeypatch.setattr(rollback, name, 0.01)
    services = Services()
    with serve_cloud(services):
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds_yaml(services, tmp_path)))
        yield services


def plan(count: int = 1, **more: Any) -> CloudPlan:
    places = [(role, chain) for chain in range(count) for role in ("left", "right")]
    return CloudPlan(
        login=CloudLogin(cloud="small"),
        image=CloudImage(name="image"),
        flavor=CloudFlavor(name="flavor", vcpus=1, ram_mib=64, disk_gib=0, extra_specs={"hw:cpu_policy": "shared"}),
        networks=tuple(
            CloudNetwork.model_validate(
                {
                    "name": f"{role}{chain}",
                    "role": role,
                    "chain": chain,
                    "subnet": f"{role}{chain}",
                    "cidr": "10.0.0.0/8",
                }
            )
            for role, chain in places
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
        tester_macs=("02:00:00:00:00:01", "02:00:00:00:00:02"),
        poll_s=0.01,
        **more,
    )


def stage(cloud_plan: CloudPlan) -> OpenStackStage:
    count = len(cloud_plan.servers)
    lab = LabPlan(
        sut="openstack",
        networks="vlan",
        chain_count=count,
        vlans=((0, 0),) * count,
        sut_interfaces=(),
        forwarders=(),
        sut_queue_slots=64,
    )
    return OpenStackStage(lab, cloud_plan, tester_is_here=False)


def test_a_chain_more_is_one_request_more(small_cloud: Services) -> None:
    with stage(plan()) as one:
        assert one.facts.chains[0].macs
    assert small_cloud.posts() == ["flavors", "os-extra_specs", "networks", "subnets", "ports", "servers"]
    small_cloud.requests.clear()
    with stage(plan(3)) as three:
        assert len({mac for chain in three.facts.chains for mac in chain.macs or ()}) == 6
    assert small_cloud.posts() == ["flavors", "os-extra_specs", "networks", "subnets", "ports", *["servers"] * 3]


@pytest.mark.parametrize("failure", ["lost", "cut", 503])
def test_what_a_service_makes_while_answers_are_lost_is_there_once(small_cloud: Services, failure: int | str) -> None:
    small_cloud.failures = [("POST", path, failure) for path in (FLAVORS, NETWORKS, SUBNETS, PORTS, SERVERS)]
    with stage(plan()):
        assert small_cloud.left() == {FLAVORS: 1, NETWORKS: 2, SUBNETS: 2, PORTS: 2, SERVERS: 1}
    assert not small_cloud.failures
    assert small_cloud.left() == {}


@pytest.mark.parametrize("path", [FLAVORS, PORTS, SERVERS])
def test_whatever_is_refused_nothing_is_left(small_cloud: Services, path: str) -> None:
    small_cloud.failures = [("POST", path, 409)]
    with pytest.raises(StageError, match=r"HTTP 409: failure 409; .*(resources were deleted \(|Nothing was created)"):
        stage(plan(2)).__enter__()
    assert small_cloud.left() == {}


def test_a_server_in_error_is_told_and_nothing_is_left(small_cloud: Services) -> None:
    small_cloud.status = "ERROR"
    with pytest.raises(StageError, match=r"server vm0 is ERROR: No valid host .* 2 servers\)"):
        stage(plan(2)).__enter__()
    assert small_cloud.left() == {}


def test_what_cannot_be_taken_away_is_named_with_the_command_that_does(small_cloud: Services) -> None:
    small_cloud.status = "ERROR"
    small_cloud.failures = [("DELETE", NETWORKS, 500)]
    with pytest.raises(StageError, match=r"were deleted except network (left|right)0 \(.*500.*\): run nodrop cleanup"):
        stage(plan()).__enter__()
    assert small_cloud.left() == {NETWORKS: 1}


def test_an_interrupt_leaves_nothing(small_cloud: Services) -> None:
    def interrupt(text: str, _done: int, _count: int) -> None:
        if text.startswith("ports created"):
            raise KeyboardInterrupt

    interrupted = stage(plan())
    interrupted._on_progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        interrupted.__enter__()
    assert small_cloud.left() == {}


def test_what_is_kept_is_taken_as_it_is_and_left_again(small_cloud: Services) -> None:
    with stage(plan(2, keep=True)) as first:
        created = first.facts.cloud
    small_cloud.requests.clear()
    with stage(plan(2)) as second:
        result = second.facts.cloud
    assert small_cloud.posts() == []
    assert created and result
    assert [each.id for each in result.resources] == [each.id for each in created.resources]
    assert not any(each.found for each in created.resources if each.kind != "image")
    assert all(each.found for each in result.resources)
    assert len(small_cloud.resources[SERVERS]) == 2
    assert ("DELETE", SERVERS) not in small_cloud.requests


def test_only_a_vm_that_was_told_something_else_is_made_anew(small_cloud: Services) -> None:
    with stage(plan(2, keep=True)):
        before = {server["name"]: server["id"] for server in small_cloud.resources[SERVERS]}
    small_cloud.resources[SERVERS][1]["metadata"]["nodrop-user-data"] = "of another release"
    small_cloud.requests.clear()
    with stage(plan(2, keep=True)) as again:
        after = {server["name"]: server["id"] for server in small_cloud.resources[SERVERS]}
        assert (
            [server.id for server in again.facts.cloud.servers] == list(after.values()) if again.facts.cloud else False
        )
    assert small_cloud.posts() == ["servers"]
    assert after["vm0"] == before["vm0"]
    assert after["vm1"] != before["vm1"]


def test_a_chain_is_made_anew_once_on_its_own_ports(small_cloud: Services) -> None:
    with stage(plan(2)) as running:
        before = running.facts
        ids = {server["name"]: server["id"] for server in small_cloud.resources[SERVERS]}
        assert running.restage([1])
        assert running.facts.chains == before.chains
        assert running.facts.cloud
        assert [server.restaged for server in running.facts.cloud.servers] == [False, True]
        assert running.facts.cloud.servers[0].id == ids["vm0"]
        assert running.facts.cloud.servers[1].id != ids["vm1"]
        assert not running.restage([1])
    assert small_cloud.left() == {}


def test_where_port_security_stays_on_every_address_is_let_through(small_cloud: Services) -> None:
    message: list[str] = []
    allowed: list[object] = []
    finish = small_cloud.finish

    def finished(path: str, created: dict[str, Any]) -> None:
        if path == PORTS:
            allowed.append(created.get("allowed_address_pairs"))
        finish(path, created)

    small_cloud.finish = finished
    small_cloud.failures = [("POST", PORTS, "Unrecognized attribute(s) 'port_security_enabled'")]
    running = stage(plan())
    running._on_progress = lambda text, _done, _count: message.append(text)
    with running:
        assert allowed == [[{"ip_address": "0.0.0.0/0"}, {"ip_address": "::/0"}]] * 2
    assert any("port security cannot be disabled" in text for text in message)


def test_what_a_request_without_an_answer_made_is_found_by_name_and_mark(small_cloud: Services) -> None:
    own = small_cloud.add(NETWORKS, name="left0", description=build_ownership_tag("nodrop"))
    small_cloud.add(NETWORKS, name="left0", description="of another user")
    small_cloud.add(NETWORKS, name="left9", description=build_ownership_tag("nodrop"))
    assert [each.id for each in rollback.find_untracked(log_in(), plan(), ())] == [own["id"]]
