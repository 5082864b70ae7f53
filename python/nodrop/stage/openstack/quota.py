"""Whether what a project may have is enough for what is to be made, known before anything is."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.api_errors import Refused
from nodrop.stage.openstack.login import Cloud
from nodrop.system.log_files import LOGGER

FORBIDDEN, NOT_FOUND = 403, 404


class Quota(NamedTuple):
    """How many of something a project may have, and has."""

    most: int
    """-1: any number."""
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


def check(cloud: Cloud, needs: Mapping[str, int]) -> None:
    """Raise StageError where the project's quotas are too small, with everything that is short.

    Args:
        cloud: where.
        needs: how many more are to be made, by the keys of `COMPUTE` and `NETWORK`.
    """
    wanted = {what: count for what, count in needs.items() if count}
    quotas: dict[str, Quota] = {}
    if wanted.keys() & COMPUTE.keys():
        quotas |= _compute(cloud)
    if wanted.keys() & NETWORK.keys():
        quotas |= _network(cloud)
    if short := tuple(_short(wanted, quotas)):
        raise StageError(
            f"cloud {cloud.name}: quotas of project {cloud.project_name} are too small: {'; '.join(short)}. "
            "Take away what is not needed, ask for fewer chains, or have an administrator raise them "
            "(openstack quota set)"
        )


def _short(wanted: Mapping[str, int], quotas: Mapping[str, Quota]) -> Iterator[str]:
    for what, count in wanted.items():
        quota = quotas.get(what)
        if quota and quota.most >= 0 and (lacking := quota.used + count - quota.most) > 0:
            yield f"{what}: {count} needed, {quota.used} of {quota.most} in use, so {lacking} short"


def _compute(cloud: Cloud) -> dict[str, Quota]:
    told = rest.got(cloud, "read Nova's limits of the project", "compute", "/limits")["limits"]["absolute"]
    return {what: Quota(told[most], told[used]) for what, (most, used) in COMPUTE.items() if most in told}


def _network(cloud: Cloud) -> dict[str, Quota]:
    """None where this user may not read them: what is short is then said when it is used up."""
    path = f"/quotas/{cloud.project_id}/details.json"
    try:
        told = rest.got(cloud, "read Neutron's quotas of the project", "network", path)["quota"]
    except Refused as refused:
        if refused.status not in (FORBIDDEN, NOT_FOUND):
            raise
        LOGGER.info("quotas of networks are not checked: %s", refused)
        return {}
    return {
        what: Quota(told[key]["limit"], told[key]["used"] + told[key].get("reserved", 0))
        for what, key in NETWORK.items()
        if key in told
    }
