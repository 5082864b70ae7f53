"""What a plan asks for, made in a cloud as far as it is not there: all that servers stand on.

In the order in which one needs the other. Everything is on record before the next is asked for, so that all of it can
be taken away whatever happens.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from nodrop.model.cloud import CloudFlavor, CloudImage, CloudPlan, CloudResource, ResourceKind
from nodrop.stage.openstack import image, inventory, request_bodies, rest
from nodrop.stage.openstack.api_errors import Refused
from nodrop.stage.openstack.floating import Floating
from nodrop.stage.openstack.inventory import Inventory
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import flavor_mark
from nodrop.stage.openstack.rest import Json, Post
from nodrop.stage.openstack.routers import Routers, StandingRouter

AT_ONCE = 20
"""Resources of Neutron in a request: one takes up to half a second, and no answer may take a minute."""
BAD_REQUEST, FORBIDDEN = 400, 403
Tell = Callable[[str, int], None]
"""Hears what is done now, and how many things more are there."""


class Making:
    """Makes what is not there, and knows of all that is."""

    def __init__(self, cloud: Cloud, plan: CloudPlan, there: Inventory, tell: Tell) -> None:
        self._cloud = cloud
        self._plan = plan
        self._there = there
        self._tell = tell
        self.resources: list[CloudResource] = []
        """In the order in which they were made or found."""
        self.image: Json = {}
        self.flavor: Json = {}
        self.networks: dict[str, Json] = {}
        """By name."""
        self.subnets: dict[str, Json] = {}
        """By the network's name."""
        self.ports: dict[str, Json] = {}
        """By name."""
        self.routers: tuple[StandingRouter, ...] = ()
        """In the plan's order."""

    def record(self, kind: ResourceKind, made: Json, *, found: bool = False) -> None:
        """Put something on record."""
        self._keep(CloudResource(kind=kind, name=made["name"] or made["id"], id=made["id"], found=found))

    def make_networks(self) -> None:
        """What is not there of image, flavor, networks and subnets. Raises StageError."""
        plan, there = self._plan, self._there
        if plan.image and plan.servers:
            self.image = self._found("image", there.image) or self._upload(plan.image)
            image.give_properties(self._cloud, plan.image, self.image)
        if plan.flavor and plan.servers:
            self.flavor = self._found("flavor", there.flavor) or self._make_flavor(plan.flavor)
        self._make_networks()
        self._make_subnets()

    def make_ports(self) -> None:
        """What is not there of ports and routers. Raises StageError."""
        self._make_ports()
        self.routers = Routers(self._cloud, self._plan.label, self._keep).bring_up(self._plan.routers, self.subnets)

    def addresses(self) -> dict[str, str]:
        """Floating addresses, by the server's name. Raises StageError."""
        return Floating(self._cloud, self._plan, self._keep).allocate(self.networks, self.subnets, self.ports)

    def group(self, name: str, policy: str) -> Json:
        """A server group. Raises StageError."""
        if found := self._found("server_group", self._there.groups.get(name)):
            return found
        body = {"server_group": {"name": name, "policy": policy}}
        asked = f"create server group {name} of policy {policy}"

        def look() -> Json | None:
            there = inventory.groups(self._cloud).get(name)
            return {"server_group": there} if there else None

        made: Json = rest.made(self._cloud, asked, Post("compute", "/os-server-groups", body), look)["server_group"]
        self.record("server_group", made)
        return made

    def _keep(self, resource: CloudResource) -> None:
        self.resources.append(resource)
        if resource.kind in ("router", "floating_ip"):
            self._tell(
                f"{resource.kind.replace('_', ' ')} {resource.name} {'is there' if resource.found else 'made'}", 1
            )

    def _found(self, kind: ResourceKind, there: Json | None) -> Json | None:
        if there:
            self.record(kind, there, found=True)
            self._tell(f"{kind.replace('_', ' ')} {there['name']} is there", 1)
        return there

    def _upload(self, wanted: CloudImage) -> Json:
        self._tell(f"image {wanted.name} is uploaded", 0)
        made = image.upload(
            self._cloud,
            wanted,
            self._plan.label,
            lambda begun: self.record("image", begun),
            lambda share: self._tell(f"image {wanted.name}: {share:.0%} sent", 0),
        )
        self._tell(f"image {wanted.name} made", 1)
        return made

    def _make_flavor(self, wanted: CloudFlavor) -> Json:
        body = {"flavor": request_bodies.flavor(wanted, self._plan.label, self._cloud.project_id)}

        def look() -> Json | None:
            ours = flavor_mark(self._plan.label, self._cloud.project_id)
            there = (each for each in inventory.flavors(self._cloud) if each["name"] == wanted.name)
            return next(({"flavor": each} for each in there if each.get("description") == ours), None)

        made: Json = rest.made(self._cloud, f"create flavor {wanted.name}", Post("compute", "/flavors", body), look)[
            "flavor"
        ]
        self.record("flavor", made)
        if wanted.extra_specs:
            self._give_extra_specs(wanted, made["id"])
        self._tell(f"flavor {wanted.name} made", 1)
        return made

    def _give_extra_specs(self, wanted: CloudFlavor, flavor_id: str) -> None:
        pairs = ", ".join(f"{key}={value}" for key, value in wanted.extra_specs.items())
        asked = f"give flavor {wanted.name} the extra specs {pairs}"
        path, body = f"/flavors/{flavor_id}/os-extra_specs", {"extra_specs": wanted.extra_specs}
        rest.made(self._cloud, asked, Post("compute", path, body, rest.CHECKED_SPECS), lambda: None)

    def _make_networks(self) -> None:
        bodies_by_name = {
            wanted.name: request_bodies.network(wanted, self._plan.label, is_admin=self._cloud.is_admin)
            for wanted in self._plan.networks
        }
        self._take("network", bodies_by_name, self._there.networks, self.networks)
        self._make("network", bodies_by_name, self.networks)

    def _make_subnets(self) -> None:
        wanted = {
            network.name: request_bodies.subnet(network, self._plan.label, self.networks[network.name]["id"])
            for network in self._plan.networks
            if network.subnet and not network.must_exist
        }
        found = [network.name for network in self._plan.networks if network.must_exist]
        self._take("subnet", dict.fromkeys([*found, *wanted]), self._there.subnets, self.subnets)
        self._make("subnet", wanted, self.subnets)

    def _make_ports(self) -> None:
        self._take("port", self._port_bodies(), self._there.ports, self.ports)
        try:
            self._make("port", self._port_bodies(), self.ports)
        except Refused as refused:
            if refused.status not in (BAD_REQUEST, FORBIDDEN) or "port_security" not in str(refused):
                raise
            self._tell("port security cannot be switched off here; ports let every address through instead", 0)
            self._make("port", self._port_bodies(secure=True), self.ports)

    def _port_bodies(self, *, secure: bool = False) -> dict[str, Json]:
        return {
            port.name: request_bodies.port(
                port,
                self._plan.label,
                self.networks[port.network]["id"],
                request_bodies.fixed_address(server, port, self.subnets.get(port.network)),
                secure=secure,
            )
            for server in self._plan.servers
            for port in server.ports
        }

    def _take(
        self, kind: ResourceKind, wanted: Mapping[str, Any], there: Mapping[str, Json], known: dict[str, Json]
    ) -> None:
        """What is there is taken."""
        for key in wanted:
            if key in there and (found := self._found(kind, there[key])):
                known[key] = found

    def _make(
        self, kind: Literal["network", "subnet", "port"], wanted: Mapping[str, Json], known: dict[str, Json]
    ) -> None:
        """What is not known is made, many by a request."""
        missing = [key for key in wanted if key not in known]
        for first in range(0, len(missing), AT_ONCE):
            keys = missing[first : first + AT_ONCE]
            for key, made in zip(keys, self._made(kind, [wanted[key] for key in keys]), strict=True):
                known[key] = made
                self.record(kind, made)
            self._tell(f"{kind}s made: {first + len(keys)} of {len(missing)}", len(keys))

    def _made(self, kind: Literal["network", "subnet", "port"], wanted: list[Json]) -> list[Json]:
        path, key = f"/{kind}s", f"{kind}s"
        names = [each["name"] for each in wanted]
        asked = f"create {key} {', '.join(names[:4])}" + (f" and {len(names) - 4} more" if len(names) > 4 else "")

        def look() -> Json | None:
            """All of them, or none: Neutron makes all of a request or nothing."""
            there = rest.named(self._cloud, key, path, key, names)
            found = [next((each for each in there if _is(each, body)), None) for body in wanted]
            return {key: found} if all(found) else None

        made: list[Json] = rest.made(self._cloud, asked, Post("network", path, {key: wanted}), look)[key]
        return made


def _is(there: Json, body: Json) -> bool:
    """Whether it is what this request would make."""
    return all(there.get(each) == body[each] for each in ("name", "description", "network_id") if each in body)
