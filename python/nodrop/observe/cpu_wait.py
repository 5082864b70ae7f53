"""Detection of other work on this machine that kept the SUT off its CPU during a trial."""

import os
from collections.abc import Sequence
from pathlib import Path

from nodrop.model.trial import Doubt, TrialResult

WAIT_MAX_RATIO = 0.01
"""Highest share of a trial that the SUT may wait for a CPU without a doubt: it loses about that share of its rate."""


WAKE_UP_S = 5e-6
"""Wait for a CPU that each wake-up costs on an idle machine."""


class SutCpuObserver:
    """Watches the forwarding processes, if any; see `nodrop.observe.base.Observer`."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._bound_to = {pid: _cpus(pid) for pid in pids}
        self._waits_before_s = self._waits_s()

    def begin_trial(self) -> None:
        """Record the waiting times so far."""
        self._waits_before_s = self._waits_s()

    def end_trial(self, result: TrialResult) -> TrialResult:
        """Return the result, with a doubt if the SUT waited for too long."""
        pairs = zip(self._waits_s(), self._waits_before_s, strict=True)
        waited_s = max((after - before for after, before in pairs), default=0.0)
        if waited_s <= WAIT_MAX_RATIO * result.duration_s:
            return result
        waited_ratio = waited_s / result.duration_s if result.duration_s else 1.0
        return result.with_doubt(Doubt.suspect("sut_preempted", waited_s=waited_s, waited_ratio=waited_ratio))

    def _waits_s(self) -> tuple[float, ...]:
        """Return how long each process has been runnable while other work had its CPU, in seconds.

        Time that another SUT process ran on the same CPU does not count: sharing a CPU within the SUT is the SUT's
        design.
        """
        times = {pid: _read(pid) for pid in self._bound_to}
        return tuple(times[pid][1] - sum(times[fellow][0] for fellow in self._fellows(pid)) for pid in times)

    def _fellows(self, pid: int) -> list[int]:
        """Return the other SUT processes that are bound to the same single CPU."""
        cpus = self._bound_to[pid]
        return [other for other, theirs in self._bound_to.items() if other != pid and len(cpus) == 1 and theirs == cpus]


def _cpus(pid: int) -> set[int]:
    try:
        return os.sched_getaffinity(pid)
    except OSError:  # the process ended
        return set()


def _read(pid: int) -> tuple[float, float]:
    """Return time on the CPU and time waiting for one, in seconds (Documentation/scheduler/sched-stats.rst)."""
    try:
        ran, waited, slices = Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()
        return int(ran) / 1e9, int(waited) / 1e9 - int(slices) * WAKE_UP_S
    except (OSError, ValueError):  # the process ended, or this kernel is built without schedstats
        return 0.0, 0.0
