"""The instances of a pool in a lab, which events of a trial kill, stop and start, and which scale with the load."""

import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.lab_plan import LabPlan, ScaleOut
from nodrop.stage.holder_protocol import ChangeRequest, InstanceChange, InstanceChanged, InstanceChanges
from nodrop.stage.published_counters import read_published_counters
from nodrop.stage.sut_process import SutChild, stop_all
from nodrop.stage.vnf import BALANCER, build_instance_command, start_instance

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "continue": signal.SIGCONT}
COMMAND_TIMEOUT_S = 10.0
RULE_PERIOD_NS = 1_000_000_000
"""The rule to scale counts in whole seconds from the begin of the trial."""


class PoolInstances:
    """The processes of the instances, by number; as a context manager, it ends those that events started."""

    def __init__(self, plan: LabPlan, sut_pid: int, processes: Sequence[SutChild]) -> None:
        """Take over the instances that run; `processes` are all of the SUT, VNFs first."""
        self._plan = plan
        self._sut_pid = sut_pid
        running = plan.balancer.running_count if plan.balancer else 0
        self._children = dict(enumerate(processes[:running]))
        self._spares = set(range(running, len(plan.forwarders))) if plan.balancer else set()
        self._balancer = next((process for process in processes if process.name == BALANCER), None)
        self._started: list[SutChild] = []
        self._pending: list[InstanceChange] = []
        self._autoscaler: Autoscaler | None = None
        self._joined: list[int] = []
        self._leaving: list[int] = []
        self._done: list[InstanceChanged] = []

    def __enter__(self) -> "PoolInstances":
        """Take spares out of service until they are started: the balancer would wait for answers to its probes."""
        for spare in sorted(self._spares):
            self._command_balancer(f"withdraw {spare}")
        return self

    def __exit__(self, *exc: object) -> None:
        """End the instances that events started."""
        stop_all([child for child in self._started if not child.has_ended()])

    def schedule(self, request: ChangeRequest) -> InstanceChanges:
        """Plan changes instead of those whose time has not come; return those carried out since the last call."""
        self._pending = sorted(request.changes, key=lambda change: change.at_ns)
        rule = self._plan.balancer.scale_out if self._plan.balancer else None
        if rule and request.begin_ns is not None:
            self._end_joined()
            self._autoscaler = Autoscaler(rule, request.begin_ns)
        elif self._autoscaler:
            if joining := self._autoscaler.joining:
                self._done.append(_record(joining, joining.at_ns))
            self._autoscaler = None
        done, self._done = tuple(self._done), []
        return InstanceChanges(changes=done)

    def compute_wait_s(self) -> float | None:
        """Return the time until the next change; None without one."""
        times_ns = [change.at_ns for change in self._pending[:1]]
        if self._autoscaler:
            times_ns.append(self._autoscaler.next_ns)
        return max(0.0, (min(times_ns) - time.time_ns()) / 1e9) if times_ns else None

    def carry_out_due(self) -> Iterator[SutChild]:
        """Carry out the changes whose time has come; yield the processes that they start."""
        yield from self._carry_out_events()
        if self._autoscaler and self._autoscaler.next_ns <= time.time_ns():
            try:
                yield from self._scale(self._autoscaler)
            except StageError as error:
                change = self._autoscaler.joining or InstanceChange(
                    at_ns=time.time_ns(), action="scale-out", instance=0
                )
                self._done.append(_record(change, change.at_ns, f"event '{change.name}': {error}"))
                self._autoscaler = None

    def _carry_out_events(self) -> Iterator[SutChild]:
        while self._pending and self._pending[0].at_ns <= time.time_ns():
            change = self._pending.pop(0)
            begin_ns = time.time_ns()
            try:
                if change.action == "start":
                    yield self._start(change.instance)
                    self._put_in_service(change.instance)
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

    def _scale(self, autoscaler: "Autoscaler") -> Iterator[SutChild]:
        """Let an instance take flows once it is ready; start a spare, or end the last one, as the rule requires."""
        if (joining := autoscaler.joining) and autoscaler.ready_ns <= time.time_ns():
            self._put_in_service(joining.instance)
            self._done.append(_record(joining, joining.at_ns))
            autoscaler.end_join()
        running = {number: child for number, child in self._children.items() if not child.has_ended()}
        second = autoscaler.count_second(child.pid for child in running.values())
        if second is None or autoscaler.joining:
            return
        self._end_processes(self._leaving)
        self._leaving = []
        spare = min(self._spares - running.keys(), default=None)
        if autoscaler.is_short(second) and spare is not None:
            autoscaler.join(spare)
            self._joined.append(spare)
            yield self._start(spare)
        elif autoscaler.is_idle(second) and self._joined:
            self._take_out_of_service(self._joined.pop())

    def _take_out_of_service(self, instance: int) -> None:
        """Let the balancer move the flows of an instance; its process ends a second later, with empty queues."""
        change = InstanceChange(at_ns=time.time_ns(), action="scale-in", instance=instance)
        self._command_balancer(f"withdraw {instance}")
        self._spares.add(instance)
        self._leaving.append(instance)
        self._done.append(_record(change, change.at_ns))

    def _end_joined(self) -> None:
        """End the instances that the rule started in earlier trials."""
        self._end_processes([*self._leaving, *self._joined])
        for instance in self._joined:
            self._command_balancer(f"withdraw {instance}")
            self._spares.add(instance)
        self._joined, self._leaving = [], []

    def _end_processes(self, instances: Iterable[int]) -> None:
        for instance in instances:
            if not self._children[instance].has_ended():
                self._signal(instance, signal.SIGKILL)

    def _put_in_service(self, instance: int) -> None:
        """Let the balancer use a spare that runs."""
        if instance in self._spares:
            self._command_balancer(f"restore {instance}")
            self._spares.discard(instance)

    def _signal(self, instance: int, number: signal.Signals) -> None:
        child = self._children.get(instance)
        if child is None or child.has_ended():
            raise StageError(f"instance {instance} does not run; start it first")
        child.is_killed_by_event = number == signal.SIGKILL
        child.send_signal(number)
        if child.is_killed_by_event:
            child.wait()
        elif number == signal.SIGSTOP:
            child.wait_until_stopped()

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


class _FrameCounts(NamedTuple):
    """Frames of the running instances since they started."""

    arrived_count: int
    dropped_count: int
    """Dropped for lack of capacity."""


class SecondCounts(NamedTuple):
    """Frames of the running instances in a second, which the rule may see a little late."""

    arrived_count: int
    dropped_count: int
    length_s: float
    """Time between the counts."""


class Autoscaler:
    """The rule by which a pool scales during a trial, and the instance that it is adding."""

    def __init__(self, rule: ScaleOut, begin_ns: int) -> None:
        """Count in whole seconds from the begin of a trial."""
        self._rule = rule
        self._period_end_ns = begin_ns
        self._before: dict[int, _FrameCounts] = {}
        self._before_ns = self._joined_ns = begin_ns
        self.joining: InstanceChange | None = None
        """The instance that was started and takes no flows yet."""

    @property
    def ready_ns(self) -> int:
        """Time at which the joining instance takes flows."""
        return self.joining.at_ns + round(self._rule.delay_s * 1e9) if self.joining else 0

    @property
    def next_ns(self) -> int:
        """Time at which it has something to do."""
        return min(self._period_end_ns, self.ready_ns) if self.joining else self._period_end_ns

    def join(self, instance: int) -> None:
        """Begin to add an instance."""
        self.joining = InstanceChange(at_ns=time.time_ns(), action="scale-out", instance=instance)

    def end_join(self) -> None:
        """Count whole seconds from now, in which the instance takes flows."""
        self.joining, self._joined_ns = None, time.time_ns()

    def count_second(self, pids: Iterable[int]) -> SecondCounts | None:
        """Return the frames of the second that has ended; None before its end, and if an instance joined during it.

        Args:
            pids: the processes of the running instances; those that run for less than the second do not count.
        """
        now_ns = time.time_ns()
        if now_ns < self._period_end_ns:
            return None
        while self._period_end_ns <= now_ns:
            self._period_end_ns += RULE_PERIOD_NS
        begin_ns, self._before_ns = self._before_ns, now_ns
        before, self._before = self._before, {pid: _read_frame_counts(pid) for pid in pids}
        counts = [(before[pid], after) for pid, after in self._before.items() if pid in before]
        if not counts or begin_ns < self._joined_ns:
            return None
        return SecondCounts(
            sum(after.arrived_count - begin.arrived_count for begin, after in counts),
            sum(after.dropped_count - begin.dropped_count for begin, after in counts),
            (now_ns - begin_ns) / 1e9,
        )

    def is_short(self, second: SecondCounts) -> bool:
        """Return whether the instances dropped too much."""
        return second.arrived_count > 0 and second.dropped_count / second.arrived_count >= self._rule.loss_ratio

    def is_idle(self, second: SecondCounts) -> bool:
        """Return whether so few frames arrived that one instance less is enough."""
        rate_pps = self._rule.scale_in_pps
        return rate_pps is not None and second.arrived_count < rate_pps * second.length_s


def _read_frame_counts(pid: int) -> _FrameCounts:
    counters = read_published_counters(pid)

    def total(*names: str) -> int:
        return sum(count for label, count in counters if label.rpartition("/")[2] in names)

    return _FrameCounts(total("received", "receive_dropped"), total("queue_full", "receive_dropped"))


def _record(change: InstanceChange, begin_ns: int, problem: str = "") -> InstanceChanged:
    return InstanceChanged(change=change, begin_ns=begin_ns, end_ns=time.time_ns(), problem=problem)
