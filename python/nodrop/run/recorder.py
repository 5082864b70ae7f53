"""What a run has said and measured so far, kept as a result when it is over, whatever ended it."""

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Self

from nodrop import store
from nodrop.errors import ConfigError, OutOfTime
from nodrop.host.check.disturbances import disturbances
from nodrop.model.event import (
    OnEvent,
    PathChecked,
    RunDone,
    RunStarted,
    StageProgress,
    StageUp,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from nodrop.model.facts import Facts, StageFacts
from nodrop.model.goal import Flag, GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import DirectionCheck, LatencyResult, RunResult, SearchStep, Status, TrialPreview
from nodrop.model.trial import Trial, TrialResult
from nodrop.system.signals import DeferredSignals


class RunRecorder:
    """Grows while a run goes on and tells of everything at once; a context manager around the whole run."""

    def __init__(self, plan: Plan, on_event: OnEvent, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = store.new_run_id()
        self.trials: list[TrialResult] = []
        self.goals: tuple[GoalResult, ...] = ()
        self.facts: Facts | None = None
        self.result: RunResult
        self._plan = plan
        self._on_event = on_event
        self._started_at = datetime.now(UTC).isoformat()
        self._clock = clock
        self._start_s = clock()
        self._checks: tuple[DirectionCheck, ...] = ()
        self._steps: list[SearchStep] = []
        self._findings: tuple[Flag, ...] = ()
        self._latencies: list[LatencyResult] = []
        self._signals = DeferredSignals()

    def __enter__(self) -> Self:
        """Tell of the start."""
        self._on_event(RunStarted(run_id=self.run_id, plan=self._plan))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Store what there is, also after an error. Raises ConfigError when it cannot be stored."""
        self._signals.defer()
        try:
            self._keep(error)
        finally:
            self._signals.release()

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        """Where Ctrl-C and SIGTERM may interrupt; they wait while the path is taken down and the result stored.

        To be entered last, so that it is left first.
        """
        try:
            yield
        finally:
            self._signals.defer()

    def staging(self, text: str, done_count: int, count: int) -> None:
        """Tell how far the stage is."""
        self._on_event(StageProgress(text=text, done_count=done_count, count=count))

    def settle(self, plan: Plan) -> Plan:
        """Keep the plan with what only the stage could say; gives it."""
        self._plan = plan
        return plan

    def stage_up(self, facts: Facts) -> None:
        """Keep what was found before the first frame."""
        self.facts = facts
        self._on_event(StageUp(facts=facts))

    def path_checked(self, checks: tuple[DirectionCheck, ...], stage: StageFacts) -> None:
        """Keep that frames went through, and what stood when they did."""
        if self.facts:
            self.facts = self.facts.model_copy(update={"stage": stage})
        self._checks = checks
        self._on_event(PathChecked(checks=checks))

    def trial_started(self, trial: Trial, phase: str, outlook: TrialPreview) -> int:
        """Tell of a trial and what may come of it; gives its index."""
        index = len(self.trials)
        self._on_event(TrialStarted(index=index, phase=phase, trial=trial, outlook=outlook))
        return index

    def trial_progress(self, elapsed_s: float, offered_count: int, received_count: int, lost_count: int = 0) -> None:
        """Tell how far the running trial is."""
        progress = TrialProgress(
            index=len(self.trials),
            elapsed_s=elapsed_s,
            offered_count=offered_count,
            received_count=received_count,
            lost_count=lost_count,
        )
        self._on_event(progress)

    def searched(self, step: SearchStep, findings: tuple[Flag, ...]) -> None:
        """Keep what a trial changed, and what the search has seen of the SUT by now."""
        self._steps.append(step)
        self._findings = findings

    def trial_done(self, result: TrialResult, goals: tuple[GoalResult, ...] | None = None) -> None:
        """Keep a trial and, when it moved them, the goals."""
        self.trials.append(result)
        self.goals = self.goals if goals is None else goals
        self._on_event(TrialDone(result=result, goals=self.goals))

    def latency_measured(self, latency: LatencyResult) -> None:
        """Keep which trial holds the latency at a load."""
        self._latencies.append(latency)

    def _keep(self, error: BaseException | None) -> None:
        self.result = RunResult(
            run_id=self.run_id,
            started_at=self._started_at,
            wall_s=self._clock() - self._start_s,
            status=_status(error),
            error=_sentence(error),
            plan=self._plan,
            facts=self.facts,
            checks=self._checks,
            trials=tuple(self.trials),
            goals=self.goals,
            steps=tuple(self._steps),
            findings=(*self._findings, *self._disturbances()),
            latencies=tuple(self._latencies),
        )
        try:
            path = str(store.save(self.result, self._plan.results_dir))
        except ConfigError:
            self._on_event(RunDone(result=self.result, path=None))
            raise
        self._on_event(RunDone(result=self.result, path=path))

    def _disturbances(self) -> tuple[Flag, ...]:
        """What of this machine may be behind trials that were doubtful."""
        plan = self._plan
        sut_cpus = sorted({each.core for each in plan.lab.forwarders if each.core is not None})
        return disturbances(self.trials, self.facts.chd if self.facts else None, plan.engine.cores, sut_cpus)


def _status(error: BaseException | None) -> Status:
    match error:
        case None:
            return Status.COMPLETE
        case KeyboardInterrupt():
            return Status.INTERRUPTED
        case OutOfTime():
            return Status.TIMED_OUT
    return Status.FAILED


def _sentence(error: BaseException | None) -> str | None:
    if error is None:
        return None
    return str(error) or type(error).__name__
