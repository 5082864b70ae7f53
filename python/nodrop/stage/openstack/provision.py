"""Creation of the resources that servers need, unless they exist.

Dependencies come first. Every resource is recorded before the next request, so that a failed stage can delete all of
them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from nodrop.model.cloud import CloudFlavor, CloudImage, CloudPlan, CloudResource, ResourceKind
from nodrop.stage.openstack import image, inventory, request_bodies, rest
from nodrop.stage.openstack.inventory import Inventory
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import build_flavor_tag
from nodrop.stage.openstack.requests import CloudError
from nodrop.stage.openstack.rest import Json, Post
from nodrop.stage.openstack.routers import ActiveRouter, FloatingIps, Routers

AT_ONCE = 20
"""Neutron resources per request: creating one takes up to half a second, and a reply must arrive within a minute."""
BAD_REQUEST, FORBIDDEN = 400, 403
OnStep = Callable[[str, int], None]
"""Receives the current step and the number of resources that it completed."""


class Provisioner:
    """Creates the missing resources and records all."""

    def __init__(self, cloud: Cloud, plan: CloudPlan, existing: Inventory, on_step: OnStep) -> None:
        self._cloud = cloud
        self._plan = plan
        self._existing = existing
        self._report = on_step
        self.resources: list[CloudResource] = []
        """In order of creation or discovery."""
        self.image: Json = {}
        self.flavor: Json = {}
        self.networks: dict[str, Json] = {}
        """By name."""
        self.subnets: dict[str, Json] = {}
        """By name of the network."""
        self.ports: dict[str, Json] = {}
        """By name."""
        self.routers: tuple[ActiveRouter, ...] = ()
        """In the plan's order."""

    def record(self, kind: ResourceKind, resource: Json, *, found: bool = False) -> None:
        """Record a resource."""
        self._add(CloudResource(kind=kind, name=resource["name"] or resource["id"], id=resource["id"], found=found))

    def create_networks(self) -> None:
        """Create the missing image, flavor, networks and subnets. Raises StageError."""
        plan, existing = self._plan, self._existing
        if plan.image and plan.servers:
            self.image = self._reuse("image", existing.image) or self._upload(plan.image)
            image.set_properties(self._cloud, plan.image, self.image)
        if plan.flavor and plan.servers:
            self.flavor = self._reuse("flavor", existing.flavor) or self._create_flavor(plan.flavor)
        self._create_networks()
        self._create_subnets()

    def create_ports(self) -> None:
        """Create the missing ports and routers. Raises StageError."""
        self._create_ports()
        self.routers = Routers(self._cloud, self._plan.label, self._add).ensure_routers(
            self._plan.routers, self.subnets
        )

    def allocate_floating_ips(self) -> dict[str, str]:
        """Return floating IPs by server name, creating the missing ones. Raises StageError."""
        return FloatingIps(self._cloud, self._plan, self._add).allocate(self.networks, self.subnets, self.ports)

    def ensure_server_group(self, name: str, policy: str) -> Json:
        """Return a server group, creating it if needed. Raises StageError."""
        if existing_group := self._reuse("server_group", self._existing.groups.get(name)):
            return existing_group
        body = {"server_group": {"name": name, "policy": policy}}
        action = f"create server group {name} with policy {policy}"

        def find_existing() -> Json | None:
            existing = inventory.list_groups(self._cloud).get(name)
            return {"server_group": existing} if existing else None

        group: Json = rest.create_resource(
            self._cloud, action, Post("compute", "/os-server-groups", body), find_existing
        )["server_group"]
        self.record("server_group", group)
        return group

    def _add(self, resource: CloudResource) -> None:
        self.resources.append(resource)
        if resource.kind in ("router", "floating_ip"):
            self._report(
                f"{resource.kind.replace('_', ' ')} {resource.name} {'exists' if resource.found else 'created'}", 1
            )

    def _reuse(self, kind: ResourceKind, existing: Json | None) -> Json | None:
        if existing:
            self.record(kind, existing, found=True)
            self._report(f"{kind.replace('_', ' ')} {existing['name']} exists", 1)
        return existing

    def _upload(self, planned: CloudImage) -> Json:
        self._report(f"uploading image {planned.name}", 0)
        uploaded = image.upload_image(
            self._cloud,
            planned,
            self._plan.label,
            lambda begun: self.record("image", begun),
            lambda share: self._report(f"image {planned.name}: {share:.0%} sent", 0),
        )
        self._report(f"image {planned.name} created", 1)
        return uploaded

    def _create_flavor(self, planned: CloudFlavor) -> Json:
        body = {"flavor": request_bodies.build_flavor_body(planned, self._plan.label, self._cloud.project_id)}

        def find_existing() -> Json | None:
            own_tag = build_flavor_tag(self._plan.label, self._cloud.project_id)
            existing = (each for each in inventory.list_flavors(self._cloud) if each["name"] == planned.name)
            return next(({"flavor": each} for each in existing if each.get("description") == own_tag), None)

        flavor: Json = rest.create_resource(
            self._cloud, f"create flavor {planned.name}", Post("compute", "/flavors", body), find_existing
        )["flavor"]
        self.record("flavor", flavor)
        if planned.extra_specs:
            self._set_extra_specs(planned, flavor["id"])
        self._report(f"flavor {planned.name} created", 1)
        return flavor

    def _set_extra_specs(self, planned: CloudFlavor, flavor_id: str) -> None:
        pairs = ", ".join(f"{key}={value}" for key, value in planned.extra_specs.items())
        action = f"set the extra specs {pairs} of flavor {planned.name}"
        path, body = f"/flavors/{flavor_id}/os-extra_specs", {"extra_specs": planned.extra_specs}
        rest.create_resource(self._cloud, action, Post("compute", path, body, rest.VALIDATED_SPECS), lambda: None)

    def _create_networks(self) -> None:
        bodies_by_name = {
            planned.name: request_bodies.build_network_body(planned, self._plan.label, is_admin=self._cloud.is_admin)
            for planned in self._plan.networks
        }
        self._reuse_all("network", bodies_by_name, self._existing.networks, self.networks)
        self._create_missing("network", bodies_by_name, self.networks)

    def _create_subnets(self) -> None:
        planned = {
            network.name: request_bodies.build_subnet_body(network, self._plan.label, self.networks[network.name]["id"])
            for network in self._plan.networks
            if network.subnet and not network.must_exist
        }
        existing = [network.name for network in self._plan.networks if network.must_exist]
        self._reuse_all("subnet", dict.fromkeys([*existing, *planned]), self._existing.subnets, self.subnets)
        self._create_missing("subnet", planned, self.subnets)

    def _create_ports(self) -> None:
        self._reuse_all("port", self._build_port_bodies(), self._existing.ports, self.ports)
        try:
            self._create_missing("port", self._build_port_bodies(), self.ports)
        except CloudError as refused:
            if refused.status not in (BAD_REQUEST, FORBIDDEN) or "port_security" not in str(refused):
                raise
            self._report("port security cannot be disabled in this cloud; ports allow every address instead", 0)
            self._create_missing("port", self._build_port_bodies(secure=True), self.ports)

    def _build_port_bodies(self, *, secure: bool = False) -> dict[str, Json]:
        return {
            port.name: request_bodies.build_port_body(
                port,
                self._plan.label,
                self.networks[port.network]["id"],
                request_bodies.build_fixed_address(server, port, self.subnets.get(port.network)),
                secure=secure,
            )
            for server in self._plan.servers
            for port in server.ports
        }

    def _reuse_all(
        self,
        kind: ResourceKind,
        planned: Mapping[str, Any],
        existing: Mapping[str, Json],
        resources_by_name: dict[str, Json],
    ) -> None:
        """Reuse the existing resources."""
        for key in planned:
            if key in existing and (resource := self._reuse(kind, existing[key])):
                resources_by_name[key] = resource

    def _create_missing(
        self,
        kind: Literal["network", "subnet", "port"],
        planned: Mapping[str, Json],
        resources_by_name: dict[str, Json],
    ) -> None:
        """Create the missing resources, many per request."""
        missing = [key for key in planned if key not in resources_by_name]
        for first in range(0, len(missing), AT_ONCE):
            keys = missing[first : first + AT_ONCE]
            for key, resource in zip(keys, self._create_batch(kind, [planned[key] for key in keys]), strict=True):
                resources_by_name[key] = resource
                self.record(kind, resource)
            self._report(f"{kind}s created: {first + len(keys)} of {len(missing)}", len(keys))

    def _create_batch(self, kind: Literal["network", "subnet", "port"], planned: list[Json]) -> list[Json]:
        path, key = f"/{kind}s", f"{kind}s"
        names = [each["name"] for each in planned]
        action = f"create {key} {', '.join(names[:4])}" + (f" and {len(names) - 4} more" if len(names) > 4 else "")

        def find_existing() -> Json | None:
            """Return all of them or None: Neutron creates all resources of a request or none."""
            existing = rest.list_by_name(self._cloud, key, path, key, names)
            matches = [next((each for each in existing if _matches(each, body)), None) for body in planned]
            return {key: matches} if all(matches) else None

        created: list[Json] = rest.create_resource(
            self._cloud, action, Post("network", path, {key: planned}), find_existing
        )[key]
        return created


def _matches(existing: Json, body: Json) -> bool:
    """Return whether an existing resource is what this request would create."""
    return all(existing.get(each) == body[each] for each in ("name", "description", "network_id") if each in body)
