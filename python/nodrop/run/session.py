"""The measurements of one run: search, trial at a fixed rate, latency trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodrop.errors import SearchTimeoutError, StageError
from nodrop.explain.decision_log import LoggedSearch
from nodrop.generator.base import Measurer, TrialInterrupted
from nodrop.model.goal import OUT_OF_TIME, Goal, GoalResult
from nodrop.model.message import Message
from nodrop.model.plan import FixedRatePlan, LatencyPoint, Plan
from nodrop.model.result import LatencyResult, TrialPreview
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import FIXED, SEARCH, WARM_UP, Trial, TrialResult, ValidityStatus
from nodrop.observe.base import Observer
from nodrop.plan.time_allotment import TimeAllotment
from nodrop.run.event_schedule import EventSchedule
from nodrop.run.recorder import RunRecorder
from nodrop.run.retries import check_burst, check_retry_limit, check_valid, invalidate_tester_stalls, mark_disturbed
from nodrop.search.base import Outcome
from nodrop.search.goal_results import compute_goal_results, flag_refuted_bounds
from nodrop.stage.base import Stage
from nodrop.units import format_seconds

REFUTATIONS_MAX = 3
"""Latency trials that may refute a bound; losses at random refute each one sooner or later."""


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
    allotment: TimeAllotment
    rest: Callable[[float], None]
    """Waits for a time in seconds, without traffic."""

    def measure_goals(self, search: LoggedSearch) -> None:
        """Search, then measure latency at the bounds; search on where a latency trial refutes its bound.

        Raises: SearchTimeoutError when the search needs more time than a plan without a budget allows.
        """
        start_s = self.clock()
        latency_loads_pps: dict[str, float] = {}
        for refutation_count in range(REFUTATIONS_MAX + 1):
            self._search_loads(search, start_s)
            is_evidence = search.ask() is None and refutation_count < REFUTATIONS_MAX
            if not self._measure_latency(latency_loads_pps, search if is_evidence else None, start_s):
                break
        self.recorder.goals = flag_refuted_bounds(self.recorder.goals, self.recorder.trials)

    def _search_loads(self, search: LoggedSearch, start_s: float) -> None:
        """Measure the trials that the search asks for until it asks for no more. The only loop of a run."""
        plan, recorder = self.plan.search, self.recorder
        while (requested := search.ask()) is not None:
            started_s = self.clock() - start_s
            trial = plan.fit_trial(requested, started_s)
            if trial is None:
                break
            remaining_s = plan.search_duration_max_s - started_s
            limited = self.allotment.limit_extension(plan, trial, remaining_s, self.clock())
            measured = self._measure(limited, SEARCH, search.preview(trial, started_s))
            if not any(self._has_latency(measured, goal) for goal in plan.goals):
                measured = measured.without_histograms()
            result = invalidate_tester_stalls(measured, plan, recorder.trials)
            if result.validity.verdict is ValidityStatus.INVALID:
                if result.is_undecided and search.accepts_undecided:
                    recorder.record_decision(search.tell(Outcome.of(result, started_s)), search.findings())
                recorder.record_trial(result)
                check_retry_limit(recorder.trials, plan.repeat_invalid)
                continue
            recorder.record_decision(search.tell(Outcome.of(result, started_s)), search.findings())
            recorder.record_trial(result, self._goal_results(search, [*recorder.trials, result]))
        recorder.goals = self._goal_results(search, recorder.trials, out_of_time=requested is not None)
        if requested is not None and not recorder.goals and not search.findings():
            raise SearchTimeoutError(_format_out_of_time(plan))
        if not plan.budgeted and any(flag.code == OUT_OF_TIME for goal in recorder.goals for flag in goal.flags):
            raise SearchTimeoutError(_format_out_of_time(plan))

    def measure_fixed_rate(self, plan: FixedRatePlan) -> None:
        """Measure the one trial of a run at a fixed rate. It is not retried, as the user may be watching it.

        Raises: SearchError for an invalid trial, TrialInterrupted.
        """
        trial = Trial(
            intended_load_pps=plan.load_pps,
            load_phases=plan.load_phases,
            duration_s=plan.duration_s,
            burst=plan.is_burst,
            rest_s=plan.rest_s,
            reason=Message.of("fixed-rate", rate=plan.asked),
        )
        try:
            result = self._measure(trial, FIXED)
        except TrialInterrupted as interrupt:
            self._record_fixed_rate(plan, interrupt.result)
            raise
        self._record_fixed_rate(plan, result)
        check_valid(result)
        if problem := next((event.problem for event in result.events if event.problem), ""):
            raise StageError(problem)

    def _measure_latency(self, loads_pps: dict[str, float], search: LoggedSearch | None, start_s: float) -> bool:
        """Measure latency at the loads that the search found; a point without a valid trial is left out.

        Args:
            loads_pps: the load of each point measured before, which is not measured again; updated.
            search: the search for which trials at its bounds are evidence; None if they are not.
            start_s: its start, by the clock.

        Returns: whether the search goes on because of such a trial; the remaining points are not measured then.
        """
        goals = {goal.goal.label: goal for goal in self.recorder.goals}
        points = self.plan.latency.points
        for index, point in enumerate(points):
            goal = goals.get(point.goal_label)
            if goal is None or goal.lower is None:
                continue
            load_pps = goal.lower.load_pps * point.load_ratio
            if loads_pps.get(point.label) == load_pps:
                continue
            loads_pps[point.label] = load_pps
            trial = self._find_search_trial(goal, load_pps) or self._measure_latency_trial(
                point, load_pps, search if point.is_at_bound else None, start_s, len(points) - index
            )
            if trial:
                self.recorder.record_latency(
                    LatencyResult(label=point.label, load_pps=load_pps, trial_index=trial.index)
                )
            if search and search.ask() is not None:
                return True
        return False

    def _find_search_trial(self, goal: GoalResult, load_pps: float) -> TrialResult | None:
        """Return the latest trial of the search that has the latency at a load; None if it must be measured.

        It has run for long enough and met the goal with all its frames, so that other work disturbed it little.
        """
        if self.plan.capture and self.plan.capture.trials == "latency":
            return None
        suitable = (
            trial
            for trial in reversed(self.recorder.trials)
            if trial.trial.intended_load_pps == load_pps
            and trial.validity.verdict is not ValidityStatus.INVALID
            and self._has_latency(trial, goal.goal)
        )
        return next(suitable, None)

    def _has_latency(self, trial: TrialResult, goal: Goal) -> bool:
        """Return whether a trial may show the latency at a bound of the goal."""
        latency = self.plan.latency
        is_long = bool(latency.points) and trial.duration_s >= latency.duration_s
        return is_long and trial.loss_ratio <= goal.loss_ratio and all(way.latency for way in trial.directions)

    def _measure_latency_trial(
        self, point: LatencyPoint, load_pps: float, search: LoggedSearch | None, start_s: float, point_count: int
    ) -> TrialResult | None:
        recorder = self.recorder
        for _ in range(1 + self.plan.search.repeat_invalid):
            duration_s = self.allotment.limit_latency_s(self.plan, point_count, self.clock())
            if duration_s is None:
                return None
            trial = Trial(
                intended_load_pps=load_pps,
                duration_s=duration_s,
                reason=Message.of("latency", point=point.label),
            )
            started_s = self.clock() - start_s
            result = self._measure(trial, point.phase)
            if search:
                result = invalidate_tester_stalls(result, self.plan.search, recorder.trials)
            if result.validity.verdict is ValidityStatus.INVALID:
                recorder.record_trial(result)
                continue
            decision = search.add_evidence(trial, Outcome.of(result, started_s)) if search else None
            if search and decision:
                recorder.record_decision(decision, search.findings())
                recorder.record_trial(result, self._goal_results(search, [*recorder.trials, result]))
            else:
                recorder.record_trial(result)
            return result
        return None

    def _measure(self, trial: Trial, phase: str, preview: TrialPreview | None = None) -> TrialResult:
        index = self.recorder.start_trial(trial, phase, preview or TrialPreview())
        if trial.rest_s:
            self.rest(trial.rest_s)
        if warm_up_s := self.plan.traffic.warm_up_s:
            warm_up = Trial(intended_load_pps=trial.intended_load_pps, duration_s=warm_up_s)
            self.generator.measure(warm_up, index, WARM_UP, _ignore_progress)
        schedule = self._prepare_events(trial, phase)
        for observer in self.observers:
            observer.begin_trial()
        try:
            with schedule:
                result = self.generator.measure(trial, index, phase, self.recorder.report_trial_progress)
        except TrialInterrupted as interrupt:
            raise TrialInterrupted(str(interrupt), schedule.describe(interrupt.result)) from None
        result = schedule.describe(result)
        for observer in reversed(self.observers):
            result = observer.end_trial(result)
        return check_burst(mark_disturbed(result))

    def _prepare_events(self, trial: Trial, phase: str) -> EventSchedule:
        if phase != FIXED:
            return EventSchedule((), self.stage, trial.duration_s)
        return EventSchedule(self.plan.events, self.stage, trial.duration_s, scales_out=self.plan.lab.scales_out)

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


def _ignore_progress(*_: float) -> None:
    """Receive the progress of a warm-up, which is not reported."""


def _format_out_of_time(plan: SearchPlan) -> str:
    return (
        f"the search needs more than {format_seconds(plan.search_duration_max_s)} (search.max_duration); allow more "
        "time, widen search.width, or accept the bounds known by then (--budget)"
    )
