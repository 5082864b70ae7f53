"""A trial offered to a simulated SUT window by window, until its end or until its stop rule fires."""

import math
from typing import NamedTuple

from nodrop.model.trial import UNSENT_TOLERANCE_S, WINDOW_S, StopClause, StopRule, Trial
from nodrop.simulation.sut import Sut


class OfferedTrial(NamedTuple):
    """Counts of a trial since its start, at the end of each window."""

    end_s: list[float]
    offered_count: list[int]
    lost_count: list[int]
    intended_count: int
    stopped_by: StopClause | None

    @property
    def elapsed_s(self) -> float:
        """Actual sending time."""
        return self.end_s[-1]

    @property
    def unsent_count(self) -> int:
        """Frames the tester failed to send, beyond the tolerance; see `TrialResult.unsent_count`."""
        short = self.intended_count - self.offered_count[-1]
        return short if short > max(1.0, self.intended_count / self.elapsed_s * UNSENT_TOLERANCE_S) else 0

    @property
    def loss_ratio(self) -> float:
        """See `TrialResult.loss_ratio`."""
        counted = self.offered_count[-1] + self.unsent_count
        return (self.lost_count[-1] + self.unsent_count) / counted if counted else 1.0


def offer_trial(sut: Sut, trial: Trial, start_s: float) -> OfferedTrial:
    """Offer the trial to the SUT at that time, and notify the SUT if the trial is stopped early."""
    timeline = sut.offer(trial.intended_load_pps, trial.duration_s, start_s)
    end_s = _list_window_ends_s(trial.duration_s)
    offered_count, lost_count = timeline.counts(end_s)
    stopped_by = None
    if trial.stop:
        stopped_by, count = _find_first_stop(trial.stop, end_s, lost_count)
        end_s, offered_count, lost_count = end_s[:count], offered_count[:count], lost_count[:count]
    if stopped_by:
        sut.stop(end_s[-1])
    return OfferedTrial(end_s, offered_count, lost_count, round(trial.intended_load_pps * end_s[-1]), stopped_by)


def _list_window_ends_s(duration_s: float) -> list[float]:
    count = max(1, math.ceil(duration_s / WINDOW_S - 1e-9))
    return [WINDOW_S * position for position in range(1, count)] + [duration_s]


def _find_first_stop(stop: StopRule, end_s: list[float], lost_count: list[int]) -> tuple[StopClause | None, int]:
    """Return the clause that ends the trial early, if any, and the number of windows until then."""
    first_loss_s = None
    for count, (elapsed_s, lost) in enumerate(zip(end_s[:-1], lost_count[:-1], strict=True), start=1):
        if lost and first_loss_s is None:
            first_loss_s = elapsed_s
        clause = stop.fires(elapsed_s, lost, first_loss_s)
        if clause:
            return clause, count
    return None, len(end_s)
