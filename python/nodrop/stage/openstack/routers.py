"""Neutron routers between the tester and the chains, attached to both networks, with static routes; floating IPs.

Source: https://docs.openstack.org/api-ref/network/v2/#routers-routers, extension extraroute,
https://docs.openstack.org/api-ref/network/v2/#floating-ips-floatingips
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudResource, CloudRouter, NetworkRole
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.existing_resources import select_single_match
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import build_ownership_tag, is_tagged
from nodrop.stage.openstack.requests import CloudError
from nodrop.stage.openstack.rest import Json, Post

OnResource = Callable[[CloudResource], None]
"""Receives each resource before the next request."""
NOT_FOUND = 404
INTERFACE = "interface"
"""Part of the device owner of a router's interface, e.g. `network:router_interface`, also for replicated routers;
gateways have another owner."""


class ActiveRouter(NamedTuple):
    """An existing router; of each pair the tester's side is first."""

    name: str
    id: str
    addresses: tuple[str, str]
    """Addresses on which its neighbors reach it."""
    macs: tuple[str, str]


class Routers:
    """Creates or reuses routers."""

    def __init__(self, cloud: Cloud, label: str, on_resource: OnResource) -> None:
        """Prepare for a cloud and a label; `on_resource` receives each router before it is attached to anything."""
        self._cloud = cloud
        self._label = label
        self._record = on_resource

    def ensure_routers(self, planned: Sequence[CloudRouter], subnets: Mapping[str, Json]) -> tuple[ActiveRouter, ...]:
        """Ensure that routers connect their networks and have their routes.

        Args:
            planned: the planned routers.
            subnets: by name of their network.

        Raises StageError.
        """
        existing = self._list_named([router.name for router in planned])
        return tuple(self._bring_up(router, subnets, existing) for router in planned)

    def ensure_gateway(self, name: str, inside: Json, outside: Json) -> None:
        """Ensure that floating IPs of a network reach a subnet, by an existing router between them or a new one.

        Args:
            name: name of a new router.
            inside: the subnet.
            outside: the external network.

        Raises StageError.
        """
        path = f"/ports?network_id={inside['network_id']}"
        ports = rest.list_resources(self._cloud, "ports", "network", path, "ports")
        joining = {each["device_id"] for each in ports if _is_interface(each)}
        path = f"/routers?project_id={self._cloud.project_id}"
        existing = rest.list_resources(self._cloud, "routers", "network", path, "routers")
        for router in existing:
            gateway = router.get("external_gateway_info") or {}
            if router["id"] in joining and gateway.get("network_id") == outside["id"]:
                self._record_router(router, found=True)
                return
        router_match = select_single_match(
            self._cloud, "router", name, [each for each in existing if each["name"] == name]
        )
        router = router_match or self._create(name, {"external_gateway_info": {"network_id": outside["id"]}})
        self._record_router(router, found=router_match is not None)
        if inside["id"] not in list_router_interfaces(self._cloud, name, router["id"]):
            self._attach(router, inside)

    def _list_named(self, names: Sequence[str]) -> list[Json]:
        return rest.list_by_name(self._cloud, "routers", "/routers", "routers", names)

    def _record_router(self, router: Json, *, found: bool) -> None:
        self._record(CloudResource(kind="router", name=router["name"], id=router["id"], found=found))

    def _bring_up(self, planned: CloudRouter, subnets: Mapping[str, Json], existing: Sequence[Json]) -> ActiveRouter:
        existing_router = self._find(planned, existing)
        router = existing_router or self._create(planned.name, {})
        self._record_router(router, found=existing_router is not None)
        sides = [self._find_subnet(planned, network, subnets) for network in planned.networks]
        interfaces = list_router_interfaces(self._cloud, planned.name, router["id"])
        missing = [subnet for subnet in sides if subnet["id"] not in interfaces]
        for subnet in missing:
            self._attach(router, subnet)
        if missing:
            interfaces = list_router_interfaces(self._cloud, planned.name, router["id"])
        self._set_routes(planned, router)
        left, right = (interfaces[subnet["id"]] for subnet in sides)
        return ActiveRouter(planned.name, router["id"], (left[0], right[0]), (left[1], right[1]))

    def _find_subnet(self, planned: CloudRouter, network: str, subnets: Mapping[str, Json]) -> Json:
        if network not in subnets:
            raise StageError(
                f"cloud {self._cloud.name}: router {planned.name} cannot be attached to network {network}: no known "
                "subnet; set its subnet and addresses (subnet, cidr, gateway)"
            )
        return subnets[network]

    def _find(self, planned: CloudRouter, existing: Sequence[Json]) -> Json | None:
        """Find the project's router by name. Raises StageError if nodrop did not create it and it lacks routes."""
        own_routers = [
            each for each in existing if each["name"] == planned.name and each["project_id"] == self._cloud.project_id
        ]
        router = select_single_match(self._cloud, "router", planned.name, own_routers)
        if router and not is_tagged("router", router):
            planned_routes, existing_routes = _list_routes(planned), _list_pairs(router.get("routes") or [])
            if not planned_routes <= existing_routes:
                raise StageError(
                    f"cloud {self._cloud.name}: Mismatch of 'routes' for reused router {planned.name}: "
                    f"{_format_routes(existing_routes)} instead of {_format_routes(planned_routes)}, "
                    "and nodrop did not create it; add them, or name another router"
                )
        return router

    def _create(self, name: str, more: Json) -> Json:
        body = {"name": name, "description": build_ownership_tag(self._label), **more}

        def find_existing() -> Json | None:
            own_routers = (
                each for each in self._list_named([name]) if each.get("description") == build_ownership_tag(self._label)
            )
            return next(({"router": each} for each in own_routers), None)

        post = Post("network", "/routers", {"router": body})
        router: Json = rest.create_resource(self._cloud, f"create router {name}", post, find_existing)["router"]
        return router

    def _attach(self, router: Json, subnet: Json) -> None:
        """Give a router an interface: on the subnet's gateway address if it has one, else on the first free address."""
        name = router["name"]
        action = f"attach router {name} to subnet {subnet.get('name') or subnet['id']}"
        body = (
            {"subnet_id": subnet["id"]}
            if subnet.get("gateway_ip")
            else {"port_id": self._ensure_port(name, subnet)["id"]}
        )
        try:
            rest.update_resource(self._cloud, action, "network", f"/routers/{router['id']}/add_router_interface", body)
        except StageError:
            # otherwise a reply was lost, and the retry found the interface attached
            if subnet["id"] not in list_router_interfaces(self._cloud, name, router["id"]):
                raise

    def _ensure_port(self, router: str, subnet: Json) -> Json:
        name = f"{router}-{subnet.get('name') or subnet['id']}"
        body = {
            "name": name,
            "description": build_ownership_tag(self._label),
            "network_id": subnet["network_id"],
            "fixed_ips": [{"subnet_id": subnet["id"]}],
        }

        def find_existing() -> Json | None:
            existing = rest.list_by_name(self._cloud, "ports", "/ports", "ports", [name])
            return next(
                ({"port": each} for each in existing if each.get("description") == build_ownership_tag(self._label)),
                None,
            )

        post = Post("network", "/ports", {"port": body})
        port: Json = rest.create_resource(self._cloud, f"create port {name}", post, find_existing)["port"]
        return port

    def _set_routes(self, planned: CloudRouter, router: Json) -> None:
        """Set exactly the planned routes, on a router that nodrop created."""
        planned_routes = _list_routes(planned)
        if planned_routes == _list_pairs(router.get("routes") or []) or not is_tagged("router", router):
            return
        routes = [{"destination": prefix, "nexthop": via} for prefix, via in sorted(planned_routes)]
        request_text = f"set the routes {_format_routes(planned_routes)} of router {planned.name}"
        rest.update_resource(
            self._cloud, request_text, "network", f"/routers/{router['id']}", {"router": {"routes": routes}}
        )


def list_router_interfaces(cloud: Cloud, name: str, router_id: str) -> dict[str, tuple[str, str]]:
    """Return address and MAC of a router's interfaces by subnet. Raises StageError."""
    return {
        fixed["subnet_id"]: (fixed["ip_address"], port["mac_address"])
        for port in _list_interfaces(cloud, name, router_id)
        for fixed in port["fixed_ips"]
    }


def detach_router(cloud: Cloud, router: CloudResource) -> None:
    """Remove a router's routes and interfaces, if it still exists, so that it can be deleted. Raises StageError."""
    path = f"/routers/{router.id}"
    _update_existing(cloud, router, path, {"router": {"routes": []}})
    for port in _list_interfaces(cloud, router.name, router.id):
        _update_existing(cloud, router, f"{path}/remove_router_interface", {"port_id": port["id"]})


def _update_existing(cloud: Cloud, router: CloudResource, path: str, body: Json) -> None:
    try:
        rest.update_resource(cloud, f"detach router {router.name}", "network", path, body)
    except CloudError as refused:
        if refused.status != NOT_FOUND:
            raise


def _list_interfaces(cloud: Cloud, name: str, router_id: str) -> list[Json]:
    ports = rest.list_resources(cloud, f"ports of router {name}", "network", f"/ports?device_id={router_id}", "ports")
    return [port for port in ports if _is_interface(port)]


def _is_interface(port: Json) -> bool:
    return INTERFACE in str(port.get("device_owner"))


def _list_routes(planned: CloudRouter) -> set[tuple[str, str]]:
    return {(route.prefix, route.via) for route in planned.routes}


def _list_pairs(routes: Sequence[Json]) -> set[tuple[str, str]]:
    return {(each["destination"], each["nexthop"]) for each in routes}


def _format_routes(routes: set[tuple[str, str]]) -> str:
    return ", ".join(f"{prefix} via {via}" for prefix, via in sorted(routes)) or "none"


class FloatingIps:
    """Creates or reuses floating IPs."""

    def __init__(self, cloud: Cloud, plan: CloudPlan, on_resource: OnResource) -> None:
        """Prepare for a cloud and a plan; `on_resource` receives each router and address."""
        self._cloud = cloud
        self._plan = plan
        self._record = on_resource

    def allocate(
        self, networks: Mapping[str, Json], subnets: Mapping[str, Json], ports: Mapping[str, Json]
    ) -> dict[str, str]:
        """Give each planned server its floating IP.

        Args:
            networks: by name.
            subnets: by name of their network.
            ports: by name.

        Returns: the addresses by server name. Raises StageError.
        """
        planned = {server.name: ports[server.ports[-1].name] for server in self._plan.servers if server.floating_ip}
        if not planned:
            return {}
        outside, inside = networks[self._find_network("floating")], self._find_network("management")
        self._refuse(outside, inside, subnets)
        routers = Routers(self._cloud, self._plan.label, self._record)
        routers.ensure_gateway(f"{inside}-router", subnets[inside], outside)
        path = f"/floatingips?project_id={self._cloud.project_id}"
        existing = rest.list_resources(self._cloud, "floating IPs", "network", path, "floatingips")
        of_ports = {each["port_id"]: each for each in existing if each.get("port_id")}
        return {
            name: self._ensure_address(name, port, outside, of_ports.get(port["id"])) for name, port in planned.items()
        }

    def _find_network(self, role: NetworkRole) -> str:
        return next(network.name for network in self._plan.networks if network.role == role)

    def _refuse(self, outside: Json, inside: str, subnets: Mapping[str, Json]) -> None:
        problem = f"cloud {self._cloud.name}: network {outside['name']} cannot provide floating IPs"
        if not outside.get("router:external"):
            raise StageError(f"{problem}: it is not external; name one of `openstack network list --external`")
        if inside not in subnets:
            raise StageError(f"{problem}: no known subnet of network {inside}; set its subnet")

    def _ensure_address(self, server: str, port: Json, outside: Json, existing: Json | None) -> str:
        body = {
            "floating_network_id": outside["id"],
            "port_id": port["id"],
            "description": build_ownership_tag(self._plan.label),
        }

        def find_existing() -> Json | None:
            path = f"/floatingips?port_id={port['id']}"
            floating_ips = rest.list_resources(self._cloud, "floating IPs", "network", path, "floatingips")
            return next(({"floatingip": each} for each in floating_ips if is_tagged("floating_ip", each)), None)

        action = f"allocate a floating IP of {outside['name']} for server {server}"
        post = Post("network", "/floatingips", {"floatingip": body})
        floating: Json = existing or rest.create_resource(self._cloud, action, post, find_existing)["floatingip"]
        address = str(floating["floating_ip_address"])
        self._record(CloudResource(kind="floating_ip", name=address, id=floating["id"], found=existing is not None))
        return address
