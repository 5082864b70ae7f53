"""Events of a run. Events are output only."""

from collections.abc import Callable

from nodrop.model.base import Value
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import DirectionCheck, RunResult, TrialPreview
from nodrop.model.suite import Suite
from nodrop.model.trial import Trial, TrialResult


class SuitePosition(Value):
    """The position of a run in its suite."""

    suite_id: str
    number: int
    """From 1."""
    count: int | None
    """Number of runs; None if results decide it."""
    variant: str = ""
    """The variant, `A` or `B`; empty without variants."""
    repeat: int = 1
    """Number of the repeat, from 1."""
    repeat_count: int = 1

    @property
    def text(self) -> str:
        """`3 of 10`, or `3` if the number of runs is unknown."""
        return f"{self.number} of {self.count}" if self.count else str(self.number)


class RunStarted(Value):
    """The plan is made; no change has been made to the system."""

    run_id: str
    plan: Plan
    place: SuitePosition | None = None
    """None for a run without a suite."""


class StageProgress(Value):
    """Progress of a slow stage."""

    text: str
    """The current step, e.g. `server nodrop-vm-3 is ACTIVE`."""
    done_count: int
    """Completed steps."""
    count: int
    """All steps known so far."""


class StageUp(Value):
    """The lab is up and the generator has opened its ports."""

    facts: Facts


class PathChecked(Value):
    """Learning frames passed in every direction."""

    checks: tuple[DirectionCheck, ...]


class TrialStarted(Value):
    """A trial is about to start."""

    index: int
    phase: str
    trial: Trial
    outlook: TrialPreview = TrialPreview()
    """What the trial may change in the search, and how long the search will take."""


class TrialProgress(Value):
    """Counts from the start of the running trial to the end of a window."""

    index: int
    elapsed_s: float
    offered_count: int
    received_count: int
    lost_count: int = 0
    """Frames certainly lost so far, excluding frames in flight."""


class TrialDone(Value):
    """A trial has its counts, and the goals their bounds so far."""

    result: TrialResult
    goals: tuple[GoalResult, ...]


class RunDone(Value):
    """The run is over."""

    result: RunResult
    path: str | None
    """Path of result.json; None if it could not be stored."""


class SuiteDone(Value):
    """All runs of a suite are over; each has its own event."""

    suite: Suite
    path: str | None
    """Path of suite.json; None if no run started."""


Event = (
    RunStarted | StageProgress | StageUp | PathChecked | TrialStarted | TrialProgress | TrialDone | RunDone | SuiteDone
)
OnEvent = Callable[[Event], None]
