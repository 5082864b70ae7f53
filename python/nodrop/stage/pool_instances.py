"""The instances of a pool in a lab, which events of a trial kill, stop and start."""

import signal
import time
from collections.abc import Iterator, Sequence

from nodrop.errors import StageError
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.holder_protocol import InstanceChange, InstanceChanged, InstanceChanges
from nodrop.stage.sut_process import SutChild, stop_all
from nodrop.stage.vnf import BALANCER, build_instance_command, start_instance

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "continue": signal.SIGCONT}
COMMAND_TIMEOUT_S = 10.0


class PoolInstances:
    """The processes of the instances, by number; as a context manager, it ends those that events started."""

    def __init__(self, plan: LabPlan, sut_pid: int, processes: Sequence[SutChild]) -> None:
        """Take over the instances that run; `processes` are all of the SUT, VNFs first."""
        self._plan = plan
        self._sut_pid = sut_pid
        running = plan.balancer.running_count if plan.balancer else 0
        self._children = dict(enumerate(processes[:running]))
        self._balancer = next((process for process in processes if process.name == BALANCER), None)
        self._started: list[SutChild] = []
        self._pending: list[InstanceChange] = []
        self._done: list[InstanceChanged] = []

    def __enter__(self) -> "PoolInstances":
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the instances that events started."""
        stop_all([child for child in self._started if not child.has_ended()])

    def schedule(self, changes: Sequence[InstanceChange]) -> InstanceChanges:
        """Plan changes instead of those whose time has not come; return those carried out since the last call."""
        self._pending = sorted(changes, key=lambda change: change.at_ns)
        done, self._done = tuple(self._done), []
        return InstanceChanges(changes=done)

    def compute_wait_s(self) -> float | None:
        """Return the time until the next change; None without one."""
        return max(0.0, (self._pending[0].at_ns - time.time_ns()) / 1e9) if self._pending else None

    def carry_out_due(self) -> Iterator[SutChild]:
        """Carry out the changes whose time has come; yield the processes that they start."""
        while self._pending and self._pending[0].at_ns <= time.time_ns():
            change = self._pending.pop(0)
            begin_ns = time.time_ns()
            try:
                if change.action == "start":
                    yield self._start(change.instance)
                elif change.action in ("withdraw", "restore"):
                    self._command_balancer(change.name)
                else:
                    self._signal(change.instance, SIGNALS[change.action])
            except StageError as error:
                problem = f"event '{change.name}': {error}"
                self._done.append(_record(change, begin_ns, problem))
                self._pending = []
            else:
                self._done.append(_record(change, begin_ns))

    def _signal(self, instance: int, number: signal.Signals) -> None:
        child = self._children.get(instance)
        if child is None or child.has_ended():
            raise StageError(f"instance {instance} does not run; start it first")
        child.is_killed_by_event = number == signal.SIGKILL
        child.send_signal(number)
        if child.is_killed_by_event:
            child.wait()

    def _command_balancer(self, command: str) -> None:
        assert self._balancer
        reply = self._balancer.send_command(command, COMMAND_TIMEOUT_S)
        if reply.get("event") != "changed":
            raise StageError(f"the balancer did not carry it out: {reply.get('message', 'it does not reply')}")

    def _start(self, instance: int) -> SutChild:
        child = self._children.get(instance)
        if child and not child.has_ended():
            raise StageError(f"instance {instance} runs already; kill it first")
        started = start_instance(build_instance_command(self._plan, instance, self._sut_pid), self._plan)
        self._children[instance] = started
        self._started.append(started)
        return started


def _record(change: InstanceChange, begin_ns: int, problem: str = "") -> InstanceChanged:
    return InstanceChanged(change=change, begin_ns=begin_ns, end_ns=time.time_ns(), problem=problem)
