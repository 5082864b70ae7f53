"""Collects the measurements of a run, reports them as events and stores the result, however the run ends."""

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Self

from nodrop import store
from nodrop.errors import ConfigError, SearchTimeoutError, StoreError
from nodrop.host.check.disturbances import find_disturbances
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
from nodrop.model.result import DirectionCheck, LatencyResult, RunResult, SearchDecision, Status, TrialPreview
from nodrop.model.trial import Trial, TrialResult
from nodrop.run.machine_lock import record_run_id
from nodrop.store.fallback import save_elsewhere
from nodrop.system.signals import DeferredSignals


class RunRecorder:
    """The record of a run in progress; a context manager around the entire run."""

    def __init__(self, plan: Plan, on_event: OnEvent, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = store.make_run_id()
        self.trials: list[TrialResult] = []
        self.goals: tuple[GoalResult, ...] = ()
        self.facts: Facts | None = None
        self.result: RunResult
        self._plan = plan
        self._on_event = on_event
        self._started_at = datetime.now(UTC).isoformat()
        self._clock = clock
        self.start_s = clock()
        """By the clock of the run."""
        self._checks: tuple[DirectionCheck, ...] = ()
        self._decisions: list[SearchDecision] = []
        self._findings: tuple[Flag, ...] = ()
        self._latencies: list[LatencyResult] = []
        self._signals = DeferredSignals()

    def __enter__(self) -> Self:
        """Report the start."""
        record_run_id(self.run_id)
        self._on_event(RunStarted(run_id=self.run_id, plan=self._plan))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Store the result, also after an error. Raises StoreError if it is not in its directory."""
        self._signals.defer()
        try:
            self._store(error)
        finally:
            self._signals.release()

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the run here; defer them while the path is brought down and the result stored.

        Enter it last, so that it exits first.
        """
        try:
            yield
        finally:
            self._signals.defer()

    def report_stage_progress(self, text: str, done_count: int, count: int) -> None:
        """Report the progress of a stage that is coming up."""
        self._on_event(StageProgress(text=text, done_count=done_count, count=count))

    def update_plan(self, plan: Plan) -> Plan:
        """Store and return the plan as completed by the stage or the generator."""
        self._plan = plan
        return plan

    def record_facts(self, facts: Facts) -> None:
        """Record everything known before the first frame."""
        self.facts = facts
        self._on_event(StageUp(facts=facts))

    def record_path(self, checks: tuple[DirectionCheck, ...], stage: StageFacts) -> None:
        """Record a successful path check, and the stage that was up during it."""
        if self.facts:
            self.facts = self.facts.replace(stage=stage)
        self._checks = checks
        self._on_event(PathChecked(checks=checks))

    def start_trial(self, trial: Trial, phase: str, preview: TrialPreview) -> int:
        """Report a trial and its possible consequences. Return its index."""
        index = len(self.trials)
        self._on_event(TrialStarted(index=index, phase=phase, trial=trial, outlook=preview))
        return index

    def report_trial_progress(
        self, elapsed_s: float, offered_count: int, received_count: int, lost_count: int = 0
    ) -> None:
        """Report the counts of the running trial since its start."""
        progress = TrialProgress(
            index=len(self.trials),
            elapsed_s=elapsed_s,
            offered_count=offered_count,
            received_count=received_count,
            lost_count=lost_count,
        )
        self._on_event(progress)

    def record_decision(self, decision: SearchDecision, findings: tuple[Flag, ...]) -> None:
        """Record the effect of a trial on the search, and all findings of the search so far."""
        self._decisions.append(decision)
        self._findings = findings

    def record_trial(self, result: TrialResult, goals: tuple[GoalResult, ...] | None = None) -> None:
        """Record a trial and, if it may have moved them, the goal results."""
        self.trials.append(result)
        self.goals = self.goals if goals is None else goals
        self._on_event(TrialDone(result=result, goals=self.goals))

    def record_latency(self, latency: LatencyResult) -> None:
        """Record which trial holds the latency at a load; it replaces that of an earlier bound."""
        self._latencies = [*(each for each in self._latencies if each.label != latency.label), latency]

    def _store(self, error: BaseException | None) -> None:
        self.result = RunResult(
            run_id=self.run_id,
            started_at=self._started_at,
            wall_s=self._clock() - self.start_s,
            status=_get_status(error),
            error=_format_error(error),
            plan=self._plan,
            facts=self.facts,
            checks=self._checks,
            trials=tuple(self.trials),
            goals=self.goals,
            steps=tuple(self._decisions),
            findings=(*self._findings, *self._host_findings()),
            latencies=tuple(self._latencies),
        )
        from nodrop.store.earlier_runs import find_earlier_runs  # imports a database, after the measurement

        self.result = self.result.replace(earlier_runs=find_earlier_runs(self.result))
        try:
            path = str(store.save(self.result, self._plan.results_dir))
        except ConfigError as problem:
            kept = save_elsewhere(lambda directory: store.save(self.result, directory))
            self._on_event(RunDone(result=self.result, path=str(kept) if kept else None))
            where = f"it is in {kept} instead" if kept else "nor anywhere else; its figures are above"
            raise StoreError(f"the result could not be stored: {problem}; {where}") from None
        self._on_event(RunDone(result=self.result, path=path))

    def _host_findings(self) -> tuple[Flag, ...]:
        """Return the properties of this host that may explain doubtful trials."""
        plan = self._plan
        chd = self.facts.chd if self.facts else None
        return find_disturbances(self.trials, chd, plan.engine.cores, plan.lab.sut_cores)


def _get_status(error: BaseException | None) -> Status:
    match error:
        case None:
            return Status.COMPLETE
        case KeyboardInterrupt():
            return Status.INTERRUPTED
        case SearchTimeoutError():
            return Status.TIMED_OUT
    return Status.FAILED


def _format_error(error: BaseException | None) -> str | None:
    if error is None:
        return None
    return str(error) or type(error).__name__
