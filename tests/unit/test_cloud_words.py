"""Errors of a cloud that cannot serve a request: missing resources, missing rights, the reasons of failed servers."""

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nodrop.errors import StageError
from nodrop.model.cloud import CloudFlavor, CloudLogin, CloudNetwork, CloudPlan, CloudPort, CloudResource, CloudServer
from nodrop.stage.openstack import requirements, rollback, servers
from nodrop.stage.openstack.inventory import Inventory
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.requests import CloudError

PORTS = (
    CloudPort(name="p0", network="left", vnic_type="direct"),
    CloudPort(name="p1", network="right", vnic_type="direct"),
)
SERVER = CloudServer(name="vm", chain=0, ports=PORTS)
SPECS = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "1GB", "hw:numa_nodes": "2"}
PLAN = CloudPlan(
    login=CloudLogin(),
    flavor=CloudFlavor(name="f", vcpus=4, ram_mib=4096, disk_gib=0, extra_specs=SPECS),
    networks=(
        CloudNetwork(name="left", role="left", segmentation_id=100, physical_network="sriov1"),
        CloudNetwork(name="right", role="right"),
    ),
    servers=(SERVER,),
    hosts=("compute7",),
)
NOTHING = Inventory(image=None, flavor=None, networks={}, subnets={}, ports={}, servers=[], groups={})


def fault_message(message: str) -> str:
    return servers.format_fault(SERVER, PLAN, {"status": "ERROR", "fault": {"message": message, "code": 500}})


def test_that_there_is_no_host_is_said_with_all_that_one_has_to_have() -> None:
    message = fault_message("No valid host was found. ")
    assert message.startswith("server vm is ERROR: No valid host was found; no compute host has all that it")
    for needed in (
        "4 vCPUs and 4096 MiB",
        "hw:mem_page_size=1GB",
        "cpu_dedicated_set",
        "2 NUMA nodes",
        "(sriov1, right;",
        "compute7",
    ):
        assert needed in message


def test_other_faults_are_said_with_where_to_look() -> None:
    assert "check that an agent or driver" in fault_message("Binding failed for port 1b2c, please check neutron logs")
    assert "a quota is exhausted" in fault_message("Quota exceeded, too many servers in group")
    assert "nova-compute's log" in fault_message("Something else")
    assert "Nova gives no reason" in servers.format_fault(SERVER, PLAN, {"status": "DELETED"})


class FakeCloud:
    """A cloud that answers with limits and quotas in Nova's and Neutron's form."""

    def __init__(self, compute: dict[str, int], network: dict[str, Any] | int) -> None:
        self.name, self.project_name, self.project_id = "here", "demo", "p1"
        self.requests: list[str] = []
        self.sdk = SimpleNamespace(
            compute=SimpleNamespace(get=lambda path, **_: self._answer(path, {"limits": {"absolute": compute}})),
            network=SimpleNamespace(get=lambda path, **_: self._answer(path, network)),
        )

    def reporting_errors(self, _request: str) -> AbstractContextManager[None]:
        return nullcontext()

    def _answer(self, path: str, body: dict[str, Any] | int) -> Any:
        self.requests.append(path)
        if isinstance(body, int):
            raise CloudError(f"it answers {body}", body)
        result = body if "limits" in body else {"quota": body}
        return SimpleNamespace(status_code=200, content=b"{}", json=lambda: result)


LIMITS = {
    "maxTotalInstances": 10,
    "totalInstancesUsed": 9,
    "maxTotalCores": -1,
    "totalCoresUsed": 500,
    "maxTotalRAMSize": 10000,
    "totalRAMUsed": 1000,
}
QUOTAS = {"port": {"limit": 5, "used": 2, "reserved": 1}, "network": {"limit": 2, "used": 0, "reserved": 0}}


def check(cloud: FakeCloud, **expected: int) -> None:
    requirements.check_quotas(cast("Cloud", cloud), {name.replace("_", " "): count for name, count in expected.items()})


def test_everything_that_is_short_is_said_at_once_with_how_much() -> None:
    pytest.importorskip("openstack")
    cloud = FakeCloud(LIMITS, QUOTAS)
    with pytest.raises(StageError) as error:
        check(cloud, instances=3, cores=1000, networks=2, ports=4)
    assert "instances: 3 needed, 9 of 10 in use, so 2 short; ports: 4 needed, 3 of 5 in use, so 2 short" in str(
        error.value
    )
    assert "cores" not in str(error.value)
    check(cloud, instances=1, cores=1000, networks=2, ports=2)


@pytest.mark.parametrize(
    ("resource", "left"), [("instances", 1), ("MiB of memory", 9000), ("networks", 2), ("ports", 2)]
)
def test_a_quota_is_too_small_by_one_from_the_first_resource_beyond_it(resource: str, left: int) -> None:
    pytest.importorskip("openstack")
    cloud = cast("Cloud", FakeCloud(LIMITS, QUOTAS))
    requirements.check_quotas(cloud, {resource: left})
    with pytest.raises(StageError, match=f"{resource}: {left + 1} needed, .* so 1 short"):
        requirements.check_quotas(cloud, {resource: left + 1})


def test_of_what_nothing_is_to_be_made_no_quota_is_asked() -> None:
    cloud = FakeCloud(LIMITS, QUOTAS)
    check(cloud, instances=0, ports=0)
    assert cloud.requests == []


def test_quotas_that_this_user_may_not_read_are_left_to_the_cloud() -> None:
    pytest.importorskip("openstack")
    check(FakeCloud(LIMITS, 403), networks=1000)
    with pytest.raises(CloudError):
        check(FakeCloud(LIMITS, 500), networks=1)


def test_a_refusal_for_want_of_a_role_lists_all_that_needs_one() -> None:
    member = cast("Cloud", SimpleNamespace(is_admin=False))
    with pytest.raises(StageError) as error, requirements.explaining_admin_requirements(member, PLAN, NOTHING):
        raise CloudError("it answers 403: Policy doesn't allow it", 403)
    for needed in ("flavor f", "without a disk", "physical networks of left", "servers on compute7"):
        assert needed in str(error.value)
    assert "of right" not in str(error.value)


def test_other_refusals_and_those_of_an_administrator_stay_as_they_are() -> None:
    for is_admin, status in ((False, 409), (True, 403)):
        cloud = cast("Cloud", SimpleNamespace(is_admin=is_admin))
        with pytest.raises(CloudError, match=r"^no$"), requirements.explaining_admin_requirements(cloud, PLAN, NOTHING):
            raise CloudError("no", status)


def test_what_is_there_needs_no_administrator() -> None:
    cloud = NOTHING._replace(flavor={"disk": 10}, networks={"left": {}, "right": {}})
    assert list(requirements.list_admin_requirements(PLAN.model_copy(update={"hosts": ()}), cloud)) == []


def test_what_was_made_is_counted_by_kind() -> None:
    created = [
        CloudResource(kind=kind, name="x", id=str(index)) for index, kind in enumerate(("port", "server_group", "port"))
    ]
    assert rollback.format_counts(created) == "2 ports, 1 server group"
