"""Chains staged in OpenStack: found or made, waited for, read back; taken away again unless they are to stay."""

import os
import time
from collections.abc import Sequence
from typing import Self

from nodrop.errors import StageError
from nodrop.model.cloud import CloudFacts, CloudNetworkFacts, CloudPlan
from nodrop.model.facts import InterfaceFacts, StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.base import OnProgress, silent
from nodrop.stage.external import ExternalStage
from nodrop.stage.openstack import admin_requirements, chain_facts, inventory, quota, rollback
from nodrop.stage.openstack.chain_facts import Read
from nodrop.stage.openstack.login import Cloud, connect
from nodrop.stage.openstack.provision import Making
from nodrop.stage.openstack.server_monitor import Watch
from nodrop.stage.openstack.servers import Servers, group_count
from nodrop.system.log_files import LOGGER


class OpenStackStage:
    """See `nodrop.stage.base.Stage`."""

    def __init__(
        self, lab: LabPlan, cloud: CloudPlan, on_progress: OnProgress = silent, *, tester_is_here: bool = True
    ) -> None:
        """What is to stand; the tester's ports are looked at where they are interfaces of this machine."""
        self._lab = lab
        self._plan = cloud
        self._on_progress = on_progress
        self._ports = ExternalStage(lab) if tester_is_here and lab.tester_interfaces else None
        self._cloud: Cloud | None = None
        self._making: Making | None = None
        self._servers: Servers | None = None
        self._watch: Watch | None = None
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
            self._stand()
            self._facts = self._read(time.monotonic() - start_s)
        except BaseException as error:
            self._undo(error)
            raise
        self._begin_watch()
        return self

    def __exit__(self, *exc: object) -> None:
        """Take away what was made, unless it is to stay; never raises."""
        self._end_watch()
        if self._plan.keep or not self._cloud or not self._making:
            return
        self._done_count = 0
        try:
            said = rollback.take_away(self._cloud, self._making.resources, self._on_progress)
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
        self._end_watch()
        again = sum(server.chain in chains for server in self._plan.servers)
        self._done_count -= again
        listed = f"{'chains' if len(chains) > 1 else 'chain'} {', '.join(map(str, chains))}"
        LOGGER.warning("nothing passes %s; made anew, once", listed)
        self._tell(f"nothing passes {listed}; made anew, once", 0)
        self._servers.restage(chains)
        self._facts = self._read(self._facts.up_s or 0.0)
        self._begin_watch()
        return True

    def check_alive(self) -> None:
        """Raise StageError when a server is ACTIVE no more, or a port of the tester is gone."""
        if self._ports:
            self._ports.check_alive()
        if self._cloud and self._watch and self._watch.fallen:
            raise StageError(f"cloud {self._cloud.name}: {self._watch.fallen}")

    def _stand(self) -> None:
        plan = self._plan
        self._tell("logging in", 0)
        self._cloud = cloud = connect(plan.login, lambda text: self._tell(text, 0))
        groups = group_count(plan, is_admin=cloud.is_admin)
        there = inventory.read(cloud, plan, wants_groups=bool(groups))
        self._making = Making(cloud, plan, there, self._tell)
        with admin_requirements.of_an_administrator(cloud, plan, there):
            quota.check(cloud, inventory.needs(plan, there, max(0, groups - len(there.groups))))
            self._making.make_networks()
            chain_facts.numbers(cloud.name, plan, self._lab, self._networks())  # before more is made in vain
            self._making.make_ports()
            self._servers = Servers(cloud, plan, self._making, self._tell)
            self._servers.stand(there.servers)
            self._addresses = self._making.addresses()

    def _read(self, stage_s: float) -> StageFacts:
        """What stands, complete and unambiguous. Raises StageError."""
        assert self._cloud and self._making and self._servers
        plan = self._plan
        ports = {port["name"]: port for port in inventory.ports(self._cloud, plan) if self._is_own(port["id"])}
        macs = tuple(router.macs[0] for router in self._making.routers)
        read = Read(self._cloud.name, ports, self._servers.found, self._addresses, macs)
        networks = self._networks()
        servers = tuple(chain_facts.server_facts(plan, read, self._servers.restaged))
        chain_facts.check_places(plan, read)
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
                resources=tuple(self._making.resources),
                api_call_counts=self._cloud.api_call_counts,
                stage_s=stage_s,
            ),
            up_s=stage_s,
        )

    def _networks(self) -> tuple[CloudNetworkFacts, ...]:
        assert self._making
        return tuple(chain_facts.network_facts(self._plan, self._making.networks))

    def _interfaces(self) -> tuple[InterfaceFacts, ...]:
        """The tester's own; none where another program sends."""
        return self._ports.facts.interfaces if self._ports else ()

    def _is_own(self, port_id: str) -> bool:
        assert self._making
        return any(port["id"] == port_id for port in self._making.ports.values())

    def _undo(self, error: BaseException) -> None:
        """Take away what was made, and have the error say so."""
        self._end_watch()
        if not self._cloud or not self._making:
            return
        self._done_count = 0
        self._on_progress("taking away what was made", 0, 0)
        known = self._making.resources
        said = rollback.take_away(
            self._cloud, [*known, *rollback.stray(self._cloud, self._plan, known)], self._on_progress
        )
        if isinstance(error, StageError):
            error.args = (f"{error}. {said}",)
        else:
            LOGGER.warning("cloud %s: %s", self._cloud.name, said)

    def _begin_watch(self) -> None:
        if self._servers and self._plan.servers:
            self._watch = Watch(self._servers.look, frozenset(self._servers.found))
            self._watch.start()

    def _end_watch(self) -> None:
        if self._watch:
            self._watch.stop()
            self._watch = None

    def _tell(self, text: str, more_count: int) -> None:
        self._done_count += more_count
        self._on_progress(text, self._done_count, step_count(self._plan))


def step_count(plan: CloudPlan) -> int:
    """How many things a plan has that are found or made."""
    subnets = sum(bool(network.subnet) for network in plan.networks)
    ports = sum(len(server.ports) for server in plan.servers)
    shared = bool(plan.image and plan.servers) + bool(plan.flavor and plan.servers) + bool(plan.server_group)
    floating = sum(server.floating_ip for server in plan.servers)
    return shared + len(plan.networks) + subnets + ports + len(plan.routers) + len(plan.servers) + floating
