"""The one interface of all searches: ask for a trial, be told what came of it."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nodrop.model.base import Value
from nodrop.model.goal import Flag, Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial, TrialResult


class Sample(NamedTuple):
    """Counts since the start of a trial, at the end of a window."""

    elapsed_s: float
    offered_count: int
    lost_count: int
    """Frames lost by then, as is known when the trial is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search learns of a trial it asked for."""

    index: int
    """The trial's position in the run, so that bounds can point at it."""
    loss_ratio: float
    """Lost share in [0, 1], unsent frames included."""
    elapsed_s: float = 0.0
    """Time really sent; shorter than asked when the stop rule fired. 0 from a measurer that always sends as asked."""
    intended_count: int = 0
    """Frames that the load and the time really sent ask for."""
    offered_count: int = 0
    lost_count: int = 0
    """Frames sent that did not arrive."""
    unsent_count: int = 0
    """Frames the tester failed to send, beyond its tolerance."""
    stopped_early: bool = False
    samples: tuple[Sample, ...] = ()
    """The trial window by window; empty from measurers that only know totals."""
    started_s: float = 0.0
    """Seconds from the start of the search to the start of this trial, as whoever measures tells."""

    @classmethod
    def of(cls, result: TrialResult, started_s: float) -> "Outcome":
        """A trial's result as a search sees it."""
        return cls(
            index=result.index,
            loss_ratio=result.loss_ratio,
            elapsed_s=result.duration_s,
            intended_count=result.intended_count,
            offered_count=result.offered_count,
            lost_count=result.lost_count,
            unsent_count=result.unsent_count,
            stopped_early=result.stopped_early,
            samples=_samples(result),
            started_s=started_s,
        )


def _samples(result: TrialResult) -> tuple[Sample, ...]:
    """Window by window up to the end of sending; what came in after that still counts for the last one."""
    windows = result.windows
    samples = []
    offered_count = lost_count = 0
    for position, end_s in enumerate(windows.end_s):
        offered_count += sum(stream[position] for stream in windows.offered_count)
        lost_count += sum(stream[position] for stream in windows.lost_count)
        samples.append(Sample(min(end_s, result.duration_s), offered_count, lost_count))
    return tuple(samples) if windows.lost_count else ()


class Interval(Value):
    """What a search knows of one goal: on either side the tightest valid bound of the longest trials that have one.

    A bound is valid when it is on its side of the goal by the search's own rule; invalid ones are the nearest load
    measured by the longest trials.
    """

    goal: Goal
    lower_index: int | None
    """Index of the trial that is the lower bound; None before there is any."""
    lower_load_pps: float | None
    lower_valid: bool
    upper_index: int | None
    upper_load_pps: float | None
    upper_valid: bool
    final: bool
    """Both bounds are as sure as the search ever makes them: measured at the final trial duration, or classified."""
    conditional_throughput_pps: float | None = None
    estimate_pps: float | None = None
    estimate_sd_pps: float | None = None
    lower_error_probability: float | None = None
    upper_error_probability: float | None = None
    loss_ratio_limit: float | None = None
    flags: tuple[Flag, ...] = ()
    """What the bounds alone hide: an invalid or degenerate one, a goal given up, a limit that is the tester's."""

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
    """A dialogue: `ask`, measure, `tell`, until `ask` gives None.

    Pure: a search knows no clock and does nothing but answer, so the same outcomes always lead to the same trials.
    """

    def ask(self) -> Trial | None:
        """The next trial wanted, the same one until it is told about; None when the search is over."""

    def tell(self, outcome: Outcome) -> None:
        """Answer the last `ask`."""

    def intervals(self) -> tuple[Interval, ...]:
        """One per goal, in the goals' order; may be asked at any time, also half-way."""

    def findings(self) -> tuple[Flag, ...]:
        """What the search saw beyond the goals; may be asked at any time."""


Dialogue = Generator[Trial, Outcome, None]
"""Gives the trial wanted next, is sent what came of it."""


class DialogueSearch(ABC):
    """A search written as one generator; see `Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._dialogue = self._search()
        self._wanted: Trial | None = next(self._dialogue, None)

    def ask(self) -> Trial | None:
        """The next trial wanted, the same one until it is told about; None when the search is over."""
        return self._wanted

    def tell(self, outcome: Outcome) -> None:
        """Answer the last `ask`."""
        if self._wanted is None:
            raise RuntimeError("the search is over: told of a trial it did not ask for")
        try:
            self._wanted = self._dialogue.send(outcome)
        except StopIteration:
            self._wanted = None

    @abstractmethod
    def intervals(self) -> tuple[Interval, ...]:
        """One per goal, in the goals' order; may be asked at any time, also half-way."""

    def findings(self) -> tuple[Flag, ...]:
        """What the search saw beyond the goals; most searches do not look."""
        return ()

    @abstractmethod
    def _search(self) -> Dialogue:
        """All trials from the first to the last."""
