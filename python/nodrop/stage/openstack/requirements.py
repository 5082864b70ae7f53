"""Checks before a cloud is changed: the quotas of the project and the role of its user."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.inventory import Inventory
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.requests import CloudError
from nodrop.system.log_files import LOGGER

FORBIDDEN, NOT_FOUND = 403, 404


class Quota(NamedTuple):
    """Limit and use of a quota."""

    most: int
    """-1: unlimited."""
    used: int


COMPUTE = {
    "instances": ("maxTotalInstances", "totalInstancesUsed"),
    "cores": ("maxTotalCores", "totalCoresUsed"),
    "MiB of memory": ("maxTotalRAMSize", "totalRAMUsed"),
    "server groups": ("maxServerGroups", "totalServerGroupsUsed"),
}
"""Nova's names. Source: https://docs.openstack.org/api-ref/compute/#limits-limits"""
NETWORK = {
    "networks": "network",
    "subnets": "subnet",
    "ports": "port",
    "routers": "router",
    "floating IPs": "floatingip",
}
"""Neutron's names. Source: https://docs.openstack.org/api-ref/network/v2/#quotas-extension-quotas"""


def check_quotas(cloud: Cloud, needs: Mapping[str, int]) -> None:
    """Raise StageError if the project's quotas are too small, listing all that are.

    Args:
        cloud: the cloud.
        needs: number of resources to create, by the keys of `COMPUTE` and `NETWORK`.
    """
    planned = {resource: count for resource, count in needs.items() if count}
    quotas: dict[str, Quota] = {}
    if planned.keys() & COMPUTE.keys():
        quotas |= _read_compute_quotas(cloud)
    if planned.keys() & NETWORK.keys():
        quotas |= _read_network_quotas(cloud)
    if short := tuple(_list_shortages(planned, quotas)):
        raise StageError(
            f"cloud {cloud.name}: quotas of project {cloud.project_name} are too small: {'; '.join(short)}; delete "
            "what is not needed, use fewer chains, or have an administrator raise them (openstack quota set)"
        )


def _list_shortages(planned: Mapping[str, int], quotas: Mapping[str, Quota]) -> Iterator[str]:
    for resource, count in planned.items():
        quota = quotas.get(resource)
        if quota and quota.most >= 0 and (lacking := quota.used + count - quota.most) > 0:
            yield f"{resource}: {count} needed, {quota.used} of {quota.most} in use, so {lacking} short"


def _read_compute_quotas(cloud: Cloud) -> dict[str, Quota]:
    reported = rest.get_resource(cloud, "read Nova's limits of the project", "compute", "/limits")["limits"]["absolute"]
    return {
        resource: Quota(reported[most], reported[used])
        for resource, (most, used) in COMPUTE.items()
        if most in reported
    }


def _read_network_quotas(cloud: Cloud) -> dict[str, Quota]:
    """Return Neutron's quotas; empty if this user may not read them: an exhausted one then fails the request itself."""
    path = f"/quotas/{cloud.project_id}/details.json"
    try:
        reported = rest.get_resource(cloud, "read Neutron's quotas of the project", "network", path)["quota"]
    except CloudError as refused:
        if refused.status not in (FORBIDDEN, NOT_FOUND):
            raise
        LOGGER.info("quotas of networks are not checked: %s", refused)
        return {}
    return {
        resource: Quota(reported[key]["limit"], reported[key]["used"] + reported[key].get("reserved", 0))
        for resource, key in NETWORK.items()
        if key in reported
    }


@contextmanager
def explaining_admin_requirements(cloud: Cloud, plan: CloudPlan, existing: Inventory) -> Iterator[None]:
    """Add the list of administrator requirements to an error for a missing role. Raises StageError."""
    try:
        yield
    except CloudError as refused:
        if refused.status != FORBIDDEN or cloud.is_admin:
            raise
        listed = "; ".join(list_admin_requirements(plan, existing)) or "nothing else"
        raise StageError(f"{refused}; by default policies, an administrator is required for: {listed}") from refused


def list_admin_requirements(plan: CloudPlan, existing: Inventory) -> Iterator[str]:
    """Yield what the services' default policies reserve for administrators, each with an alternative.

    Source: the sample policies of Nova and Neutron (os_compute_api:os-flavor-manage, :servers:create:zero_disk_flavor,
    :servers:create:forced_host, create_network:provider:network_type).
    """
    if plan.flavor and not existing.flavor:
        yield f"creating flavor {plan.flavor.name} (have one created, and name it: openstack.flavor.name)"
    if plan.flavor and (existing.flavor or {}).get("disk", plan.flavor.disk_gib) == 0 and plan.servers:
        yield f"servers of a flavor without a disk, here {plan.flavor.name} (have one with a disk)"
    if numbered := [
        network.name
        for network in plan.networks
        if network.name not in existing.networks and (network.segmentation_id is not None or network.physical_network)
    ]:
        yield (
            "segmentation ids and physical networks of "
            f"{', '.join(numbered[:4])}{' and more' if len(numbered) > 4 else ''} (have the networks created, and "
            "name them)"
        )
    if plan.hosts:
        yield f"servers on {', '.join(plan.hosts)} (name an availability zone instead)"
