"""Observation of the path under test by counters and scheduling statistics of the host."""

import contextlib
from collections.abc import Iterator

from nodrop.model.facts import StageFacts
from nodrop.model.plan import Plan
from nodrop.observe.base import Observer
from nodrop.observe.counter_reader import HopCounterReader
from nodrop.observe.cpu_quota import CpuQuotaObserver
from nodrop.observe.cpu_wait import CpuWaitObserver
from nodrop.system.cpu_quota import CpuQuotaReader
from nodrop.system.tcp_listeners import is_local, list_listener_pids


@contextlib.contextmanager
def open_observers(facts: StageFacts, plan: Plan) -> Iterator[tuple[Observer, ...]]:
    """Start all observers of a path for as long as the block runs. The last one is called closest to the trial."""
    with contextlib.ExitStack() as stack:
        has_counters = facts.interfaces and plan.sends_into_lab
        chains = {stream.stream_id: stream.chain for stream in plan.traffic.streams}
        counters = HopCounterReader(facts, plan.lab, plan.drop_reasons, chains)
        hops = (stack.enter_context(counters),) if has_counters else ()
        quotas = CpuQuotaReader()
        throttling = (CpuQuotaObserver(quotas),) if quotas.read_quota() else ()
        yield *hops, *throttling, *_list_cpu_waits(facts, plan)


def _list_cpu_waits(facts: StageFacts, plan: Plan) -> Iterator[Observer]:
    """Yield observers of the SUT's processes, and of a TRex server on this machine; the engine watches itself."""
    yield CpuWaitObserver("sut_preempted", lambda: [process.pid for process in facts.sut_processes])
    if trex := plan.trex:
        yield CpuWaitObserver(
            "tester_preempted", lambda: list_listener_pids(trex.rpc_port) if is_local(trex.host) else ()
        )
