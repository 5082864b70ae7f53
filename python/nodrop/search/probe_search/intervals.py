"""The interval of each goal: bounds, their confidence, and every deviation from RFC 9971."""

import math
from collections.abc import Iterator

from nodrop.model.goal import Flag
from nodrop.model.search_plan import EarlierGoal, SearchPlan
from nodrop.search.base import Interval
from nodrop.search.goal_interval import compute_goal_interval
from nodrop.search.probe_search.bound_confidence import DOUBTFUL_PROBABILITY, compute_meets_probability
from nodrop.search.probe_search.confidence import compute_loss_ratio_limit
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.load_selection import estimate_threshold
from nodrop.search.probe_search.state import GoalSearch, SearchState
from nodrop.search.probe_search.sut_model import SutBehavior

MIN_TRIALS = 5
"""Trials at a load that show their variation."""


def make_interval(state: SearchState, goal_search: GoalSearch) -> Interval:
    """Return the relevant bounds of a goal (RFC 9971), and those decided with less evidence, flagged."""
    evidence = goal_search.evidence
    bounds = evidence.bounds()
    base = compute_goal_interval(
        evidence.goal, evidence.counted(), state.plan.min_load_pps, state.plan.max_load_pps, bounds
    )
    flags = [*base.flags]
    update: dict[str, object] = {}
    is_accepted = bounds.lower is not None and evidence.is_accepted(bounds.lower)
    if bounds.upper is not None:
        update["upper_index"] = evidence.upper_index(bounds.upper)
        if early := evidence.find_early(bounds.upper):
            flags = [flag for flag in flags if flag.code != "short-upper-bound"]
            flags.append(_flag_early_bound(early, bounds.upper))
    if bounds.lower is not None:
        update["lower_index"] = evidence.lower_index(bounds.lower)
        if is_accepted:
            update["conditional_throughput_pps"] = None
            flags.append(_flag_accepted_bound(state, evidence, bounds.lower))
    if None not in bounds or is_accepted:
        update["final"] = not is_accepted
    if undecided := evidence.undecided_loads():
        flags.append(Flag.of("undecided-loads", lowest_pps=undecided[0], highest_pps=undecided[-1]))
    confidence = _build_confidence(state, goal_search)
    flags += [*_flag_deviations(evidence), *_flag_doubtful_bounds(confidence), *state.flags]
    return base.replace(**(update | confidence | {"flags": tuple(flags)}))


def find_earlier_goal(plan: SearchPlan, evidence: GoalEvidence) -> EarlierGoal | None:
    """Return the bounds of an earlier search for this goal, if any."""
    for earlier in plan.earlier:
        if (earlier.loss_ratio, earlier.final_trial_duration_s) == (evidence.goal.loss_ratio, evidence.full_s):
            return earlier
    return None


def _build_confidence(state: SearchState, goal_search: GoalSearch) -> dict[str, object]:
    lower_pps, upper_pps = goal_search.evidence.bounds()
    estimate = estimate_threshold(state, goal_search)
    values: dict[str, object] = {}
    if estimate and estimate.near and (lower_pps or 0.0) <= estimate.load_pps <= (upper_pps or math.inf):
        values |= {"estimate_pps": estimate.load_pps, "estimate_sd_pps": estimate.load_pps * estimate.sd_ratio}
    if lower_pps is not None:
        meets = compute_meets_probability(state, goal_search, lower_pps, estimate)
        values["lower_error_probability"] = None if meets is None else 1.0 - meets
        values["loss_ratio_limit"] = _compute_loss_ratio_limit(state, lower_pps)
    if upper_pps is not None:
        values["upper_error_probability"] = compute_meets_probability(state, goal_search, upper_pps, estimate)
    return values


def _flag_doubtful_bounds(confidence: dict[str, object]) -> Iterator[Flag]:
    """Flag bounds that the trials at other loads make unlikely."""
    for side in ("lower", "upper"):
        probability = confidence.get(f"{side}_error_probability")
        if isinstance(probability, float) and probability > DOUBTFUL_PROBABILITY:
            yield Flag.of(f"doubtful-{side}-bound", probability=probability)


def _compute_loss_ratio_limit(state: SearchState, load_pps: float) -> float | None:
    """Return the limit; None if trials vary too much for the few at this load.

    The nearest load with loss shows how many frames are lost at a time.
    """
    traces = [trace for trace in state.model.traces if trace.load_pps == load_pps]
    if not traces or (state.model.behavior in (SutBehavior.MODES, SutBehavior.SCATTERED) and len(traces) < MIN_TRIALS):
        return None
    losing = [trace for trace in state.model.traces if trace.bursts and not trace.overloaded]
    nearest = min(losing, key=lambda trace: abs(trace.load_pps - load_pps), default=None)
    return compute_loss_ratio_limit(traces, nearest.lost_count / len(nearest.bursts) if nearest else 1.0)


def _flag_early_bound(evidence: GoalEvidence, upper_pps: float) -> Flag:
    seconds = sum(each.effective_s for each in evidence.at(upper_pps))
    required_s = evidence.sum_s * evidence.goal.exceed_ratio
    return Flag.of("early-upper-bound", load_pps=upper_pps, seconds=seconds, required_s=required_s)


def _flag_accepted_bound(state: SearchState, evidence: GoalEvidence, lower_pps: float) -> Flag:
    trace = next(t for t in state.model.traces if t.index == evidence.lower_index(lower_pps))
    earlier = find_earlier_goal(state.plan, evidence)
    is_earlier = earlier is not None and earlier.lower_pps == lower_pps
    return Flag.of(
        "earlier-lower-bound" if is_earlier else "short-lower-bound",
        load_pps=lower_pps,
        seconds=trace.elapsed_s,
        full_s=evidence.full_s,
    )


def _flag_deviations(evidence: GoalEvidence) -> Iterator[Flag]:
    """Flag evidence that differs from that of RFC 9971."""
    if evidence.set_aside_indices:
        listed = ", ".join(f"#{index}" for index in sorted(evidence.set_aside_indices))
        yield Flag.of("trials-set-aside", trials=listed)
    if evidence.in_parts:
        yield Flag.of("parts-as-trials", full_s=evidence.full_s)
