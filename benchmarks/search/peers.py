"""Published releases of MLRsearch with the interface of nodrop's searches.

A release calls a measurer and waits for its result. It runs in a separate thread here and receives one outcome at a
time, so that it measures the same SUTs in the same order as the other searches.
"""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.peers import load

from nodrop.model.goal import Flag, Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Interval, Outcome

Measure = Callable[[float, float], Outcome]
"""(load in frames per second, duration in seconds) -> outcome of the trial."""
Bounds = Sequence[tuple[float | None, float | None]]
"""Lower and upper bound of each goal, None if it is not valid."""
TIMEOUT_S = 1e9


class PeerSearch:
    """An adapter of a callback-driven search to `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan, run: Callable[[SearchPlan, Measure], Bounds]) -> None:
        self._plan = plan
        self._requests: SimpleQueue[Trial | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._bounds: Bounds = [(None, None)] * len(plan.goals)
        self._error: BaseException | None = None
        threading.Thread(target=self._run_peer, args=(run,), daemon=True).start()
        self._next_trial = self._requests.get()

    def ask(self) -> Trial | None:
        """Return the next trial; None if the search is over."""
        return self._next_trial

    def tell(self, outcome: Outcome) -> None:
        """Pass on the outcome of the requested trial. Raises the peer's exception, if any."""
        self._outcomes.put(outcome)
        self._next_trial = self._requests.get()
        if self._error:
            raise self._error

    def add_evidence(self, trial: Trial, outcome: Outcome) -> bool:  # noqa: ARG002
        """Ignore a trial that the peer did not request."""
        return False

    def intervals(self) -> tuple[Interval, ...]:
        """Return the peer's bounds; without bounds until the search is over."""
        return tuple(
            _create_interval(goal, *bounds) for goal, bounds in zip(self._plan.goals, self._bounds, strict=True)
        )

    def findings(self) -> tuple[Flag, ...]:
        """Return no findings: peers have none."""
        return ()

    def _run_peer(self, run: Callable[[SearchPlan, Measure], Bounds]) -> None:
        try:
            self._bounds = run(self._plan, self._measure)
        except BaseException as error:  # raised again in `tell`
            self._error = error
        self._requests.put(None)

    def _measure(self, load_pps: float, duration_s: float) -> Outcome:
        self._requests.put(Trial(intended_load_pps=load_pps, duration_s=duration_s))
        return self._outcomes.get()


def create_search_0_4_0(plan: SearchPlan) -> PeerSearch:
    """Return a search with MLRsearch 0.4.0."""
    return PeerSearch(plan, _run_0_4_0)


def create_search_1_2_1(plan: SearchPlan) -> PeerSearch:
    """Return a search with MLRsearch 1.2.1."""
    return PeerSearch(plan, _run_1_2_1)


def _run_0_4_0(plan: SearchPlan, measure: Measure) -> Bounds:
    peer = load("0.4.0")

    class Measurer(peer.AbstractMeasurer.AbstractMeasurer):  # type: ignore[misc, name-defined]
        def measure(self, duration: float, transmit_rate: float) -> Any:
            counts = _count_frames(measure(transmit_rate, duration))
            result = peer.ReceiveRateMeasurement.ReceiveRateMeasurement
            return result(duration, transmit_rate, counts.intended, counts.intended - counts.received)

    algorithm = peer.MultipleLossRatioSearch.MultipleLossRatioSearch(
        Measurer(),
        final_relative_width=plan.width_ratio,
        final_trial_duration=plan.final_trial_duration_s,
        initial_trial_duration=plan.initial_trial_duration_s,
        number_of_intermediate_phases=plan.intermediate_phases,
        timeout=TIMEOUT_S,
        debug=lambda _message: None,
        expansion_coefficient=plan.expansion_coefficient,
    )
    ratios = [goal.loss_ratio for goal in plan.goals]
    intervals = algorithm.narrow_down_intervals(plan.min_load_pps, plan.max_load_pps, ratios)
    return [
        (
            each.measured_low.target_tr if each.measured_low.effective_loss_ratio <= ratio else None,
            each.measured_high.target_tr if each.measured_high.effective_loss_ratio > ratio else None,
        )
        for each, ratio in zip(intervals, ratios, strict=True)
    ]


def _run_1_2_1(plan: SearchPlan, measure: Measure) -> Bounds:
    peer = load("1.2.1")

    class Measurer:
        def measure(self, intended_duration: float, intended_load: float) -> Any:
            counts = _count_frames(measure(intended_load, intended_duration))
            return peer.MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                intended_count=counts.intended,
                offered_count=counts.offered,
                forwarding_count=counts.received,
                duration_with_overheads=intended_duration + plan.overhead_s,
            )

    goals = [_create_peer_goal(peer, plan.complete(goal), plan) for goal in plan.goals]
    config = peer.Config()
    config.goals = goals
    config.min_load, config.max_load = plan.min_load_pps, plan.max_load_pps
    config.search_duration_max, config.warmup_duration = TIMEOUT_S, None
    results = peer.MultipleLossRatioSearch(config).search(Measurer(), debug=lambda _text: None)
    return [
        (_to_pps(results[goal].relevant_lower_bound), _to_pps(results[goal].relevant_upper_bound)) for goal in goals
    ]


def _create_peer_goal(peer: Any, goal: Goal, plan: SearchPlan) -> Any:
    return peer.SearchGoal(
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        relative_width=goal.width_ratio,
        initial_trial_duration=goal.initial_trial_duration_s,
        final_trial_duration=goal.final_trial_duration_s,
        duration_sum=goal.duration_sum_s,
        preceding_targets=plan.preceding_targets,
        expansion_coefficient=2,
        fail_fast=False,
    )


class _FrameCounts(NamedTuple):
    """Frame counts of a trial."""

    intended: int
    offered: int
    received: int


def _count_frames(outcome: Outcome) -> _FrameCounts:
    """Return the counts of a trial; the intended count includes frames that the tester failed to send."""
    offered_count = outcome.offered_count
    return _FrameCounts(offered_count + outcome.unsent_count, offered_count, offered_count - outcome.lost_count)


def _to_pps(bound: Any) -> float | None:
    return None if bound is None else float(bound)


def _create_interval(goal: Goal, lower_pps: float | None, upper_pps: float | None) -> Interval:
    return Interval(
        goal=goal,
        lower_index=None,
        lower_load_pps=lower_pps,
        lower_valid=lower_pps is not None,
        upper_index=None,
        upper_load_pps=upper_pps,
        upper_valid=upper_pps is not None,
        final=lower_pps is not None and upper_pps is not None,
    )
