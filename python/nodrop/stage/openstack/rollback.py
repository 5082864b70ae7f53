"""Deletion of resources, and rollback of what a stage created."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudResource, ResourceKind
from nodrop.stage.base import OnProgress, ignore_progress
from nodrop.stage.openstack import cleanup, rest
from nodrop.stage.openstack.cleanup import ENDPOINTS, ORDER
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.requests import CloudError
from nodrop.stage.openstack.rest import Json
from nodrop.stage.openstack.routers import detach_router
from nodrop.system.log_files import LOGGER
from nodrop.units import format_count

AT_ONCE = 4
"""Concurrent requests: Neutron locks tables, more requests would only wait for each other."""
CONFLICT = 409
PASSES = 4
"""Attempts for a resource in use: Neutron releases dependencies a moment after their deletion is reported."""
BETWEEN_PASSES_S = 2.0
GONE_S, GONE_EACH_S = 120.0, 5.0
"""Time for servers to disappear: base, and per further server."""
POLL_S = 1.0
AGAIN = "run nodrop cleanup when the cloud works again"


class FailedDeletion(NamedTuple):
    """A resource that could not be deleted."""

    resource: CloudResource
    reason: str


def roll_back(cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress) -> str:
    """Delete the resources that were created, and describe the outcome. Never raises for errors of the cloud."""
    created = [each for each in resources if not each.found]
    if not created:
        return "Nothing was created"
    remaining = delete_resources(cloud, created, on_progress)
    if not remaining:
        return f"The created resources were deleted ({format_counts(created)})"
    names = ", ".join(f"{each.resource.kind} {each.resource.name}" for each in remaining[:8])
    more = f" and {len(remaining) - 8} more" if len(remaining) > 8 else ""
    return f"The created resources were deleted except {names}{more} ({remaining[0].reason}): {AGAIN}"


def find_untracked(cloud: Cloud, plan: CloudPlan, recorded: Sequence[CloudResource]) -> Iterator[CloudResource]:
    """Yield resources with the plan's tag and names that are not recorded: created by requests without a reply."""
    ids = {each.id for each in recorded}
    names = _list_names(plan)
    try:
        left = cleanup.find_leftovers(cloud, plan.label)
    except StageError as error:
        LOGGER.warning("cannot search for resources created by requests without a reply: %s", error)
        return
    for each in left:
        name = each.resource.name
        is_joint = any(name.startswith(f"{router.name}-") for router in plan.routers)
        if each.resource.id not in ids and (name in names or is_joint):
            yield each.resource


def format_counts(resources: Sequence[CloudResource]) -> str:
    """Return `2 networks, 2 subnets, 4 ports`."""
    counts: dict[str, int] = {}
    for each in resources:
        kind = each.kind.replace("_", " ")
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(format_count(count, kind) for kind, count in counts.items())


def _list_names(plan: CloudPlan) -> frozenset[str]:
    """Return the names of all resources that a plan creates."""
    return frozenset(
        name
        for name in (
            plan.image.name if plan.image else None,
            plan.flavor.name if plan.flavor else None,
            *(network.name for network in plan.networks if not network.must_exist),
            *(network.subnet for network in plan.networks if not network.must_exist),
            *(server.name for server in plan.servers),
            *(port.name for server in plan.servers for port in server.ports),
            *(router.name for router in plan.routers),
        )
        if name
    )


def delete_resources(
    cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress = ignore_progress
) -> tuple[FailedDeletion, ...]:
    """Delete resources in order and wait until servers are gone; missing resources count as deleted.

    Args:
        cloud: the cloud.
        resources: the resources; those with `found` stay.
        on_progress: receives each deletion.

    Returns: the resources that could not be deleted. Never raises for errors of the cloud.
    """
    return _Deletion(cloud, [each for each in resources if not each.found], on_progress).run()


class _Deletion:
    """One deletion in progress."""

    def __init__(self, cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress) -> None:
        self._cloud = cloud
        self._resources = resources
        self._on_progress = on_progress
        self._done_count = 0
        self._failed: dict[str, FailedDeletion] = {}
        """By id."""
        self._lost_contact = ""
        """Why no further request is sent: the cloud did not reply."""

    def run(self) -> tuple[FailedDeletion, ...]:
        for kind in ORDER:
            selected = [each for each in self._resources if each.kind == kind]
            if kind == "flavor":
                selected = self._list_unused(selected)
            if selected and self._lost_contact:
                for each in selected:
                    self._record_failure(each, self._lost_contact)
            elif selected:
                self._delete_all(kind, selected)
        return tuple(self._failed.values())

    def _delete_all(self, kind: ResourceKind, resources: Sequence[CloudResource]) -> None:
        for attempt in range(PASSES):
            if attempt:
                time.sleep(BETWEEN_PASSES_S)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                refusals = list(pool.map(self._delete, resources))
            if kind == "server":
                accepted = [each for each, refused in zip(resources, refusals, strict=True) if not refused]
                self._wait(accepted)
            again = []
            for each, refused in zip(resources, refusals, strict=True):
                if refused and refused.status == CONFLICT and attempt + 1 < PASSES:
                    again.append(each)
                elif refused:
                    self._record_failure(each, str(refused))
                    self._lost_contact = self._lost_contact or ("" if refused.status else str(refused))
                elif kind != "server":
                    self._report_deleted(each)
            if not again:
                return
            resources = again

    def _delete(self, resource: CloudResource) -> CloudError | None:
        endpoint = ENDPOINTS[resource.kind]
        action = f"delete {endpoint.noun} {resource.name}"
        try:
            if resource.kind == "router":
                detach_router(self._cloud, resource)
            rest.delete_resource(self._cloud, action, endpoint.service, f"{endpoint.path}/{resource.id}")
        except CloudError as refused:
            return refused
        return None

    def _list_unused(self, flavors: Sequence[CloudResource]) -> list[CloudResource]:
        """Return the flavors without servers: other projects may use a flavor."""
        unused = []
        for each in flavors:
            path = f"/servers/detail?{'all_tenants=1&' if self._cloud.is_admin else ''}flavor={each.id}"
            try:
                users = rest.list_resources(self._cloud, f"servers of flavor {each.name}", "compute", path, "servers")
            except CloudError as refused:
                self._record_failure(each, str(refused))
                continue
            if users:
                self._record_failure(each, f"server {users[0]['name']} still uses it; delete the server first")
            else:
                unused.append(each)
        return unused

    def _wait(self, servers: Sequence[CloudResource]) -> None:
        """Wait until the servers are gone."""
        waited = {each.id: each for each in servers}
        end = time.monotonic() + GONE_S + GONE_EACH_S * len(waited)
        while waited:
            try:
                existing = {
                    each["id"]: each
                    for each in rest.list_resources(self._cloud, "servers", "compute", "/servers/detail", "servers")
                }
            except CloudError as refused:
                for each in waited.values():
                    self._record_failure(each, str(refused))
                return
            for deleted in [each for key, each in waited.items() if key not in existing]:
                del waited[deleted.id]
                self._report_deleted(deleted)
            if time.monotonic() > end:
                for each in waited.values():
                    self._record_failure(each, _format_still_exists(existing[each.id]))
                return
            if waited:
                time.sleep(POLL_S)

    def _report_deleted(self, resource: CloudResource) -> None:
        self._done_count += 1
        self._on_progress(
            f"{ENDPOINTS[resource.kind].noun} {resource.name} deleted", self._done_count, len(self._resources)
        )

    def _record_failure(self, resource: CloudResource, reason: str) -> None:
        self._failed[resource.id] = FailedDeletion(resource, reason)
        self._on_progress(
            f"{ENDPOINTS[resource.kind].noun} {resource.name} not deleted", self._done_count, len(self._resources)
        )


def _format_still_exists(server: Json) -> str:
    fault = (server.get("fault") or {}).get("message")
    state = server.get("OS-EXT-STS:task_state") or server.get("status")
    return (
        f"still {state} after its deletion was requested{f': {fault}' if fault else ''}; check that its compute host "
        "is up"
    )
