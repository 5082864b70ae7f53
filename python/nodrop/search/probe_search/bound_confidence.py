"""The probability that a bound of a goal is right, and whether the search itself doubts it."""

import itertools
from statistics import fmean

from nodrop.search.probe_search.confidence import LoadEvidence, compute_above_probability
from nodrop.search.probe_search.event_loss import is_stall
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.load_selection import estimate_threshold, select_trials_below_capacity
from nodrop.search.probe_search.state import GoalSearch, SearchState
from nodrop.search.probe_search.sut_model import Estimate

DOUBTFUL_PROBABILITY = 0.5
"""Error probability above which a bound is doubtful."""


def is_lower_doubtful(state: SearchState, goal_search: GoalSearch, lower_pps: float) -> bool:
    """Return whether a lower bound is more likely wrong than right."""
    meets = compute_meets_probability(state, goal_search, lower_pps, estimate_threshold(state, goal_search))
    return meets is not None and 1.0 - meets > DOUBTFUL_PROBABILITY


def compute_meets_probability(
    state: SearchState, goal_search: GoalSearch, load_pps: float, estimate: Estimate | None
) -> float | None:
    """Return the probability that most trials at a load meet the goal; None without a model."""
    if estimate is None or not estimate.near:
        return None
    quiet = select_trials_below_capacity(state, goal_search) if goal_search.ratio == 0.0 else []
    # With single losses, the estimate is the next load to try, not a limit.
    has_single_losses = any(trace.lost_count > 0 for trace in quiet) and not any(is_stall(trace) for trace in quiet)
    # Short trials at this load have refuted an estimate below it: the SUT forwards less in overload.
    has_passed = any(load_pps in each.short_passed for each in state.goal_searches)
    is_refuted = has_passed and estimate.load_pps < load_pps
    is_limit = not has_single_losses and not is_refuted
    return compute_above_probability(load_pps, _load_evidence(goal_search.evidence), estimate if is_limit else None)


def _load_evidence(evidence: GoalEvidence) -> list[LoadEvidence]:
    """Return the evidence of each load; a trial that stands for several counts once."""
    result = []
    for load_pps, counted in evidence.counted().items():
        met_count = missed_count = 0.0
        for _, parts in itertools.groupby(counted, key=lambda each: each.trial_index):
            share = fmean(each.loss_ratio <= evidence.goal.loss_ratio for each in parts)
            met_count += share
            missed_count += 1.0 - share
        result.append(LoadEvidence(load_pps, met_count, missed_count))
    return result
