"""Whether other work on this machine kept the SUT from running while it was measured."""

from pathlib import Path

from nodrop.model.trial import Doubt, TrialResult, Validity, Verdict
from nodrop.units import format_ratio, format_seconds

WAIT_MAX_RATIO = 0.01
"""Largest share of a trial the SUT may be kept off its CPU unremarked: it loses about as much of its rate."""


class SutCpu:
    """Watches the process that forwards, see `nodrop.observe.base.Observer`; nothing when there is none to watch."""

    def __init__(self, pid: int | None) -> None:
        self._path = Path(f"/proc/{pid}/schedstat") if pid else None
        self._waited_before_s = 0.0

    def before(self) -> None:
        """Remember how long it had waited by now."""
        self._waited_before_s = self._wait_s()

    def after(self, result: TrialResult) -> TrialResult:
        """The result, with a doubt when the SUT had to wait noticeably."""
        waited_s = self._wait_s() - self._waited_before_s
        if waited_s <= WAIT_MAX_RATIO * result.duration_s:
            return result
        share = format_ratio(waited_s / result.duration_s) if result.duration_s else "all"
        doubt = Doubt(
            code="sut_preempted",
            verdict=Verdict.SUSPECT,
            text=f"other work kept the SUT off its CPU for {format_seconds(waited_s)} ({share} of the trial)",
        )
        validity = result.validity
        verdict = Verdict.SUSPECT if validity.verdict is Verdict.VALID else validity.verdict
        return result.model_copy(update={"validity": Validity(verdict=verdict, doubts=(*validity.doubts, doubt))})

    def _wait_s(self) -> float:
        """How long the process has so far been ready to run while other work had its CPU, in seconds."""
        if not self._path:
            return 0.0
        try:
            # Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting for one, number of time slices.
            return int(self._path.read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):  # it ended, or this kernel keeps no such account
            return 0.0
