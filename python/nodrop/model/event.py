"""What a run says while it runs. Events go out, never back."""

from collections.abc import Callable

from nodrop.model.base import Value
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import DirectionCheck, Outlook, RunResult
from nodrop.model.trial import Trial, TrialResult


class RunStarted(Value):
    """The plan is made; nothing has been touched yet."""

    run_id: str
    plan: Plan


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
    outlook: Outlook = Outlook()
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


Event = RunStarted | StageUp | PathChecked | TrialStarted | TrialProgress | TrialDone | RunDone
OnEvent = Callable[[Event], None]
