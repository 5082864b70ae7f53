"""What is left of nodrop in a cloud: found by its marks, and taken away in an order in which nothing is in use.

Nothing is remembered between two calls: what a call that was ended left behind, the next one finds.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from nodrop.model.cloud import CloudResource, ResourceKind
from nodrop.stage.base import OnProgress, silent
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.api_errors import Refused
from nodrop.stage.openstack.existing_resources import marked_label
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import CHAIN, is_of_project
from nodrop.stage.openstack.routers import detach

Json = Mapping[str, Any]
ORDER: tuple[ResourceKind, ...] = (
    "floating_ip", "server", "router", "port", "subnet", "network", "server_group", "flavor", "image",
)  # fmt: skip
"""In which nothing is taken away that something else needs."""
AT_ONCE = 4
"""Requests under way: Neutron locks tables, more would wait for each other."""
CONFLICT = 409
PASSES = 4
"""How often what is still in use is tried: Neutron lets go of things a moment after it said so."""
BETWEEN_PASSES_S = 2.0
GONE_S, GONE_EACH_S = 120.0, 5.0
"""How long servers may take to be gone: all, and each more."""
POLL_S = 1.0


class Place(NamedTuple):
    """Where a kind is."""

    service: rest.Service
    path: str
    listed: str
    """What lists those of the project."""
    key: str
    said: str
    """As people say it."""


PLACES: dict[ResourceKind, Place] = {
    "server": Place("compute", "/servers", "/servers/detail", "servers", "server"),
    "server_group": Place("compute", "/os-server-groups", "/os-server-groups", "server_groups", "server group"),
    "flavor": Place("compute", "/flavors", "/flavors/detail?is_public=None", "flavors", "flavor"),
    "image": Place("image", "/images", "/images?owner={project}", "images", "image"),
    "floating_ip": Place("network", "/floatingips", "/floatingips?project_id={project}", "floatingips", "floating IP"),
    "router": Place("network", "/routers", "/routers?project_id={project}", "routers", "router"),
    "port": Place("network", "/ports", "/ports?project_id={project}", "ports", "port"),
    "subnet": Place("network", "/subnets", "/subnets?project_id={project}", "subnets", "subnet"),
    "network": Place("network", "/networks", "/networks?project_id={project}", "networks", "network"),
}


class Left(NamedTuple):
    """Something that is in the cloud still."""

    resource: CloudResource
    label: str
    """Under which nodrop made it; empty where it is NFVbench's."""
    chain: str = ""
    """The chain it belongs to, where that can be told."""
    since: str = ""
    """When it was made, as the service says it; empty where it does not."""


class Kept(NamedTuple):
    """Something that could not be taken away."""

    resource: CloudResource
    why: str


Listed = dict[ResourceKind, list[Json]]


def find(cloud: Cloud, label: str | None = None) -> tuple[Left, ...]:
    """Everything that nodrop made in the project and is there still, in the order in which it is taken away.

    Args:
        cloud: where.
        label: only what was made under this label; None: under any.

    Raises StageError.
    """
    return marked(everything(cloud), label)


def marked(listed: Listed, label: str | None = None) -> tuple[Left, ...]:
    """Of all there is, what nodrop made."""
    chains = _chains(listed)
    return tuple(
        Left(named(kind, each), found, chains.get(str(each["id"]), ""), since(each))
        for kind in ORDER
        for each in listed[kind]
        if (found := marked_label(kind, each)) and label in (None, found)
    )


def everything(cloud: Cloud) -> Listed:
    """All there is in the project, whoever made it, without flavors made for another. Raises StageError."""
    listed: Listed = {}
    for kind, place in PLACES.items():
        path = place.listed.format(project=cloud.project_id)
        listed[kind] = rest.listed(cloud, f"{place.said}s", place.service, path, place.key)
    listed["flavor"] = [each for each in listed["flavor"] if is_of_project(each.get("description"), cloud.project_id)]
    return listed


def named(kind: ResourceKind, found: Json) -> CloudResource:
    """A service's answer as a resource; floating addresses are their own names."""
    name = str(found.get("floating_ip_address") or found.get("name") or found["id"])
    return CloudResource(kind=kind, name=name, id=str(found["id"]))


def since(found: Json) -> str:
    """When it was made, as `2026-11-22 03:04`; empty where its service does not say."""
    return str(found.get("created_at") or found.get("created") or "")[:16].replace("T", " ")


def _chains(listed: Listed) -> dict[str, str]:
    """By id: servers say it, ports are their servers', and networks are a chain's where all of their ports are."""
    found = {each["id"]: str((each.get("metadata") or {}).get(CHAIN, "")) for each in listed["server"]}
    of_networks: dict[str, set[str]] = {}
    for port in listed["port"]:
        if chain := found.get(port.get("device_id")):
            found[port["id"]] = chain
            of_networks.setdefault(port["network_id"], set()).add(chain)
    whole = {network: chains.pop() for network, chains in of_networks.items() if len(chains) == 1}
    subnets = {each["id"]: whole[each["network_id"]] for each in listed["subnet"] if each["network_id"] in whole}
    return found | whole | subnets


def take_away(cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress = silent) -> tuple[Kept, ...]:
    """Take away, in order, what was not there before, and wait until servers are gone; what is gone already counts.

    Args:
        cloud: where.
        resources: what; those that are `found` stay.
        on_progress: is told of each.

    Returns: what could not be taken away, and why. Never raises for what a cloud says.
    """
    return _Removal(cloud, [each for each in resources if not each.found], on_progress).run()


class _Removal:
    """What is to go, and how far it is."""

    def __init__(self, cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress) -> None:
        self._cloud = cloud
        self._resources = resources
        self._on_progress = on_progress
        self._done_count = 0
        self._kept: dict[str, Kept] = {}
        """By id."""
        self._cut_off = ""
        """Why nothing more is asked: the cloud gave no answer."""

    def run(self) -> tuple[Kept, ...]:
        for kind in ORDER:
            some = [each for each in self._resources if each.kind == kind]
            if kind == "flavor":
                some = self._unused(some)
            if some and self._cut_off:
                for each in some:
                    self._keep(each, self._cut_off)
            elif some:
                self._take(kind, some)
        return tuple(self._kept.values())

    def _take(self, kind: ResourceKind, some: Sequence[CloudResource]) -> None:
        for attempt in range(PASSES):
            if attempt:
                time.sleep(BETWEEN_PASSES_S)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                refusals = list(pool.map(self._delete, some))
            if kind == "server":
                asked = [each for each, refused in zip(some, refusals, strict=True) if not refused]
                self._wait(asked)
            again = []
            for each, refused in zip(some, refusals, strict=True):
                if refused and refused.status == CONFLICT and attempt + 1 < PASSES:
                    again.append(each)
                elif refused:
                    self._keep(each, str(refused))
                    self._cut_off = self._cut_off or ("" if refused.status else str(refused))
                elif kind != "server":
                    self._is_gone(each)
            if not again:
                return
            some = again

    def _delete(self, each: CloudResource) -> Refused | None:
        place = PLACES[each.kind]
        asked = f"delete {place.said} {each.name}"
        try:
            if each.kind == "router":
                detach(self._cloud, each)
            rest.deleted(self._cloud, asked, place.service, f"{place.path}/{each.id}")
        except Refused as refused:
            return refused
        return None

    def _unused(self, flavors: Sequence[CloudResource]) -> list[CloudResource]:
        """Those no server is made of: flavors are the whole cloud's, and other projects may have taken them."""
        unused = []
        for each in flavors:
            path = f"/servers/detail?{'all_tenants=1&' if self._cloud.is_admin else ''}flavor={each.id}"
            try:
                users = rest.listed(self._cloud, f"servers of flavor {each.name}", "compute", path, "servers")
            except Refused as refused:
                self._keep(each, str(refused))
                continue
            if users:
                self._keep(each, f"a server has it still, {users[0]['name']}; take it away first")
            else:
                unused.append(each)
        return unused

    def _wait(self, servers: Sequence[CloudResource]) -> None:
        """Until they are gone."""
        waited = {each.id: each for each in servers}
        end = time.monotonic() + GONE_S + GONE_EACH_S * len(waited)
        while waited:
            try:
                there = {
                    each["id"]: each
                    for each in rest.listed(self._cloud, "servers", "compute", "/servers/detail", "servers")
                }
            except Refused as refused:
                for each in waited.values():
                    self._keep(each, str(refused))
                return
            for gone in [each for key, each in waited.items() if key not in there]:
                del waited[gone.id]
                self._is_gone(gone)
            if time.monotonic() > end:
                for each in waited.values():
                    self._keep(each, _lasting(there[each.id]))
                return
            if waited:
                time.sleep(POLL_S)

    def _is_gone(self, each: CloudResource) -> None:
        self._done_count += 1
        self._on_progress(f"{PLACES[each.kind].said} {each.name} is gone", self._done_count, len(self._resources))

    def _keep(self, each: CloudResource, why: str) -> None:
        self._kept[each.id] = Kept(each, why)
        self._on_progress(f"{PLACES[each.kind].said} {each.name} stays", self._done_count, len(self._resources))


def _lasting(server: Json) -> str:
    fault = (server.get("fault") or {}).get("message")
    state = server.get("OS-EXT-STS:task_state") or server.get("status")
    return f"asked to go, it is still {state}{f': {fault}' if fault else ''}; see that its compute host is up"
