"""Routers of Neutron between the tester and the chains: joined to both networks, with routes to what is behind them.

Source: https://docs.openstack.org/api-ref/network/v2/#routers-routers, extension extraroute.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudResource, CloudRouter
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.api_errors import Refused
from nodrop.stage.openstack.existing_resources import is_ours, only
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import mark
from nodrop.stage.openstack.rest import Json, Post

Record = Callable[[CloudResource], None]
"""Hears of each resource before the next request."""
NOT_FOUND = 404
INTERFACE = "interface"
"""In the owner of a port that joins a router to a subnet, as `network:router_interface`, also of routers that are
replicated; that of its gateway is called otherwise."""


class StandingRouter(NamedTuple):
    """A router as it stands; of each pair the tester's side is first."""

    name: str
    id: str
    addresses: tuple[str, str]
    """By which its neighbours on either side reach it."""
    macs: tuple[str, str]


class Routers:
    """Makes routers, or takes those that are there."""

    def __init__(self, cloud: Cloud, label: str, record: Record) -> None:
        """Where, what they are marked with, and who is told of each before it is joined to anything."""
        self._cloud = cloud
        self._label = label
        self._record = record

    def bring_up(self, wanted: Sequence[CloudRouter], subnets: Mapping[str, Json]) -> tuple[StandingRouter, ...]:
        """See that routers stand between their networks and have their routes.

        Args:
            wanted: the routers.
            subnets: by the name of their network.

        Raises StageError.
        """
        there = self._named([router.name for router in wanted])
        return tuple(self._bring_up(router, subnets, there) for router in wanted)

    def way_out(self, name: str, inside: Json, outside: Json) -> None:
        """See that floating addresses of a network reach a subnet: by a router that joins them, or one that is made.

        Args:
            name: of the router that is made.
            inside: the subnet.
            outside: the external network.

        Raises StageError.
        """
        path = f"/ports?network_id={inside['network_id']}"
        ports = rest.listed(self._cloud, "ports", "network", path, "ports")
        joining = {each["device_id"] for each in ports if _is_interface(each)}
        path = f"/routers?project_id={self._cloud.project_id}"
        there = rest.listed(self._cloud, "routers", "network", path, "routers")
        for router in there:
            gateway = router.get("external_gateway_info") or {}
            if router["id"] in joining and gateway.get("network_id") == outside["id"]:
                self._tell(router, found=True)
                return
        found = only(self._cloud, "router", name, [each for each in there if each["name"] == name])
        router = found or self._make(name, {"external_gateway_info": {"network_id": outside["id"]}})
        self._tell(router, found=found is not None)
        if inside["id"] not in joined(self._cloud, name, router["id"]):
            self._join(router, inside)

    def _named(self, names: Sequence[str]) -> list[Json]:
        return rest.named(self._cloud, "routers", "/routers", "routers", names)

    def _tell(self, router: Json, *, found: bool) -> None:
        self._record(CloudResource(kind="router", name=router["name"], id=router["id"], found=found))

    def _bring_up(self, wanted: CloudRouter, subnets: Mapping[str, Json], there: Sequence[Json]) -> StandingRouter:
        found = self._find(wanted, there)
        router = found or self._make(wanted.name, {})
        self._tell(router, found=found is not None)
        sides = [self._subnet(wanted, network, subnets) for network in wanted.networks]
        interfaces = joined(self._cloud, wanted.name, router["id"])
        missing = [subnet for subnet in sides if subnet["id"] not in interfaces]
        for subnet in missing:
            self._join(router, subnet)
        if missing:
            interfaces = joined(self._cloud, wanted.name, router["id"])
        self._give_routes(wanted, router)
        left, right = (interfaces[subnet["id"]] for subnet in sides)
        return StandingRouter(wanted.name, router["id"], (left[0], right[0]), (left[1], right[1]))

    def _subnet(self, wanted: CloudRouter, network: str, subnets: Mapping[str, Json]) -> Json:
        if network not in subnets:
            raise StageError(
                f"cloud {self._cloud.name}: router {wanted.name} asked to be joined to network {network}, no subnet of "
                "it is known here; name its subnet and addresses (subnet, cidr, gateway)"
            )
        return subnets[network]

    def _find(self, wanted: CloudRouter, there: Sequence[Json]) -> Json | None:
        """The project's router of this name. Raises StageError where it is somebody else's and lacks routes."""
        own = [each for each in there if each["name"] == wanted.name and each["project_id"] == self._cloud.project_id]
        found = only(self._cloud, "router", wanted.name, own)
        if found and not is_ours("router", found):
            asked, has = _routes(wanted), _pairs(found.get("routes") or [])
            if not asked <= has:
                raise StageError(
                    f"cloud {self._cloud.name}: Mismatch of 'routes' for reused router {wanted.name}: {_said(asked)} "
                    f"asked, it has {_said(has)}, and nodrop did not make it; add them, or name another router"
                )
        return found

    def _make(self, name: str, more: Json) -> Json:
        body = {"name": name, "description": mark(self._label), **more}

        def look() -> Json | None:
            ours = (each for each in self._named([name]) if each.get("description") == mark(self._label))
            return next(({"router": each} for each in ours), None)

        post = Post("network", "/routers", {"router": body})
        made: Json = rest.made(self._cloud, f"create router {name}", post, look)["router"]
        return made

    def _join(self, router: Json, subnet: Json) -> None:
        """Give a router an interface: the subnet's gateway where it has one, else the first address that is free."""
        name = router["name"]
        asked = f"join router {name} to subnet {subnet.get('name') or subnet['id']}"
        body = {"subnet_id": subnet["id"]} if subnet.get("gateway_ip") else {"port_id": self._port(name, subnet)["id"]}
        try:
            rest.changed(self._cloud, asked, "network", f"/routers/{router['id']}/add_router_interface", body)
        except StageError:
            if subnet["id"] not in joined(self._cloud, name, router["id"]):  # else an answer was lost, and asked again
                raise

    def _port(self, router: str, subnet: Json) -> Json:
        name = f"{router}-{subnet.get('name') or subnet['id']}"
        body = {
            "name": name,
            "description": mark(self._label),
            "network_id": subnet["network_id"],
            "fixed_ips": [{"subnet_id": subnet["id"]}],
        }

        def look() -> Json | None:
            there = rest.named(self._cloud, "ports", "/ports", "ports", [name])
            return next(({"port": each} for each in there if each.get("description") == mark(self._label)), None)

        post = Post("network", "/ports", {"port": body})
        made: Json = rest.made(self._cloud, f"create port {name}", post, look)["port"]
        return made

    def _give_routes(self, wanted: CloudRouter, router: Json) -> None:
        """The routes it is to have, and no others, where nodrop made it."""
        asked = _routes(wanted)
        if asked == _pairs(router.get("routes") or []) or not is_ours("router", router):
            return
        routes = [{"destination": prefix, "nexthop": via} for prefix, via in sorted(asked)]
        what = f"give router {wanted.name} the routes {_said(asked)}"
        rest.changed(self._cloud, what, "network", f"/routers/{router['id']}", {"router": {"routes": routes}})


def joined(cloud: Cloud, name: str, router_id: str) -> dict[str, tuple[str, str]]:
    """Address and MAC of a router's interfaces, by subnet. Raises StageError."""
    return {
        fixed["subnet_id"]: (fixed["ip_address"], port["mac_address"])
        for port in _interfaces(cloud, name, router_id)
        for fixed in port["fixed_ips"]
    }


def detach(cloud: Cloud, router: CloudResource) -> None:
    """Take a router's routes and interfaces from it, those that are there still, so that it can be deleted.

    Raises StageError.
    """
    path = f"/routers/{router.id}"
    _change_if_there(cloud, router, path, {"router": {"routes": []}})
    for port in _interfaces(cloud, router.name, router.id):
        _change_if_there(cloud, router, f"{path}/remove_router_interface", {"port_id": port["id"]})


def _change_if_there(cloud: Cloud, router: CloudResource, path: str, body: Json) -> None:
    try:
        rest.changed(cloud, f"detach router {router.name}", "network", path, body)
    except Refused as refused:
        if refused.status != NOT_FOUND:
            raise


def _interfaces(cloud: Cloud, name: str, router_id: str) -> list[Json]:
    ports = rest.listed(cloud, f"ports of router {name}", "network", f"/ports?device_id={router_id}", "ports")
    return [port for port in ports if _is_interface(port)]


def _is_interface(port: Json) -> bool:
    return INTERFACE in str(port.get("device_owner"))


def _routes(wanted: CloudRouter) -> set[tuple[str, str]]:
    return {(route.prefix, route.via) for route in wanted.routes}


def _pairs(routes: Sequence[Json]) -> set[tuple[str, str]]:
    return {(each["destination"], each["nexthop"]) for each in routes}


def _said(routes: set[tuple[str, str]]) -> str:
    return ", ".join(f"{prefix} by {via}" for prefix, via in sorted(routes)) or "none"
