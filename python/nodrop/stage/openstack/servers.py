"""Loopback VMs: asked for all at once where none needs another's host, then waited for, with one list a look."""

import time
from collections.abc import Callable, Sequence

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudServer
from nodrop.stage.openstack import existing_resources, guest_config, inventory, request_bodies, rest, server_faults
from nodrop.stage.openstack.guest_config import Guest
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import group_name
from nodrop.stage.openstack.provision import Making
from nodrop.stage.openstack.request_bodies import Booting
from nodrop.stage.openstack.rest import Json, Post

EACH_FURTHER_S = 10.0
"""More time for each server but the first."""
GONE_S = 120.0
HOST = "OS-EXT-SRV-ATTR:host"
"""Told to administrators alone."""
HOST_ID = "hostId"
"""Told to everybody: the same for all servers of a project on a host."""
FAILED = ("ERROR", "DELETED", "SHUTOFF", "UNKNOWN")


class Servers:
    """The VMs of a plan."""

    def __init__(self, cloud: Cloud, plan: CloudPlan, making: Making, tell: Callable[[str, int], None]) -> None:
        self._cloud = cloud
        self._plan = plan
        self._making = making
        self._tell = tell
        self._groups: dict[int | None, Json] = {}
        self._told: dict[str, str] = {}
        """User data, by name."""
        self.found: dict[str, Json] = {}
        """By name, as Nova told of them last."""
        self.restaged: set[str] = set()

    @property
    def group_count(self) -> int:
        """How many server groups there are to be."""
        return group_count(self._plan, is_admin=self._cloud.is_admin)

    def stand(self, there: Sequence[Json]) -> None:
        """Take those that fit, make the others, and wait until all are ACTIVE. Raises StageError."""
        self._told = {server.name: self._user_data(server) for server in self._plan.servers}
        missing = [server for server in self._plan.servers if not self._take(server, there)]
        self._make(missing)

    def restage(self, chains: Sequence[int]) -> None:
        """Make these chains' servers anew, on the same ports. Raises StageError."""
        again = [server for server in self._plan.servers if server.chain in chains]
        self._take_away([self.found.pop(server.name) for server in again])
        self.restaged |= {server.name for server in again}
        self._make(again)

    def look(self) -> dict[str, Json]:
        """How they are now, by name; those that are gone are not in it."""
        listed = {server["id"]: server for server in inventory.servers(self._cloud)}
        return {name: listed[server["id"]] for name, server in self.found.items() if server["id"] in listed}

    def _take(self, server: CloudServer, there: Sequence[Json]) -> bool:
        standing = existing_resources.find_server(
            self._cloud,
            server,
            there,
            flavor=self._making.flavor["name"],
            image_id=self._making.image["id"],
            ports=[self._making.ports[port.name] for port in server.ports],
            user_data_digest=guest_config.digest(self._told[server.name]),
        )
        if standing is None:
            return False
        if standing.differences:
            self._tell(f"server {server.name} is made anew ({'; '.join(standing.differences)})", 0)
            self._take_away([standing.found])
            return False
        self.found[server.name] = standing.found
        self._making.record("server", self.found[server.name], found=True)
        self._tell(f"server {server.name} is there", 1)
        return True

    def _user_data(self, server: CloudServer) -> str:
        chain = [each for each in self._plan.servers if each.chain == server.chain]
        macs = [tuple(self._making.ports[port.name]["mac_address"] for port in each.ports) for each in chain]
        index = chain.index(server)
        ends = self._plan.tester_macs or (None, None)
        known = Guest(
            macs=macs[index],
            neighbors=guest_config.neighbors(chain, index, macs, (None, None) if self._plan.routers else ends),
            management=self._management(server),
        )
        return guest_config.user_data(
            server, known, queue_count=self._plan.multiqueue, mbuf_count=self._plan.mbuf_count
        )

    def _management(self, server: CloudServer) -> tuple[str, str, str | None] | None:
        roles = {network.name: network.role for network in self._plan.networks}
        for port in server.ports:
            if roles.get(port.network) != "management":
                continue
            made = self._making.ports[port.name]
            subnet = self._making.subnets.get(port.network)
            if not made["fixed_ips"] or subnet is None:
                return made["mac_address"], "", None
            length = subnet["cidr"].partition("/")[2]
            return made["mac_address"], f"{made['fixed_ips'][0]['ip_address']}/{length}", subnet.get("gateway_ip")
        return None

    def _make(self, servers: Sequence[CloudServer]) -> None:
        """Those of a chain that have to be on the first one's host are asked for when it is known."""
        end_s = time.monotonic() + self._plan.active_timeout_s + EACH_FURTHER_S * (len(servers) - 1)
        first_hop = [server for server in servers if not self._waits(server)]
        later = [server for server in servers if self._waits(server)]
        for server in first_hop:
            self._request(server)
        if later:
            self._await(first_hop, lambda found: bool(found.get(HOST)), end_s, "has a host")
            for server in later:
                self._request(server)
        if servers:
            self._tell(f"{len(servers)} server{'s' if len(servers) > 1 else ''} asked for, not ACTIVE yet", 0)
        self._await(servers, lambda found: found["status"] == "ACTIVE", end_s, "is ACTIVE")

    def _waits(self, server: CloudServer) -> bool:
        """Whether it can only be asked for when another's host is known."""
        return bool(server.hop) and self._plan.same_host and not self._plan.hosts and self._cloud.is_admin

    def _request(self, server: CloudServer) -> None:
        body = request_bodies.server(server, self._plan, self._booting(server))

        def look() -> Json | None:
            """By its name and by what it was told, for all its ports are in there."""
            metadata = body["server"]["metadata"]
            there = (each for each in inventory.servers(self._cloud) if each["name"] == server.name)
            return next(({"server": each} for each in there if each["metadata"] == metadata), None)

        asked = f"create server {server.name}" + (f" on {self._host(server)}" if self._host(server) else "")
        made: Json = rest.made(self._cloud, asked, Post("compute", "/servers", body), look)["server"]
        self.found[server.name] = {"status": "BUILD", **made, "name": server.name}
        self._making.record("server", self.found[server.name])

    def _booting(self, server: CloudServer) -> Booting:
        group = self._group(server)
        return Booting(
            image_id=self._making.image["id"],
            flavor_id=self._making.flavor["id"],
            port_ids=tuple(self._making.ports[port.name]["id"] for port in server.ports),
            user_data=self._told[server.name],
            group_id=group["id"] if group else None,
            host=self._host(server),
        )

    def _host(self, server: CloudServer) -> str | None:
        if hosts := self._plan.hosts:
            return hosts[server.chain % len(hosts)]
        if self._waits(server):
            first = next(each for each in self._plan.servers if each.chain == server.chain)
            return str(self.found[first.name][HOST])
        return None

    def _group(self, server: CloudServer) -> Json | None:
        """The one of all; or, so that a chain is on one host though its hosts are told to nobody, one of its own."""
        key = None if self._plan.server_group else server.chain
        if key is not None and not self.group_count:
            return None
        if key not in self._groups:
            name = group_name(self._plan.label, key)
            self._groups[key] = self._making.group(name, self._plan.server_group or "affinity")
        return self._groups[key]

    def _await(self, servers: Sequence[CloudServer], is_done: Callable[[Json], bool], end_s: float, what: str) -> None:
        """Until all are so. Raises StageError for the first that never will be, and when the time is over."""
        waiting = {server.name: server for server in servers}
        while waiting:
            now = self.look()
            for name, server in list(waiting.items()):
                found = now.get(name, {"status": "DELETED"})
                if found["status"] in FAILED:
                    raise StageError(f"cloud {self._cloud.name}: {server_faults.reason(server, self._plan, found)}")
                self.found[name] = {**self.found[name], **found}
                if is_done(found):
                    del waiting[name]
                    self._tell(f"server {name} {what}", what == "is ACTIVE")
            if waiting and time.monotonic() > end_s:
                raise StageError(self._too_late(list(waiting), len(servers)))
            if waiting:
                time.sleep(self._plan.poll_s)

    def _too_late(self, waiting: Sequence[str], count: int) -> str:
        first = self.found[waiting[0]]
        task = first.get("OS-EXT-STS:task_state")
        return (
            f"cloud {self._cloud.name}: {count} server{'s' if count > 1 else ''} asked to become ACTIVE within "
            f"{self._plan.active_timeout_s + EACH_FURTHER_S * (count - 1):g} s, {len(waiting)} did not, first "
            f"{waiting[0]}, which is {first['status']}{f' ({task})' if task else ''}; allow more time "
            "(openstack.active_timeout), or look into nova-compute's log on its host"
        )

    def _take_away(self, servers: Sequence[Json]) -> None:
        """Delete them and wait until they are gone, so that their ports are free."""
        for server in servers:
            rest.deleted(self._cloud, f"delete server {server['name']}", "compute", f"/servers/{server['id']}")
        gone = {server["id"] for server in servers}
        self._making.resources[:] = [each for each in self._making.resources if each.id not in gone]
        end_s = time.monotonic() + GONE_S
        while any(each["id"] in gone for each in inventory.servers(self._cloud)):
            if time.monotonic() > end_s:
                names = ", ".join(server["name"] for server in servers)
                raise StageError(
                    f"cloud {self._cloud.name}: servers {names} deleted, they are still there after {GONE_S:g} s; "
                    "look into nova-compute's log, then run nodrop cleanup"
                )
            time.sleep(self._plan.poll_s)


def group_count(plan: CloudPlan, *, is_admin: bool) -> int:
    """How many server groups a plan needs."""
    if plan.server_group:
        return 1
    chains = {server.chain for server in plan.servers if server.hop}
    return len(chains) if plan.same_host and not plan.hosts and not is_admin else 0
