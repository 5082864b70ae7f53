"""The measurements of one run: path check, search, trial at a fixed rate, latency trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodrop.errors import NoPathError, SearchTimeoutError
from nodrop.explain.decision_log import LoggedSearch
from nodrop.generator.base import Measurer, TrialInterrupted
from nodrop.model.goal import GoalResult
from nodrop.model.message import Message
from nodrop.model.plan import FixedRatePlan, Plan
from nodrop.model.result import LatencyResult, TrialPreview
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import FIXED, Trial, TrialResult, ValidityStatus
from nodrop.observe.base import Observer
from nodrop.run.recorder import RunRecorder
from nodrop.run.retries import check_retry_limit, check_valid, invalidate_tester_stalls, mark_disturbed
from nodrop.search.base import Outcome
from nodrop.search.goal_results import OUT_OF_TIME, compute_goal_results
from nodrop.stage.base import Stage
from nodrop.units import format_seconds


@dataclass(frozen=True)
class Session:
    """A path that is up and a generator connected to it. Every method records what it measures."""

    plan: Plan
    stage: Stage
    generator: Measurer
    observers: Sequence[Observer]
    """The last one is nearest to the trial."""
    recorder: RunRecorder
    clock: Callable[[], float]

    def check_path(self) -> None:
        """Send frames through every chain until they arrive or the plan's time is over, then restage once.

        Raises: NoPath.
        """
        timeout_s = self.plan.path_check_timeout_s
        end_s = self.clock() + timeout_s
        restaged: tuple[int, ...] = ()
        while True:
            try:
                self.recorder.record_path(self.generator.check_path(), self.stage.facts)
                return
            except NoPathError as fault:
                if self.clock() < end_s:
                    self.stage.check_alive()
                elif self.stage.restage(fault.chains):
                    restaged = fault.chains
                    end_s = self.clock() + timeout_s
                elif restaged:
                    chains = ", ".join(map(str, restaged))
                    note = f"the VMs of chain {chains} were re-created once in the meantime"
                    raise NoPathError(f"{fault}; {note}", fault.chains) from None
                else:
                    raise

    def search(self, search: LoggedSearch) -> None:
        """Measure the trials that the search asks for until it asks for no more. The only loop of a run.

        Raises: OutOfTime when the search needs more time than a plan without a budget allows.
        """
        plan, recorder = self.plan.search, self.recorder
        start_s = self.clock()
        while (trial := search.ask()) is not None:
            started_s = self.clock() - start_s
            if started_s + trial.duration_s > plan.search_duration_max_s:
                break
            measured = self._measure(trial, "search", search.preview(trial, started_s))
            result = invalidate_tester_stalls(measured, plan, recorder.trials)
            if result.validity.verdict is ValidityStatus.INVALID:
                recorder.record_trial(result)
                check_retry_limit(recorder.trials, plan.repeat_invalid)
                continue
            recorder.record_decision(search.tell(Outcome.of(result, started_s)), search.findings())
            recorder.record_trial(result, self._goal_results(search, [*recorder.trials, result]))
        recorder.goals = self._goal_results(search, recorder.trials, out_of_time=trial is not None)
        if not plan.budgeted and any(flag.code == OUT_OF_TIME for goal in recorder.goals for flag in goal.flags):
            raise SearchTimeoutError(_format_out_of_time(plan))

    def measure_fixed_rate(self, plan: FixedRatePlan) -> None:
        """Measure the one trial of a run at a fixed rate. It is not retried, as the user may be watching it.

        Raises: SearchError for an invalid trial, TrialInterrupted.
        """
        trial = Trial(
            intended_load_pps=plan.load_pps,
            duration_s=plan.duration_s,
            reason=Message.of("fixed-rate", rate=plan.asked),
        )
        try:
            result = self._measure(trial, FIXED)
        except TrialInterrupted as interrupt:
            self._record_fixed_rate(plan, interrupt.result)
            raise
        self._record_fixed_rate(plan, result)
        check_valid(result)

    def measure_latency(self) -> None:
        """Measure latency at the loads that the search found; a point without a valid trial is left out."""
        plan, recorder = self.plan.latency, self.recorder
        lower_pps = {goal.goal.label: goal.lower.load_pps for goal in recorder.goals if goal.lower}
        for point in plan.points:
            if point.goal_label not in lower_pps:
                continue
            load_pps = lower_pps[point.goal_label] * point.load_ratio
            trial = Trial(
                intended_load_pps=load_pps, duration_s=plan.duration_s, reason=Message.of("latency", point=point.label)
            )
            for _ in range(1 + self.plan.search.repeat_invalid):
                result = self._measure(trial, f"latency {point.label}")
                recorder.record_trial(result)
                if result.validity.verdict is not ValidityStatus.INVALID:
                    recorder.record_latency(
                        LatencyResult(label=point.label, load_pps=load_pps, trial_index=result.index)
                    )
                    break

    def _measure(self, trial: Trial, phase: str, preview: TrialPreview | None = None) -> TrialResult:
        index = self.recorder.start_trial(trial, phase, preview or TrialPreview())
        for observer in self.observers:
            observer.begin_trial()
        result = self.generator.measure(trial, index, phase, self.recorder.report_trial_progress)
        for observer in reversed(self.observers):
            result = observer.end_trial(result)
        return mark_disturbed(result)

    def _goal_results(
        self, search: LoggedSearch, trials: Sequence[TrialResult], *, out_of_time: bool = False
    ) -> tuple[GoalResult, ...]:
        shares_cpu = self.stage.facts.sut_shares_tester_cpu
        return compute_goal_results(self.plan.search, search.intervals(), trials, shares_cpu, out_of_time=out_of_time)

    def _record_fixed_rate(self, plan: FixedRatePlan, result: TrialResult) -> None:
        self.recorder.record_trial(result)
        if result.validity.verdict is not ValidityStatus.INVALID:
            self.recorder.record_latency(
                LatencyResult(label=plan.asked, load_pps=result.offered_load_pps, trial_index=result.index)
            )


def _format_out_of_time(plan: SearchPlan) -> str:
    return (
        f"the search needs more than {format_seconds(plan.search_duration_max_s)} (search.max_duration); allow more "
        "time, widen search.width, or accept the bounds known by then (--budget)"
    )
