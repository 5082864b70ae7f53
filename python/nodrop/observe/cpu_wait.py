"""Detection of other work on this machine that kept the tester or the SUT off its CPUs during a trial."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from nodrop.model.trial import Doubt, TrialResult

WAIT_MAX_RATIO = 0.01
"""Highest share of a trial that a thread may wait for a CPU without a doubt: it loses about that share of its rate."""
BUSY_MIN_RATIO = 0.1
"""Threads that run for less than this share of the busiest thread's time do not forward frames."""
WAKE_UP_S = 5e-6
"""Wait for a CPU that each wake-up costs on an idle machine."""


class ThreadTimes(NamedTuple):
    """Times of a thread since its start, in seconds."""

    ran_s: float
    waited_s: float
    """Runnable while other work had its CPU."""
    cpus: frozenset[int]
    """CPUs that it may use."""


class CpuWaitObserver:
    """Watches all threads of processes, if any; see `nodrop.observe.base.Observer`."""

    def __init__(self, doubt_code: str, list_pids: Callable[[], Iterable[int]]) -> None:
        """Prepare to watch the processes that `list_pids` returns before a trial; a long wait is this doubt."""
        self._doubt_code = doubt_code
        self._list_pids = list_pids
        self._before: dict[int, ThreadTimes] = {}

    def begin_trial(self) -> None:
        """Record the times so far."""
        self._before = dict(_read_threads(self._list_pids()))

    def end_trial(self, result: TrialResult) -> TrialResult:
        """Return the result, with a doubt if a busy thread waited for too long."""
        times = {tid: _subtract(now, before) for tid, before in self._before.items() if (now := _read_thread(tid))}
        busiest_s = max((each.ran_s for each in times.values()), default=0.0)
        busy = [tid for tid, each in times.items() if each.ran_s >= BUSY_MIN_RATIO * busiest_s]
        waited_s = max((_wait_for_others_s(tid, times) for tid in busy), default=0.0)
        if waited_s <= WAIT_MAX_RATIO * result.duration_s:
            return result
        waited_ratio = min(1.0, waited_s / result.duration_s) if result.duration_s else 1.0
        return result.with_doubt(Doubt.suspect(self._doubt_code, waited_s=waited_s, waited_ratio=waited_ratio))


def _wait_for_others_s(tid: int, times: Mapping[int, ThreadTimes]) -> float:
    """Return how long a thread waited while none of the watched threads had its CPU.

    Threads that are bound to one CPU share it by design.
    """
    own = times[tid]
    fellows = [each for other, each in times.items() if other != tid and len(own.cpus) == 1 and each.cpus == own.cpus]
    return own.waited_s - sum(each.ran_s for each in fellows)


def _read_threads(pids: Iterable[int]) -> Iterable[tuple[int, ThreadTimes]]:
    for pid in pids:
        for tid in _list_threads(pid):
            if times := _read_thread(tid):
                yield tid, times


def _list_threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - names are numbers
    except OSError:  # the process ended
        return []


def _read_thread(tid: int) -> ThreadTimes | None:
    """Return a thread's times (Documentation/scheduler/sched-stats.rst); None if it ended or the kernel has none."""
    try:
        ran, waited, slices = Path(f"/proc/{tid}/schedstat").read_text(encoding="utf-8").split()
        cpus = frozenset(os.sched_getaffinity(tid))
    except (OSError, ValueError):
        return None
    return ThreadTimes(int(ran) / 1e9, int(waited) / 1e9 - int(slices) * WAKE_UP_S, cpus)


def _subtract(now: ThreadTimes, before: ThreadTimes) -> ThreadTimes:
    return now._replace(ran_s=now.ran_s - before.ran_s, waited_s=now.waited_s - before.waited_s)
