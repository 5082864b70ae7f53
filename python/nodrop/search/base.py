"""The interface of all searches: ask for a trial, tell its outcome."""

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nodrop.model.base import Value
from nodrop.model.goal import Flag, Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial, TrialResult

DISTURBED_WINDOW_MAX_RATIO = 0.5
"""Share of disturbed time above which a window does not show the forwarding rate."""


class Sample(NamedTuple):
    """Counts since the start of a trial, at the end of a window."""

    elapsed_s: float
    offered_count: int
    lost_count: int
    """Frames lost until then, as known at the end of the trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a trial, as a search sees it."""

    index: int
    """The trial's position in the run, to which bounds refer."""
    is_undecided: bool = False
    """Whether too little of it was undisturbed to tell if its load meets a goal; see `Search.accepts_undecided`."""
    loss_ratio: float
    """Lost share in [0, 1], unsent frames included."""
    elapsed_s: float = 0.0
    """Time of sending; shorter than requested if the stop rule fired. 0: as requested."""
    intended_count: int = 0
    """Frames due at this load in the time of sending."""
    offered_count: int = 0
    lost_count: int = 0
    """Frames offered that did not arrive."""
    unsent_count: int = 0
    """Frames the tester failed to send, beyond its tolerance."""
    stopped_early: bool = False
    samples: tuple[Sample, ...] = ()
    """The trial window by window; empty if the measurer only has totals."""
    forwarding_pps: tuple[float, ...] = ()
    """Receive rates of windows within it, without disturbed time; empty if unknown."""
    wall_s: float = 0.0
    """Time of sending with the disturbed time that `elapsed_s` leaves out; 0: the same."""
    requested_s: float = 0.0
    """Duration requested of the measurer, if the remaining time allowed less than the search requested; 0: the same."""
    started_s: float = 0.0
    """Time from the start of the search to the start of this trial, by the measurer's clock."""

    @classmethod
    def of(cls, result: TrialResult, started_s: float) -> "Outcome":
        """Return the outcome of a trial's result, without disturbed time if that was separated."""
        judged = result.judged_counts
        has_all_time = result.undisturbed_counts is None
        return cls(
            index=result.index,
            loss_ratio=result.judged_loss_ratio,
            elapsed_s=judged.duration_s,
            wall_s=0.0 if has_all_time else result.duration_s,
            intended_count=result.intended_count if has_all_time else judged.offered_count + judged.unsent_count,
            offered_count=judged.offered_count,
            lost_count=judged.lost_count,
            unsent_count=judged.unsent_count,
            stopped_early=result.stopped_early,
            samples=_list_samples(result),
            forwarding_pps=_list_forwarding_rates(result),
            requested_s=result.trial.duration_s,
            started_s=started_s,
            is_undecided=result.is_undecided,
        )


def _list_samples(result: TrialResult) -> tuple[Sample, ...]:
    """Return cumulative counts per window, without disturbed time.

    Frames that arrive after the end of sending count for the last window.
    """
    windows, disturbed = result.windows, result.windows.disturbed_time if result.undisturbed_counts else None
    samples = []
    offered_count = lost_count = 0
    disturbed_s = 0.0
    for position, end_s in enumerate(windows.end_s):
        offered_count += sum(stream[position] for stream in windows.offered_count)
        lost_count += sum(stream[position] for stream in windows.lost_count)
        if disturbed:
            offered_count -= sum(stream[position] for stream in disturbed.offered_count)
            lost_count -= sum(stream[position] for stream in disturbed.lost_count)
            disturbed_s += disturbed.time_s[position]
        samples.append(Sample(max(0.0, min(end_s, result.duration_s) - disturbed_s), offered_count, lost_count))
    return tuple(samples) if windows.lost_count else ()


def _list_forwarding_rates(result: TrialResult) -> tuple[float, ...]:
    windows, disturbed = result.windows, result.windows.disturbed_time
    received = _sum_columns(windows.received_count)
    if not disturbed:
        return list_forwarding_rates(windows.end_s, received)
    # Results of earlier versions do not have the frames received in disturbed time.
    left_out = _sum_columns(disturbed.received_count)
    time_s = disturbed.time_s if left_out else tuple(math.inf if each else 0.0 for each in disturbed.time_s)
    return list_forwarding_rates(windows.end_s, received, time_s, left_out or [0] * len(received))


def _sum_columns(counts: Sequence[Sequence[int]]) -> list[int]:
    """Return the frames of all series in each window."""
    return [sum(column) for column in zip(*counts, strict=True)]


def list_forwarding_rates(
    end_s: Sequence[float],
    received_count: Sequence[int],
    disturbed_s: Sequence[float] = (),
    disturbed_count: Sequence[int] = (),
) -> tuple[float, ...]:
    """Return the receive rates of windows, in pps, without disturbed time, the first window and the last.

    The first has frames that fill the queues of the SUT, the last those that leave them after the end of sending.
    Windows that were disturbed for most of their time are left out.

    Args:
        end_s: end of each window.
        received_count: frames received within each window; empty if unknown.
        disturbed_s: disturbed time within each window; empty without any.
        disturbed_count: frames received in that time.
    """
    if not received_count:
        return ()
    rates = []
    for position in range(1, len(end_s) - 1):
        window_s = end_s[position] - end_s[position - 1]
        clean_s = window_s - (disturbed_s[position] if disturbed_s else 0.0)
        if clean_s >= DISTURBED_WINDOW_MAX_RATIO * window_s:
            count = received_count[position] - (disturbed_count[position] if disturbed_count else 0)
            rates.append(count / clean_s)
    return tuple(rates)


class Interval(Value):
    """The bounds of one goal: on either side the tightest valid bound of the longest trials that have one.

    A bound is valid if it is on its side of the goal by the search's own rule; an invalid one is the nearest load
    measured by the longest trials.
    """

    goal: Goal
    lower_index: int | None
    """Index of the trial of the lower bound; None before the first."""
    lower_load_pps: float | None
    lower_valid: bool
    upper_index: int | None
    upper_load_pps: float | None
    upper_valid: bool
    final: bool
    """Both bounds are as certain as the search makes them: measured at the final trial duration, or classified."""
    conditional_throughput_pps: float | None = None
    estimate_pps: float | None = None
    estimate_sd_pps: float | None = None
    lower_error_probability: float | None = None
    upper_error_probability: float | None = None
    loss_ratio_limit: float | None = None
    flags: tuple[Flag, ...] = ()
    """Facts that the bounds hide: an invalid or degenerate one, an abandoned goal, a limit of the tester."""

    @classmethod
    def unknown(cls, goal: Goal) -> "Interval":
        """Return an interval without bounds."""
        return cls(
            goal=goal,
            lower_index=None,
            lower_load_pps=None,
            lower_valid=False,
            upper_index=None,
            upper_load_pps=None,
            upper_valid=False,
            final=False,
        )


class Search(Protocol):
    """A dialogue: `ask`, measure, `tell`, until `ask` returns None.

    Pure: a search has no clock and no side effects, so the same outcomes always lead to the same trials.
    """

    accepts_undecided: bool
    """Whether it receives undecided trials, to go on with another load; published searches repeat them instead."""

    def ask(self) -> Trial | None:
        """Return the next trial, the same one until its outcome is reported; None if the search is over."""

    def tell(self, outcome: Outcome) -> None:
        """Report the outcome of the trial last requested."""

    def add_evidence(self, trial: Trial, outcome: Outcome) -> bool:
        """Report a trial that the search did not request, after its end; it may then request more trials.

        Returns: whether the trial counts; published searches know no other trials than their own.
        """

    def intervals(self) -> tuple[Interval, ...]:
        """Return one interval per goal, in the goals' order, at any time of the search."""

    def findings(self) -> tuple[Flag, ...]:
        """Return findings beyond the goals, at any time of the search."""


Dialogue = Generator[Trial, Outcome, None]
"""Yields the next trial, is sent its outcome."""


class DialogueSearch(ABC):
    """A search as one generator; see `Search`."""

    accepts_undecided = False

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._dialogue = self._search()
        self._trial: Trial | None = next(self._dialogue, None)

    def ask(self) -> Trial | None:
        """Return the next trial, the same one until its outcome is reported; None if the search is over."""
        return self._trial

    def tell(self, outcome: Outcome) -> None:
        """Report the outcome of the trial last requested."""
        if self._trial is None:
            raise RuntimeError("the search is over, but received an outcome")
        try:
            self._trial = self._dialogue.send(outcome)
        except StopIteration:
            self._trial = None

    def add_evidence(self, trial: Trial, outcome: Outcome) -> bool:  # noqa: ARG002
        """Ignore a trial that the search did not request."""
        return False

    @abstractmethod
    def intervals(self) -> tuple[Interval, ...]:
        """Return one interval per goal, in the goals' order, at any time of the search."""

    def findings(self) -> tuple[Flag, ...]:
        """Return findings beyond the goals; none for most searches."""
        return ()

    @abstractmethod
    def _search(self) -> Dialogue:
        """Yield all trials from the first to the last."""
