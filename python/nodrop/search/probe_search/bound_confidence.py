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
ERROR_PROBABILITY_MAX = 0.1
"""Error probability of a lower bound above which it is proven once more."""
MAX_CONFIRMATIONS_IN_DOUBT = 2
"""Further proofs of a lower bound that the model disbelieves; if they pass as well, the model is wrong."""


def count_required_confirmations(state: SearchState, goal_search: GoalSearch, lower_pps: float) -> int:
    """Return how often to prove a lower bound again, by the probability that it is wrong."""
    estimate = estimate_threshold(state, goal_search)
    meets = compute_meets_probability(state, goal_search, lower_pps, estimate)
    error_probability = 0.0 if meets is None else 1.0 - meets
    if error_probability > DOUBTFUL_PROBABILITY:
        return MAX_CONFIRMATIONS_IN_DOUBT
    # Without a limit, the probability only says that there are few trials; see `needs_confirmation` for single losses.
    return int(error_probability > ERROR_PROBABILITY_MAX and _is_limit(state, goal_search, lower_pps, estimate))


def compute_meets_probability(
    state: SearchState, goal_search: GoalSearch, load_pps: float, estimate: Estimate | None
) -> float | None:
    """Return the probability that most trials at a load meet the goal; None without a model."""
    if estimate is None or not estimate.near:
        return None
    limit = estimate if _is_limit(state, goal_search, load_pps, estimate) else None
    return compute_above_probability(load_pps, _load_evidence(goal_search.evidence), limit)


def _is_limit(state: SearchState, goal_search: GoalSearch, load_pps: float, estimate: Estimate | None) -> bool:
    """Return whether the model's estimate limits the loads that meet a goal."""
    if estimate is None:
        return False
    quiet = select_trials_below_capacity(state, goal_search) if goal_search.ratio == 0.0 else []
    # With single losses, the estimate is the next load to try, not a limit.
    has_single_losses = any(trace.lost_count > 0 for trace in quiet) and not any(is_stall(trace) for trace in quiet)
    # Short trials at this load have refuted an estimate below it: the SUT forwards less in overload.
    has_passed = any(load_pps in each.short_passed for each in state.goal_searches)
    is_refuted = has_passed and estimate.load_pps < load_pps
    return not has_single_losses and not is_refuted


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
