"""Chains staged in OpenStack: created or reused, awaited, read back; rolled back on exit unless kept."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from nodrop.errors import NodropError, StageError
from nodrop.model.cloud import CloudFacts, CloudNetworkFacts, CloudPlan
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.base import FixedInstances, OnProgress, ignore_progress
from nodrop.stage.external import ExternalStage
from nodrop.stage.openstack import chain_facts, inventory, requirements, rollback
from nodrop.stage.openstack.chain_facts import CloudState
from nodrop.stage.openstack.login import Cloud, connect_cloud
from nodrop.stage.openstack.provision import Provisioner
from nodrop.stage.openstack.rest import Json
from nodrop.stage.openstack.servers import ServerProvisioner, group_count
from nodrop.system.log_files import LOGGER

MONITOR_EVERY_S = 10.0


class ServerMonitor:
    """Polls the servers in a thread, so that the run never waits for the cloud, until stopped or until one fails."""

    def __init__(
        self, read_servers: Callable[[], Mapping[str, Json]], names: frozenset[str], every_s: float = MONITOR_EVERY_S
    ) -> None:
        self._read_servers = read_servers
        self._names = names
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="openstack servers", daemon=True)
        self.fault: str | None = None
        """Description of the first server that is no longer ACTIVE."""

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; wait at most one interval for a request in progress."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._every_s)

    def _run(self) -> None:
        while not self.fault and not self._stopping.wait(self._every_s):
            try:
                self.fault = self._find_fault()
            except NodropError as error:
                LOGGER.info("cannot poll the servers, which does not affect frames: %s", error)

    def _find_fault(self) -> str | None:
        servers = self._read_servers()
        if missing := sorted(self._names - servers.keys()):
            return f"server {missing[0]} was deleted during the run, by another user or program; run again"
        for name, server in servers.items():
            if server["status"] != "ACTIVE":
                return (
                    f"server {name} was ACTIVE when the run began and is {server['status']}; see its console "
                    f"(openstack console log show {name}) and run again"
                )
        return None


class OpenStackStage(FixedInstances):
    """See `nodrop.stage.base.Stage`."""

    def __init__(
        self, lab: LabPlan, cloud: CloudPlan, on_progress: OnProgress = ignore_progress, *, tester_is_here: bool = True
    ) -> None:
        """Prepare to stage a plan; the tester's ports are checked if they are interfaces of this machine."""
        self._lab = lab
        self._plan = cloud
        self._on_progress = on_progress
        self._ports = ExternalStage(lab) if tester_is_here and lab.tester_interfaces else None
        self._cloud: Cloud | None = None
        self._provisioner: Provisioner | None = None
        self._servers: ServerProvisioner | None = None
        self._monitor: ServerMonitor | None = None
        self._facts: StageFacts | None = None
        self._addresses: dict[str, str] = {}
        self._restaged = False
        self._done_count = 0

    def __enter__(self) -> Self:
        """Create the missing resources. Raises StageError, after a rollback."""
        start_s = time.monotonic()
        if self._ports:
            self._ports.__enter__()
        try:
            self._bring_up()
            self._facts = self._read(time.monotonic() - start_s)
        except BaseException as error:
            self._roll_back(error)
            raise
        self._start_monitor()
        return self

    def __exit__(self, *exc: object) -> None:
        """Delete the created resources, unless they are kept; never raises."""
        self._stop_monitor()
        if self._plan.keep or not self._cloud or not self._provisioner:
            return
        self._done_count = 0
        try:
            message = rollback.roll_back(self._cloud, self._provisioner.resources, self._on_progress)
        except Exception as error:
            message = f"{error}: {rollback.AGAIN}"
        if rollback.AGAIN in message:
            LOGGER.error("cloud %s: %s", self._cloud.name, message)

    @property
    def facts(self) -> StageFacts:
        """Facts of the chains while they are up."""
        if not self._facts:
            raise StageError(
                "the chains in OpenStack have no facts before their stage is entered; enter the stage first"
            )
        return self._facts

    def restage(self, chains: Sequence[int]) -> bool:
        """Re-create the servers of these chains on their ports, once. Raises StageError."""
        if self._restaged or not self._plan.servers or not chains:
            return False
        assert self._servers and self._facts
        self._restaged = True
        self._stop_monitor()
        again = sum(server.chain in chains for server in self._plan.servers)
        self._done_count -= again
        listed = f"{'chains' if len(chains) > 1 else 'chain'} {', '.join(map(str, chains))}"
        LOGGER.warning("%s passed no frames; re-creating the servers once", listed)
        self._report(f"{listed} passed no frames; re-creating the servers once", 0)
        self._servers.restage(chains)
        self._facts = self._read(self._facts.up_s or 0.0)
        self._start_monitor()
        return True

    def check_alive(self) -> None:
        """Raise StageError if a server is no longer ACTIVE, or a port of the tester is gone."""
        if self._ports:
            self._ports.check_alive()
        if self._cloud and self._monitor and self._monitor.fault:
            raise StageError(f"cloud {self._cloud.name}: {self._monitor.fault}")

    def _bring_up(self) -> None:
        plan = self._plan
        self._report("logging in", 0)
        self._cloud = cloud = connect_cloud(plan.login, lambda text: self._report(text, 0))
        groups = group_count(plan, is_admin=cloud.is_admin)
        existing = inventory.read_inventory(cloud, plan, with_groups=bool(groups))
        self._provisioner = Provisioner(cloud, plan, existing, self._report)
        with requirements.explaining_admin_requirements(cloud, plan, existing):
            requirements.check_quotas(
                cloud, inventory.count_missing(plan, existing, max(0, groups - len(existing.groups)))
            )
            self._provisioner.create_networks()
            # before ports are created in vain
            chain_facts.build_chain_ids(cloud.name, plan, self._lab, self._list_networks())
            self._provisioner.create_ports()
            self._servers = ServerProvisioner(cloud, plan, self._provisioner, self._report)
            self._servers.ensure(existing.servers)
            self._addresses = self._provisioner.allocate_floating_ips()

    def _read(self, stage_s: float) -> StageFacts:
        """Read the facts back, complete and unambiguous. Raises StageError."""
        assert self._cloud and self._provisioner and self._servers
        plan = self._plan
        ports = {port["name"]: port for port in inventory.list_ports(self._cloud, plan) if self._is_own(port["id"])}
        macs = tuple(router.macs[0] for router in self._provisioner.routers)
        read = CloudState(self._cloud.name, ports, self._servers.servers, self._addresses, macs)
        networks = self._list_networks()
        servers = tuple(chain_facts.build_server_facts(plan, read, self._servers.restaged))
        chain_facts.check_hosts(plan, read)
        return StageFacts(
            name="openstack",
            sut=self._lab.sut_text,
            privilege="root" if os.geteuid() == 0 else "nobody",
            tester_pid=os.getpid(),
            sut_pid=0,
            sut_shares_tester_cpu=False,
            interfaces=self._ports.facts.interfaces if self._ports else (),
            chains=tuple(chain_facts.build_chain_facts(plan, self._lab, networks, read)),
            cloud=CloudFacts(
                cloud=self._cloud.name,
                is_admin=self._cloud.is_admin,
                networks=networks,
                servers=servers,
                resources=tuple(self._provisioner.resources),
                api_call_counts=self._cloud.api_call_counts,
                stage_s=stage_s,
            ),
            up_s=stage_s,
        )

    def _list_networks(self) -> tuple[CloudNetworkFacts, ...]:
        assert self._provisioner
        return tuple(chain_facts.build_network_facts(self._plan, self._provisioner.networks))

    def _is_own(self, port_id: str) -> bool:
        assert self._provisioner
        return any(port["id"] == port_id for port in self._provisioner.ports.values())

    def _roll_back(self, error: BaseException) -> None:
        """Roll back and add the outcome to the error."""
        self._stop_monitor()
        if not self._cloud or not self._provisioner:
            return
        self._done_count = 0
        self._on_progress("rolling back", 0, 0)
        resources = self._provisioner.resources
        message = rollback.roll_back(
            self._cloud, [*resources, *rollback.find_untracked(self._cloud, self._plan, resources)], self._on_progress
        )
        if isinstance(error, StageError):
            error.args = (f"{error}. {message}",)
        else:
            LOGGER.warning("cloud %s: %s", self._cloud.name, message)

    def _start_monitor(self) -> None:
        if self._servers and self._plan.servers:
            self._monitor = ServerMonitor(self._servers.read, frozenset(self._servers.servers))
            self._monitor.start()

    def _stop_monitor(self) -> None:
        if self._monitor:
            self._monitor.stop()
            self._monitor = None

    def _report(self, text: str, more_count: int) -> None:
        self._done_count += more_count
        self._on_progress(text, self._done_count, count_steps(self._plan))


def count_steps(plan: CloudPlan) -> int:
    """Return the number of resources of a plan."""
    subnets = sum(bool(network.subnet) for network in plan.networks)
    ports = sum(len(server.ports) for server in plan.servers)
    shared = bool(plan.image and plan.servers) + bool(plan.flavor and plan.servers) + bool(plan.server_group)
    floating = sum(server.floating_ip for server in plan.servers)
    return shared + len(plan.networks) + subnets + ports + len(plan.routers) + len(plan.servers) + floating
