"""Chains staged in OpenStack: found or made, waited for, read back; taken away again unless they are to stay."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from nodrop.errors import NodropError, StageError
from nodrop.model.cloud import CloudFacts, CloudNetworkFacts, CloudPlan
from nodrop.model.facts import InterfaceFacts, StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.base import OnProgress, ignore_progress
from nodrop.stage.external import ExternalStage
from nodrop.stage.openstack import chain_facts, inventory, requirements, rollback
from nodrop.stage.openstack.chain_facts import CloudState
from nodrop.stage.openstack.login import Cloud, connect
from nodrop.stage.openstack.provision import Provisioner
from nodrop.stage.openstack.rest import Json
from nodrop.stage.openstack.servers import ServerProvisioner, group_count
from nodrop.system.log_files import LOGGER

MONITOR_EVERY_S = 10.0


class ServerMonitor:
    """Looks until it is stopped, or one has fault."""

    def __init__(
        self, read_servers: Callable[[], Mapping[str, Json]], names: frozenset[str], every_s: float = MONITOR_EVERY_S
    ) -> None:
        self._read_servers = read_servers
        self._names = names
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="openstack servers", daemon=True)
        self.fault: str | None = None
        """What became of one that is ACTIVE no more."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look that is on its way is not waited for long."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._every_s)

    def _run(self) -> None:
        while not self.fault and not self._stopping.wait(self._every_s):
            try:
                self.fault = self._find_fault()
            except NodropError as error:
                LOGGER.info("servers could not be looked at, which frames do not notice: %s", error)

    def _find_fault(self) -> str | None:
        servers = self._read_servers()
        if gone := sorted(self._names - servers.keys()):
            return f"server {gone[0]} was ACTIVE when the run began and is gone; somebody took it away: run again"
        for name, server in servers.items():
            if server["status"] != "ACTIVE":
                return (
                    f"server {name} was ACTIVE when the run began and is {server['status']}; look into its console "
                    f"(openstack console log show {name}) and run again"
                )
        return None


class OpenStackStage:
    """See `nodrop.stage.base.Stage`."""

    def __init__(
        self, lab: LabPlan, cloud: CloudPlan, on_progress: OnProgress = ignore_progress, *, tester_is_here: bool = True
    ) -> None:
        """What is to stand; the tester's ports are looked at where they are interfaces of this machine."""
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
        """Make what is not there. Raises StageError, after what was made was taken away again."""
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
        """Take away what was made, unless it is to stay; never raises."""
        self._stop_monitor()
        if self._plan.keep or not self._cloud or not self._provisioner:
            return
        self._done_count = 0
        try:
            said = rollback.roll_back(self._cloud, self._provisioner.resources, self._on_progress)
        except Exception as error:
            said = f"{error}: {rollback.AGAIN}"
        if rollback.AGAIN in said:
            LOGGER.error("cloud %s: %s", self._cloud.name, said)

    @property
    def facts(self) -> StageFacts:
        """What stands now."""
        if not self._facts:
            raise StageError("facts of chains in OpenStack asked, they do not stand; enter the stage first")
        return self._facts

    def restage(self, chains: Sequence[int]) -> bool:
        """Make the servers of these chains anew, on their ports; once. Raises StageError."""
        if self._restaged or not self._plan.servers or not chains:
            return False
        assert self._servers and self._facts
        self._restaged = True
        self._stop_monitor()
        again = sum(server.chain in chains for server in self._plan.servers)
        self._done_count -= again
        listed = f"{'chains' if len(chains) > 1 else 'chain'} {', '.join(map(str, chains))}"
        LOGGER.warning("nothing passes %s; made anew, once", listed)
        self._report(f"nothing passes {listed}; made anew, once", 0)
        self._servers.restage(chains)
        self._facts = self._read(self._facts.up_s or 0.0)
        self._start_monitor()
        return True

    def check_alive(self) -> None:
        """Raise StageError when a server is ACTIVE no more, or a port of the tester is gone."""
        if self._ports:
            self._ports.check_alive()
        if self._cloud and self._monitor and self._monitor.fault:
            raise StageError(f"cloud {self._cloud.name}: {self._monitor.fault}")

    def _bring_up(self) -> None:
        plan = self._plan
        self._report("logging in", 0)
        self._cloud = cloud = connect(plan.login, lambda text: self._report(text, 0))
        groups = group_count(plan, is_admin=cloud.is_admin)
        there = inventory.read_inventory(cloud, plan, with_groups=bool(groups))
        self._provisioner = Provisioner(cloud, plan, there, self._report)
        with requirements.explaining_admin_requirements(cloud, plan, there):
            requirements.check_quotas(cloud, inventory.count_missing(plan, there, max(0, groups - len(there.groups))))
            self._provisioner.create_networks()
            chain_facts.chain_ids(cloud.name, plan, self._lab, self._networks())  # before more is made in vain
            self._provisioner.create_ports()
            self._servers = ServerProvisioner(cloud, plan, self._provisioner, self._report)
            self._servers.ensure(there.servers)
            self._addresses = self._provisioner.allocate_floating_ips()

    def _read(self, stage_s: float) -> StageFacts:
        """What stands, complete and unambiguous. Raises StageError."""
        assert self._cloud and self._provisioner and self._servers
        plan = self._plan
        ports = {port["name"]: port for port in inventory.list_ports(self._cloud, plan) if self._is_own(port["id"])}
        macs = tuple(router.macs[0] for router in self._provisioner.routers)
        read = CloudState(self._cloud.name, ports, self._servers.found, self._addresses, macs)
        networks = self._networks()
        servers = tuple(chain_facts.server_facts(plan, read, self._servers.restaged))
        chain_facts.check_hosts(plan, read)
        return StageFacts(
            name="openstack",
            sut=self._lab.sut_text,
            privilege="root" if os.geteuid() == 0 else "nobody",
            tester_pid=os.getpid(),
            sut_pid=0,
            sut_shares_tester_cpu=False,
            interfaces=self._interfaces(),
            chains=tuple(chain_facts.chain_facts(plan, self._lab, networks, read)),
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

    def _networks(self) -> tuple[CloudNetworkFacts, ...]:
        assert self._provisioner
        return tuple(chain_facts.network_facts(self._plan, self._provisioner.networks))

    def _interfaces(self) -> tuple[InterfaceFacts, ...]:
        """The tester's own; none where another program sends."""
        return self._ports.facts.interfaces if self._ports else ()

    def _is_own(self, port_id: str) -> bool:
        assert self._provisioner
        return any(port["id"] == port_id for port in self._provisioner.ports.values())

    def _roll_back(self, error: BaseException) -> None:
        """Take away what was made, and have the error say so."""
        self._stop_monitor()
        if not self._cloud or not self._provisioner:
            return
        self._done_count = 0
        self._on_progress("taking away what was made", 0, 0)
        known = self._provisioner.resources
        said = rollback.roll_back(
            self._cloud, [*known, *rollback.find_untracked(self._cloud, self._plan, known)], self._on_progress
        )
        if isinstance(error, StageError):
            error.args = (f"{error}. {said}",)
        else:
            LOGGER.warning("cloud %s: %s", self._cloud.name, said)

    def _start_monitor(self) -> None:
        if self._servers and self._plan.servers:
            self._monitor = ServerMonitor(self._servers.read, frozenset(self._servers.found))
            self._monitor.start()

    def _stop_monitor(self) -> None:
        if self._monitor:
            self._monitor.stop()
            self._monitor = None

    def _report(self, text: str, more_count: int) -> None:
        self._done_count += more_count
        self._on_progress(text, self._done_count, step_count(self._plan))


def step_count(plan: CloudPlan) -> int:
    """How many things a plan has that are found or made."""
    subnets = sum(bool(network.subnet) for network in plan.networks)
    ports = sum(len(server.ports) for server in plan.servers)
    shared = bool(plan.image and plan.servers) + bool(plan.flavor and plan.servers) + bool(plan.server_group)
    floating = sum(server.floating_ip for server in plan.servers)
    return shared + len(plan.networks) + subnets + ports + len(plan.routers) + len(plan.servers) + floating
