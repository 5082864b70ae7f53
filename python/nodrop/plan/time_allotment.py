"""The time of a run with a budget: bringing the path up, the search, latency trials, bringing the path down."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.goal import Goal
from nodrop.model.plan import Plan
from nodrop.model.profiles import PRESCRIBED_SEARCHES, TIME_LIMITED_SEARCHES
from nodrop.model.search_plan import GOAL_ATTRIBUTE_SEARCHES, SearchPlan
from nodrop.model.trial import EXTENSION_MAX_RATIO, Trial
from nodrop.units import format_seconds

BRING_UP_S, BRING_UP_PER_CHAIN_S, BRING_UP_DPDK_S = 1.2, 0.15, 2.0
"""Time from the start of a run to its search on an idle machine: lab of one chain, engine and path check; additional
time of each further chain and of DPDK."""
BRING_DOWN_S = 0.7
"""Time from the end of the last trial to the end of the run; measured 0.3 to 0.5 s with a lab of one chain."""
LATENCY_MAX_RATIO = 0.2
"""Largest share of a budget that is reserved for latency trials."""
SEARCH_MIN_RATIO = 0.5
"""Smallest share of a budget that the search gets, even if the path came up late and the budget is exceeded."""
LATENCY_TRIAL_MIN_S = 0.2
"""Shortest latency trial; p99 of fewer frames would be that of a few bursts."""
PROBING_S, GOAL_MIN_S = 1.0, 2.2
"""Shortest search of nodrop that finds goals of a SUT with a hard limit: probes, and two bounds of each goal."""


class TimeAllotment(NamedTuple):
    """When a run has to send its last frame, by its clock; infinity without a budget."""

    end_s: float = math.inf

    @classmethod
    def of(cls, plan: Plan, started_s: float, now_s: float) -> "TimeAllotment":
        """Return the allotment of a run whose search is about to start.

        A cloud comes up in minutes, as it likes, so that the budget starts with the search.
        """
        if plan.budget_s is None:
            return cls()
        return cls((now_s if plan.cloud else started_s) + plan.budget_s - BRING_DOWN_S)

    def limit_search(self, plan: Plan, now_s: float) -> SearchPlan:
        """Return the plan of the search, which leaves time for latency trials."""
        if plan.budget_s is None:
            return plan.search
        reserve_s = min(_compute_latency_s(plan), LATENCY_MAX_RATIO * plan.budget_s)
        search_s = max(SEARCH_MIN_RATIO * plan.budget_s, self.end_s - now_s - reserve_s)
        return plan.search.replace(search_duration_max_s=search_s)

    def limit_extension(self, plan: SearchPlan, trial: Trial, search_remaining_s: float, now_s: float) -> Trial:
        """Return a trial of a search that ends in time even if disturbed.

        With a budget that is before its end, otherwise at most the trial's own duration after the limit of the search.
        """
        if not plan.excludes_disturbed:
            return trial
        limit_s = min(search_remaining_s, self.end_s - now_s - trial.duration_s)
        if limit_s >= EXTENSION_MAX_RATIO * trial.duration_s:
            return trial
        return trial.replace(extension_max_s=max(0.0, limit_s))

    def limit_latency_s(self, plan: Plan, point_count: int, now_s: float) -> float | None:
        """Return the duration of the next of several latency trials; None if too little time is left for it."""
        share_s = (self.end_s - now_s) / point_count - plan.search.overhead_s
        return None if share_s < LATENCY_TRIAL_MIN_S else min(plan.latency.duration_s, share_s)


def list_budget_warnings(plan: Plan) -> Iterator[str]:
    """Yield a warning if the budget of a run is too short for any SUT, with the shortest budget that can suffice."""
    if plan.budget_s is None or plan.search.algorithm in TIME_LIMITED_SEARCHES | PRESCRIBED_SEARCHES | {"mrr"}:
        return
    least_s = math.ceil(_compute_least_budget_s(plan))
    if plan.budget_s < least_s:
        labels = " and ".join(goal.label for goal in plan.search.goals)
        yield (
            f"search.budget: {format_seconds(plan.budget_s)} is too short to find {labels}; "
            f"allow at least {format_seconds(least_s)} (--budget {least_s}s)"
        )


def _compute_least_budget_s(plan: Plan) -> float:
    chains_s = BRING_UP_PER_CHAIN_S * (plan.lab.chain_count - 1)
    up_s = 0.0 if plan.cloud else BRING_UP_S + chains_s + BRING_UP_DPDK_S * (plan.engine.backend == "dpdk")
    measured_s = up_s + _compute_least_search_s(plan.search) + BRING_DOWN_S
    return min(measured_s + _compute_latency_s(plan), measured_s / (1.0 - LATENCY_MAX_RATIO))


def _compute_least_search_s(plan: SearchPlan) -> float:
    """Return the time of the shortest search; the bounds of one goal may be those of all in published searches."""
    if plan.algorithm == "nodrop":
        return PROBING_S + GOAL_MIN_S * len(plan.goals)
    return max(_compute_least_goal_s(plan, plan.complete(goal)) for goal in plan.goals)


def _compute_least_goal_s(plan: SearchPlan, goal: Goal) -> float:
    """Return the time of trials at two loads: RFC 9971 has a duration sum, of which a part decides an upper bound."""
    final_s = goal.final_trial_duration_s or 0.0
    lower_s = upper_s = final_s
    if plan.algorithm in GOAL_ATTRIBUTE_SEARCHES and goal.duration_sum_s:
        lower_s = max(final_s, goal.duration_sum_s)
        upper_s = max(final_s, goal.duration_sum_s * (goal.exceed_ratio or 0.0))
    return lower_s + upper_s + 2 * plan.overhead_s


def _compute_latency_s(plan: Plan) -> float:
    return len(plan.latency.points) * (plan.latency.duration_s + plan.search.overhead_s)
