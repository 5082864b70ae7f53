"""Floating addresses: by which VMs can be logged in to from outside of the cloud.

Source: https://docs.openstack.org/api-ref/network/v2/#floating-ips-floatingips
"""

from collections.abc import Mapping

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudResource, NetworkRole
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.existing_resources import is_ours
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import mark
from nodrop.stage.openstack.rest import Json, Post
from nodrop.stage.openstack.routers import Record, Routers


class Floating:
    """Makes floating addresses, or takes those that are there."""

    def __init__(self, cloud: Cloud, plan: CloudPlan, record: Record) -> None:
        """Where, what is to stand there, and who is told of each router and address."""
        self._cloud = cloud
        self._plan = plan
        self._record = record

    def allocate(
        self, networks: Mapping[str, Json], subnets: Mapping[str, Json], ports: Mapping[str, Json]
    ) -> dict[str, str]:
        """Give each server that is to have one a floating address.

        Args:
            networks: by name.
            subnets: by the name of their network.
            ports: by name.

        Returns: the addresses, by the server's name. Raises StageError.
        """
        wanted = {server.name: ports[server.ports[-1].name] for server in self._plan.servers if server.floating_ip}
        if not wanted:
            return {}
        outside, inside = networks[self._network("floating")], self._network("management")
        self._refuse(outside, inside, subnets)
        routers = Routers(self._cloud, self._plan.label, self._record)
        routers.way_out(f"{inside}-router", subnets[inside], outside)
        path = f"/floatingips?project_id={self._cloud.project_id}"
        there = rest.listed(self._cloud, "floating IPs", "network", path, "floatingips")
        of_ports = {each["port_id"]: each for each in there if each.get("port_id")}
        return {name: self._address(name, port, outside, of_ports.get(port["id"])) for name, port in wanted.items()}

    def _network(self, role: NetworkRole) -> str:
        return next(network.name for network in self._plan.networks if network.role == role)

    def _refuse(self, outside: Json, inside: str, subnets: Mapping[str, Json]) -> None:
        asked = f"cloud {self._cloud.name}: floating addresses asked of network {outside['name']}"
        if not outside.get("router:external"):
            raise StageError(f"{asked}, which is not external; name one of `openstack network list --external`")
        if inside not in subnets:
            raise StageError(f"{asked}, no subnet of network {inside} is known here; name its subnet")

    def _address(self, server: str, port: Json, outside: Json, found: Json | None) -> str:
        body = {"floating_network_id": outside["id"], "port_id": port["id"], "description": mark(self._plan.label)}

        def look() -> Json | None:
            path = f"/floatingips?port_id={port['id']}"
            made = rest.listed(self._cloud, "floating IPs", "network", path, "floatingips")
            return next(({"floatingip": each} for each in made if is_ours("floating_ip", each)), None)

        asked = f"give server {server} a floating address of {outside['name']}"
        post = Post("network", "/floatingips", {"floatingip": body})
        floating: Json = found or rest.made(self._cloud, asked, post, look)["floatingip"]
        address = str(floating["floating_ip_address"])
        self._record(CloudResource(kind="floating_ip", name=address, id=floating["id"], found=found is not None))
        return address
