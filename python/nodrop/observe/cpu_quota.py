"""Detection of time in which a CPU quota kept tester or SUT off their CPUs: the kernel accounts for it nowhere else."""

from nodrop.model.trial import FIXED, Doubt, TrialResult
from nodrop.system.cpu_quota import CpuQuotaReader

THROTTLED_MAX_RATIO = 0.01
"""Highest throttled time without a doubt, in CPUs: a CPU loses about that share of its rate."""


class CpuQuotaObserver:
    """Watches the control groups of this process, if they have a quota; see `nodrop.observe.base.Observer`."""

    def __init__(self, reader: CpuQuotaReader) -> None:
        self._reader = reader
        self._before_s = reader.read_throttled_s()

    def begin_trial(self) -> None:
        """Record the throttled time so far."""
        self._before_s = self._reader.read_throttled_s()

    def end_trial(self, result: TrialResult) -> TrialResult:
        """Return the result, with a doubt if the quota stopped tester or SUT; invalid if frames are missing.

        A trial without a missing frame needs none: it passes beside the quota, so it passes without.
        """
        throttled_s = self._reader.read_throttled_s() - self._before_s
        quota = self._reader.read_quota()
        if quota is None or throttled_s <= THROTTLED_MAX_RATIO * result.duration_s:
            return result
        is_missing = bool(result.lost_count or result.unsent_count)
        doubt = Doubt.invalid if is_missing and result.phase != FIXED else Doubt.suspect
        return result.with_doubt(doubt("cpu_throttled", throttled_s=throttled_s, cpu_count=quota.cpu_count))
