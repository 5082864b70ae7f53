"""What a run says while it runs. Events go out, never back."""

from collections.abc import Callable

from nodrop.model.base import Value
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import DirectionCheck, RunResult, TrialPreview
from nodrop.model.suite import Suite
from nodrop.model.trial import Trial, TrialResult


class SuitePosition(Value):
    """Which of several runs one is."""

    suite_id: str
    number: int
    """From 1."""
    count: int
    variant: str = ""
    """Which of the set-ups measured in turn, `A` or `B`; empty where there is one."""
    repeat: int = 1
    """Which repeat of it, from 1."""
    repeat_count: int = 1


class RunStarted(Value):
    """The plan is made; nothing has been touched yet."""

    run_id: str
    plan: Plan
    place: SuitePosition | None = None
    """None for a run by itself."""


class StageProgress(Value):
    """How far a stage that takes its time is."""

    text: str
    """What it is about, as `server nodrop-vm-3 is ACTIVE`."""
    done_count: int
    """Steps taken."""
    count: int
    """Steps in all, as far as is known."""


class StageUp(Value):
    """The lab stands and the engine has opened its ports."""

    facts: Facts


class PathChecked(Value):
    """Learning frames went through in every direction."""

    checks: tuple[DirectionCheck, ...]


class TrialStarted(Value):
    """A trial is about to be offered."""

    index: int
    phase: str
    trial: Trial
    outlook: TrialPreview = TrialPreview()
    """What it may change in the search, and how long the search will take."""


class TrialProgress(Value):
    """One window of the running trial: counts since its start."""

    index: int
    elapsed_s: float
    offered_count: int
    received_count: int
    lost_count: int = 0
    """Frames certainly lost by then; what is on its way does not count."""


class TrialDone(Value):
    """A trial has its counts, and the goals what is known of them so far."""

    result: TrialResult
    goals: tuple[GoalResult, ...]


class RunDone(Value):
    """The run is over."""

    result: RunResult
    path: str | None
    """Where result.json is; None when it could not be stored."""


class SuiteDone(Value):
    """Several runs that belong together are over; each has said so before."""

    suite: Suite
    path: str | None
    """Where suite.json is; None when no run of it began."""


Event = (
    RunStarted | StageProgress | StageUp | PathChecked | TrialStarted | TrialProgress | TrialDone | RunDone | SuiteDone
)
OnEvent = Callable[[Event], None]
