"""Whether other work on this machine kept the SUT from running while it was measured."""

import os
from collections.abc import Sequence
from pathlib import Path

from nodrop.model.trial import Doubt, TrialResult, Validity, ValidityStatus
from nodrop.units import format_ratio, format_seconds

WAIT_MAX_RATIO = 0.01
"""Largest share of a trial the SUT may be kept off its CPU unremarked: it loses about as much of its rate."""


class SutCpuObserver:
    """Watches the processes that forward, see `nodrop.observe.base.Observer`; nothing when there are none to watch."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._bound_to = {pid: _cpus(pid) for pid in pids}
        self._waits_before_s = self._waits_s()

    def before(self) -> None:
        """Remember how long they had waited by now."""
        self._waits_before_s = self._waits_s()

    def after(self, result: TrialResult) -> TrialResult:
        """The result, with a doubt when the SUT had to wait noticeably."""
        pairs = zip(self._waits_s(), self._waits_before_s, strict=True)
        waited_s = max((after - before for after, before in pairs), default=0.0)
        if waited_s <= WAIT_MAX_RATIO * result.duration_s:
            return result
        share = format_ratio(waited_s / result.duration_s) if result.duration_s else "all"
        doubt = Doubt(
            code="sut_preempted",
            verdict=ValidityStatus.SUSPECT,
            text=f"other work kept the SUT off its CPU for {format_seconds(waited_s)} ({share} of the trial)",
        )
        validity = result.validity
        verdict = ValidityStatus.SUSPECT if validity.verdict is ValidityStatus.VALID else validity.verdict
        return result.model_copy(update={"validity": Validity(verdict=verdict, doubts=(*validity.doubts, doubt))})

    def _waits_s(self) -> tuple[float, ...]:
        """How long each process has so far been ready to run while other work had its CPU, in seconds.

        DeviceKind a fellow process on the same CPU ran is taken off: how the SUT shares a CPU is its own affair.
        """
        times = {pid: _read(pid) for pid in self._bound_to}
        return tuple(times[pid][1] - sum(times[fellow][0] for fellow in self._fellows(pid)) for pid in times)

    def _fellows(self, pid: int) -> list[int]:
        """Other processes bound to the one CPU that this one is bound to."""
        cpus = self._bound_to[pid]
        return [other for other, theirs in self._bound_to.items() if other != pid and len(cpus) == 1 and theirs == cpus]


def _cpus(pid: int) -> set[int]:
    try:
        return os.sched_getaffinity(pid)
    except OSError:  # it ended
        return set()


def _read(pid: int) -> tuple[float, float]:
    """Time on the CPU and time waiting for one (Documentation/scheduler/sched-stats.rst), in seconds."""
    try:
        ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):  # it ended, or this kernel keeps no such account
        return 0.0, 0.0
