"""Loopback VMs: created concurrently unless one depends on another's host, then polled with one list request."""

import re
import time
from collections.abc import Callable, Iterator, Sequence

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudServer
from nodrop.stage.openstack import existing_resources, guest_config, inventory, request_bodies, rest
from nodrop.stage.openstack.guest_config import GuestFacts
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import build_server_group_name
from nodrop.stage.openstack.provision import Provisioner
from nodrop.stage.openstack.request_bodies import BootOptions
from nodrop.stage.openstack.rest import Json, Post
from nodrop.units import format_count

EACH_FURTHER_S = 10.0
"""Additional time for each server after the first."""
GONE_S = 120.0
HOST = "OS-EXT-SRV-ATTR:host"
"""Reported to administrators only."""
HOST_ID = "hostId"
"""Reported to everyone: the same for all servers of a project on one host."""
FAILED = ("ERROR", "DELETED", "SHUTOFF", "UNKNOWN")


class ServerProvisioner:
    """Creates or reuses the VMs of a plan."""

    def __init__(
        self, cloud: Cloud, plan: CloudPlan, provisioner: Provisioner, report: Callable[[str, int], None]
    ) -> None:
        self._cloud = cloud
        self._plan = plan
        self._provisioner = provisioner
        self._report = report
        self._groups: dict[int | None, Json] = {}
        self._user_data_by_name: dict[str, str] = {}
        """By server name."""
        self.servers: dict[str, Json] = {}
        """By name, as last reported by Nova."""
        self.restaged: set[str] = set()

    @property
    def group_count(self) -> int:
        """Number of server groups that the plan needs."""
        return group_count(self._plan, is_admin=self._cloud.is_admin)

    def ensure(self, existing: Sequence[Json]) -> None:
        """Reuse matching servers, create the others, and wait until all are ACTIVE. Raises StageError."""
        self._user_data_by_name = {server.name: self._build_user_data(server) for server in self._plan.servers}
        missing = [server for server in self._plan.servers if not self._reuse(server, existing)]
        self._create(missing)

    def restage(self, chains: Sequence[int]) -> None:
        """Re-create these chains' servers on the same ports. Raises StageError."""
        again = [server for server in self._plan.servers if server.chain in chains]
        self._delete([self.servers.pop(server.name) for server in again])
        self.restaged |= {server.name for server in again}
        self._create(again)

    def read(self) -> dict[str, Json]:
        """Return the current servers by name, without deleted ones."""
        listed = {server["id"]: server for server in inventory.list_servers(self._cloud)}
        return {name: listed[server["id"]] for name, server in self.servers.items() if server["id"] in listed}

    def _reuse(self, server: CloudServer, existing: Sequence[Json]) -> bool:
        match = existing_resources.find_server(
            self._cloud,
            server,
            existing,
            flavor=self._provisioner.flavor["name"],
            image_id=self._provisioner.image["id"],
            ports=[self._provisioner.ports[port.name] for port in server.ports],
            user_data_digest=guest_config.compute_user_data_digest(self._user_data_by_name[server.name]),
        )
        if match is None:
            return False
        if match.differences:
            self._report(f"re-creating server {server.name} ({'; '.join(match.differences)})", 0)
            self._delete([match.server])
            return False
        self.servers[server.name] = match.server
        self._provisioner.record("server", self.servers[server.name], found=True)
        self._report(f"server {server.name} exists", 1)
        return True

    def _build_user_data(self, server: CloudServer) -> str:
        chain = [each for each in self._plan.servers if each.chain == server.chain]
        macs = [tuple(self._provisioner.ports[port.name]["mac_address"] for port in each.ports) for each in chain]
        index = chain.index(server)
        ends = self._plan.tester_macs or (None, None)
        facts = GuestFacts(
            macs=macs[index],
            neighbors=guest_config.list_neighbors(chain, index, macs, (None, None) if self._plan.routers else ends),
            management=self._find_management(server),
        )
        return guest_config.build_user_data(
            server, facts, queue_count=self._plan.multiqueue, mbuf_count=self._plan.mbuf_count
        )

    def _find_management(self, server: CloudServer) -> tuple[str, str, str | None] | None:
        roles = {network.name: network.role for network in self._plan.networks}
        for port in server.ports:
            if roles.get(port.network) != "management":
                continue
            created_port = self._provisioner.ports[port.name]
            subnet = self._provisioner.subnets.get(port.network)
            if not created_port["fixed_ips"] or subnet is None:
                return created_port["mac_address"], "", None
            length = subnet["cidr"].partition("/")[2]
            return (
                created_port["mac_address"],
                f"{created_port['fixed_ips'][0]['ip_address']}/{length}",
                subnet.get("gateway_ip"),
            )
        return None

    def _create(self, servers: Sequence[CloudServer]) -> None:
        """Create servers; those that must join the first one's host wait until it is known."""
        end_s = time.monotonic() + self._plan.active_timeout_s + EACH_FURTHER_S * (len(servers) - 1)
        first_hop = [server for server in servers if not self._follows_first_host(server)]
        later = [server for server in servers if self._follows_first_host(server)]
        for server in first_hop:
            self._request(server)
        if later:
            self._await_all(first_hop, lambda state: bool(state.get(HOST)), end_s, "has a host")
            for server in later:
                self._request(server)
        if servers:
            self._report(f"{format_count(len(servers), 'server')} requested, waiting for ACTIVE", 0)
        self._await_all(servers, lambda state: state["status"] == "ACTIVE", end_s, "is ACTIVE")

    def _follows_first_host(self, server: CloudServer) -> bool:
        """Return whether it can be requested only when the first server's host is known."""
        return bool(server.hop) and self._plan.same_host and not self._plan.hosts and self._cloud.is_admin

    def _request(self, server: CloudServer) -> None:
        body = request_bodies.build_server_body(server, self._plan, self._build_boot_options(server))

        def find_existing() -> Json | None:
            """Find it by name and metadata, which includes the digest of its user data."""
            metadata = body["server"]["metadata"]
            existing = (each for each in inventory.list_servers(self._cloud) if each["name"] == server.name)
            return next(({"server": each} for each in existing if each["metadata"] == metadata), None)

        action = f"create server {server.name}" + (f" on {self._find_host(server)}" if self._find_host(server) else "")
        created: Json = rest.create_resource(self._cloud, action, Post("compute", "/servers", body), find_existing)[
            "server"
        ]
        self.servers[server.name] = {"status": "BUILD", **created, "name": server.name}
        self._provisioner.record("server", self.servers[server.name])

    def _build_boot_options(self, server: CloudServer) -> BootOptions:
        group = self._ensure_server_group(server)
        return BootOptions(
            image_id=self._provisioner.image["id"],
            flavor_id=self._provisioner.flavor["id"],
            port_ids=tuple(self._provisioner.ports[port.name]["id"] for port in server.ports),
            user_data=self._user_data_by_name[server.name],
            group_id=group["id"] if group else None,
            host=self._find_host(server),
        )

    def _find_host(self, server: CloudServer) -> str | None:
        if hosts := self._plan.hosts:
            return hosts[server.chain % len(hosts)]
        if self._follows_first_host(server):
            first = next(each for each in self._plan.servers if each.chain == server.chain)
            return str(self.servers[first.name][HOST])
        return None

    def _ensure_server_group(self, server: CloudServer) -> Json | None:
        """Return the common server group; or the chain's own, which keeps it on one host without naming the host."""
        key = None if self._plan.server_group else server.chain
        if key is not None and not self.group_count:
            return None
        if key not in self._groups:
            name = build_server_group_name(self._plan.label, key)
            self._groups[key] = self._provisioner.ensure_server_group(name, self._plan.server_group or "affinity")
        return self._groups[key]

    def _await_all(
        self, servers: Sequence[CloudServer], is_done: Callable[[Json], bool], end_s: float, state_text: str
    ) -> None:
        """Wait until all servers satisfy a condition. Raises StageError on the first failure, and on a timeout."""
        waiting = {server.name: server for server in servers}
        while waiting:
            now = self.read()
            for name, server in list(waiting.items()):
                state = now.get(name, {"status": "DELETED"})
                if state["status"] in FAILED:
                    raise StageError(f"cloud {self._cloud.name}: {format_fault(server, self._plan, state)}")
                self.servers[name] = {**self.servers[name], **state}
                if is_done(state):
                    del waiting[name]
                    self._report(f"server {name} {state_text}", state_text == "is ACTIVE")
            if waiting and time.monotonic() > end_s:
                raise StageError(self._format_timeout(list(waiting), len(servers)))
            if waiting:
                time.sleep(self._plan.poll_s)

    def _format_timeout(self, waiting: Sequence[str], count: int) -> str:
        first = self.servers[waiting[0]]
        task = first.get("OS-EXT-STS:task_state")
        return (
            f"cloud {self._cloud.name}: {len(waiting)} of {format_count(count, 'server')} not ACTIVE within "
            f"{self._plan.active_timeout_s + EACH_FURTHER_S * (count - 1):g} s, first {waiting[0]}, which is "
            f"{first['status']}{f' ({task})' if task else ''}; allow more time (openstack.active_timeout), or see "
            "nova-compute's log on its host"
        )

    def _delete(self, servers: Sequence[Json]) -> None:
        """Delete servers and wait until they are gone, which frees their ports."""
        for server in servers:
            rest.delete_resource(self._cloud, f"delete server {server['name']}", "compute", f"/servers/{server['id']}")
        deleted = {server["id"] for server in servers}
        self._provisioner.resources[:] = [each for each in self._provisioner.resources if each.id not in deleted]
        end_s = time.monotonic() + GONE_S
        while any(each["id"] in deleted for each in inventory.list_servers(self._cloud)):
            if time.monotonic() > end_s:
                names = ", ".join(server["name"] for server in servers)
                raise StageError(
                    f"cloud {self._cloud.name}: servers {names} still exist {GONE_S:g} s after their deletion; see "
                    "nova-compute's log, then run nodrop cleanup"
                )
            time.sleep(self._plan.poll_s)


def group_count(plan: CloudPlan, *, is_admin: bool) -> int:
    """Return the number of server groups that a plan needs."""
    if plan.server_group:
        return 1
    chains = {server.chain for server in plan.servers if server.hop}
    return len(chains) if plan.same_host and not plan.hosts and not is_admin else 0


PAGE_SIZE_SPEC = "hw:mem_page_size"
CPU_POLICY_SPEC = "hw:cpu_policy"
NUMA_NODES_SPEC = "hw:numa_nodes"
NO_HOST_FAULT = re.compile(
    r"no valid host|no suitable host|not enough hosts|insufficient|no allocation candidates", re.IGNORECASE
)
PORT_FAULT = re.compile(r"binding failed|failed to allocate the network|vif|port ", re.IGNORECASE)
QUOTA_FAULT = re.compile(r"quota", re.IGNORECASE)
IMAGE_FAULT = re.compile(r"image", re.IGNORECASE)


def format_fault(server: CloudServer, plan: CloudPlan, reported: Json) -> str:
    """Return the state of a failed server and the fix: Nova often reports only that no host is valid.

    Args:
        server: the planned server.
        plan: the whole plan.
        reported: the server as Nova reports it.
    """
    message = " ".join(str((reported.get("fault") or {}).get("message") or "").split()).rstrip(".")
    status = reported["status"]
    reason = message or "Nova gives no reason"
    return f"server {server.name} is {status}: {reason}; {_advise_fault(server, plan, message)}"


def _advise_fault(server: CloudServer, plan: CloudPlan, message: str) -> str:
    if QUOTA_FAULT.search(message):
        return "a quota is exhausted: delete what is not needed, or ask an administrator for more"
    if NO_HOST_FAULT.search(message):
        return f"no compute host has all that it needs: {', '.join(_list_host_requirements(server, plan))}"
    if PORT_FAULT.search(message):
        return (
            "its ports could not be bound on the host: check that an agent or driver for these networks runs there, "
            "and that the physical networks are mapped on it (openstack network agent list)"
        )
    if IMAGE_FAULT.search(message):
        return "check that the image fits the machine (openstack image show)"
    return "see nova-compute's log on its host"


def _list_host_requirements(server: CloudServer, plan: CloudPlan) -> Iterator[str]:
    """Yield the requirements on a compute host."""
    if plan.flavor:
        yield f"{plan.flavor.vcpus} vCPUs and {plan.flavor.ram_mib} MiB free"
        specs = plan.flavor.extra_specs
        if specs.get(CPU_POLICY_SPEC) == "dedicated":
            yield "CPUs dedicated to VMs (cpu_dedicated_set)"
        if specs.get(PAGE_SIZE_SPEC, "any") not in ("any", "small"):
            yield f"free huge pages ({PAGE_SIZE_SPEC}={specs[PAGE_SIZE_SPEC]})"
        if NUMA_NODES_SPEC in specs:
            yield f"{specs[NUMA_NODES_SPEC]} NUMA nodes, each with its share free"
    if direct := [port for port in server.ports if port.vnic_type == "direct"]:
        names = {network.name: network.physical_network for network in plan.networks}
        networks = ", ".join(str(names.get(port.network) or port.network) for port in direct)
        yield f"a free virtual function for each of its SR-IOV ports ({networks}; pci.device_spec of nova-compute)"
    if plan.hosts:
        yield f"host name {' or '.join(plan.hosts)}"
    elif plan.availability_zone:
        yield f"availability zone {plan.availability_zone}"
    if plan.server_group:
        yield f"policy {plan.server_group} of the server group"
