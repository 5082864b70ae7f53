"""The next load for a goal, and the reason.

Rules (`Trial.rule`): `prove` a load expected to meet the goal; `cap` one expected not to; `step-down` and `step-up` if
a trial refuted the estimate; `again` if trials at a load disagree or may have passed by luck; `bisect` if only the
bounds are known; `extreme` at the ends of the range.
"""

import math

from nodrop.model.message import Message
from nodrop.search import width
from nodrop.search.probe_search.event_loss import fit_stall_line, is_stall
from nodrop.search.probe_search.probes import CLOSE
from nodrop.search.probe_search.state import GoalSearch, SearchState, TrialRequest
from nodrop.search.probe_search.sut_model import Estimate, SutBehavior
from nodrop.search.probe_search.trial_trace import Trace

MARGIN = 0.2
"""Proofs stay this share of the goal's width below the estimate."""
PROOF_SDS = 1.3
"""The same in standard deviations of the estimate: a passed proof then leaves little doubt."""
PROOF_SDS_RISING = 0.7
"""The same while the capacity rises: it will exceed the estimate."""
NEARBY_WIDTHS = 4.0
"""Widths from the estimate within which a load is worth deciding."""
COARSE_WIDTHS = 10.0
"""Standard deviation, in widths, from which on an estimate is no better than the bounds."""
UNDECIDED_STEP = 4.0
"""Factor by which steps below undecided loads increase: each attempt takes time."""
MIN_PASS_PROBABILITY = 0.4
"""A passed proof with a lower probability is repeated."""
MAX_CONFIRMATIONS = 1
"""Repetitions of a proof that may have passed by luck."""
FAR_TOO_HIGH_FRAMES = 20
"""A quick loss of more frames shows that the load is far too high, but not how far."""
MIN_SLOPE_WIDTHS = 4.0
"""Distance of losses, in widths, that shows how their rate depends on the load."""
MIDDLE_WIDTHS_MAX = 32.0
"""Distance of the bounds, in widths, up to which halving takes fewer trials than steps of increasing size."""
CAPACITY_LIMITED = frozenset({SutBehavior.RISING, SutBehavior.FALLING, SutBehavior.SCATTERED})
"""Behaviors whose losses are due to the capacity, not to single events."""
SINGLE_SD = 0.001
"""Relative standard deviation of estimates from frames lost singly or in stalls."""


def choose_trial(state: SearchState, goal_search: GoalSearch) -> TrialRequest:
    """Return the next trial for an open goal."""
    evidence, label = goal_search.evidence, goal_search.label
    lower_pps, upper_pps = evidence.limits()
    estimate = estimate_threshold(state, goal_search)
    open_pps = _find_undecided(state, goal_search, estimate)
    if open_pps is not None:
        return TrialRequest(open_pps, "again", Message.of("undecided", goal=label, load_pps=open_pps))
    if lower_pps is not None and needs_confirmation(state, goal_search, lower_pps):
        return TrialRequest(lower_pps, "again", Message.of("confirm", goal=label, load_pps=lower_pps))
    if estimate is None:
        return _choose_without_estimate(state, goal_search)
    if upper_pps is not None and estimate.load_pps >= upper_pps:
        return _choose_lower(state, goal_search, upper_pps)
    if lower_pps is not None and estimate.load_pps <= lower_pps:
        return _choose_higher(state, goal_search, lower_pps, estimate)
    return _choose_estimated(state, goal_search, estimate)


def estimate_threshold(state: SearchState, goal_search: GoalSearch) -> Estimate | None:
    """Estimate a goal's threshold: the lowest according to overload, stalls and single losses."""
    overload = state.model.threshold(goal_search.evidence)
    is_capacity_limited = state.model.behavior in CAPACITY_LIMITED or any(
        trace.fluctuating for trace in state.model.current
    )
    if goal_search.ratio > 0.0 or (is_capacity_limited and overload):
        return overload
    quiet = select_trials_below_capacity(state, goal_search)
    losing = [trace for trace in quiet if trace.lost_count > 0]
    if not losing:
        return overload
    lowest_pps = min(trace.load_pps for trace in losing)
    upper_pps = goal_search.evidence.limits().upper
    refuted = overload and upper_pps is not None and upper_pps <= overload.load_pps
    if not goal_search.strict and not refuted and _is_tolerable(quiet, losing, goal_search):
        return overload
    if sum(is_stall(trace) for trace in losing) > len(losing) / 2:
        line = fit_stall_line(losing)
        if line is None:
            return Estimate(lowest_pps / 2.0, 0.5, near=False, basis=Message.of("prove-guess"))
        top_pps = overload.load_pps if overload else state.plan.max_load_pps
        basis = Message.of("prove-stalls", stall_s=line.seconds)
        return Estimate(state.clamp(min(line.free_pps, top_pps)), SINGLE_SD, near=True, basis=basis)
    basis = Message.of("prove-single-losses")
    return Estimate(state.clamp(_find_lossless_pps(state, goal_search, quiet)), SINGLE_SD, near=True, basis=basis)


def _is_tolerable(quiet: list[Trace], losing: list[Trace], goal_search: GoalSearch) -> bool:
    """Return whether losses are so rare that enough of the goal's short trials have none."""
    seconds = sum(trace.elapsed_s for trace in quiet)
    events = sum(min(float(len(trace.bursts)), trace.lost_count) for trace in losing)
    evidence = goal_search.evidence
    return events * evidence.full_s / seconds < -math.log(1.0 - evidence.goal.exceed_ratio)


def _find_lossless_pps(state: SearchState, goal_search: GoalSearch, quiet: list[Trace]) -> float:
    """Return the load without single losses.

    As long as all losses occurred at about the same load, their dependence on the load is unknown: the more proofs
    failed, the lower the load.
    """
    losing = [trace for trace in quiet if trace.lost_count > 0]
    loads = [trace.load_pps for trace in losing]
    evidence, lowest_pps = goal_search.evidence, min(loads)
    failures = max(1, goal_search.failures)
    open_slope = (
        goal_search.strict and width.compute_between(lowest_pps, max(loads)) < MIN_SLOPE_WIDTHS * evidence.width_ratio
    )
    target_probability = min(0.9, 1.0 - 0.6**failures) if open_slope else 0.5
    load_pps = state.event_rate(quiet).load_pps(
        target_probability, evidence.full_s, state.plan.min_load_pps, lowest_pps
    )
    if all(trace.lost_count > FAR_TOO_HIGH_FRAMES for trace in losing):
        return max(load_pps, width.step_below(lowest_pps, width.scale(evidence.width_ratio, 4.0 ** len(losing))))
    if open_slope and evidence.limits().lower is None:
        return min(load_pps, width.step_below(lowest_pps, width.scale(evidence.width_ratio, 2.0 ** (failures - 1))))
    return load_pps


def select_trials_below_capacity(state: SearchState, goal_search: GoalSearch) -> list[Trace]:
    """Return the trials that show the loss below the capacity.

    After repeated failures just below the capacity the SUT has no hard limit, and all trials count.
    """
    if goal_search.overloads >= 2 and state.model.behavior is SutBehavior.STABLE:
        return [trace for trace in state.model.current if trace.loss_ratio < 0.01]
    overload = state.model.threshold(goal_search.evidence)
    top_pps = overload.load_pps if overload else state.plan.max_load_pps
    return [t for t in state.model.current if not t.overloaded and t.load_pps <= top_pps * 1.001]


def needs_confirmation(state: SearchState, goal_search: GoalSearch, lower_pps: float) -> bool:
    """Return whether a proof without loss may have passed by luck, by the loss rate of other trials."""
    repeated = len(goal_search.evidence.at(lower_pps)) > MAX_CONFIRMATIONS
    if goal_search.ratio > 0.0 or repeated or state.model.behavior in CAPACITY_LIMITED:
        return False
    quiet = select_trials_below_capacity(state, goal_search)
    if not any(trace.lost_count > 0 for trace in quiet) or any(is_stall(t) or t.fluctuating for t in quiet):
        return False
    return state.event_rate(quiet).pass_probability(lower_pps, goal_search.evidence.full_s) < MIN_PASS_PROBABILITY


def _find_undecided(state: SearchState, goal_search: GoalSearch, estimate: Estimate | None) -> float | None:
    """Return a load between the bounds and near the threshold that was measured but not decided."""
    evidence = goal_search.evidence
    lower_pps, upper_pps = evidence.limits()
    is_stable = state.model.behavior is SutBehavior.STABLE and state.model.era_start == 0
    for load_pps in sorted(goal_search.targets):
        inside = load_pps > (lower_pps or 0.0) and (upper_pps is None or load_pps < upper_pps)
        near = (
            is_stable
            or not estimate
            or width.compute_between(load_pps, estimate.load_pps) < NEARBY_WIDTHS * evidence.width_ratio
        )
        if inside and near and evidence.at(load_pps) and evidence.classification(load_pps).undecided:
            return load_pps
    return None


def _choose_estimated(state: SearchState, goal_search: GoalSearch, estimate: Estimate) -> TrialRequest:
    """Choose a load just below the estimate first, then just above the proven one."""
    label, wide = goal_search.label, goal_search.evidence.width_ratio
    lower_pps, upper_pps = goal_search.evidence.limits()
    if estimate.sd_ratio > COARSE_WIDTHS * wide and lower_pps is not None and upper_pps is not None:
        return TrialRequest((lower_pps * upper_pps) ** 0.5, "bisect", Message.of("halve-uncertain", goal=label))
    # If no trial may fail, their scatter counts; if half of them may, only the uncertainty of their mean.
    spread = estimate.sd_ratio / (1.0 if goal_search.strict else estimate.trial_count**0.5)
    is_rising = state.model.behavior is SutBehavior.RISING
    sds = PROOF_SDS_RISING if is_rising else PROOF_SDS
    margin = max(MARGIN * wide, min(sds * spread, 2.0 * wide) if estimate.near else 0.0)
    if state.model.behavior is SutBehavior.SCATTERED and not goal_search.strict:
        margin = 0.5 * wide  # trials agree soonest at loads symmetric to the mean
    margin += state.model.fall_ratio(goal_search.evidence.full_s)
    target_pps = state.clamp(estimate.load_pps * (1.0 - margin))
    if lower_pps is not None:
        above_pps = min(width.step_above(lower_pps, wide), state.plan.max_load_pps)
        if above_pps > estimate.load_pps or lower_pps >= target_pps:
            return TrialRequest(above_pps, "cap", Message.of("cap", goal=label, load_pps=lower_pps))
    if upper_pps is not None:
        below_pps = width.step_below(upper_pps, wide)
        if target_pps < below_pps <= estimate.load_pps * (1.0 - 0.05 * wide):
            target_pps = state.clamp(below_pps * (1.0 + 1e-9))
    basis = estimate.basis
    reason = Message.of(basis.code, goal=label, estimate_pps=estimate.load_pps, **basis.params)
    return TrialRequest(target_pps, "prove", reason)


def _choose_lower(state: SearchState, goal_search: GoalSearch, upper_pps: float) -> TrialRequest:
    """Step down from an upper bound below the estimate, ever faster."""
    evidence = goal_search.evidence
    lower_pps = evidence.limits().lower
    is_undecided = upper_pps in evidence.undecided_loads()
    base, count = (UNDECIDED_STEP, goal_search.undecided_count) if is_undecided else (2.0, goal_search.failures - 1)
    times = base ** max(0, count)
    load_pps = state.clamp(width.step_below(upper_pps, width.scale(evidence.width_ratio, min(times, 1e4))))
    if lower_pps is not None and load_pps <= width.step_above(lower_pps, 0.3 * evidence.width_ratio):
        load_pps = (lower_pps * upper_pps) ** 0.5
    code = "below-undecided" if is_undecided else "step-down"
    reason = Message.of(code, goal=goal_search.label, load_pps=upper_pps)
    return TrialRequest(load_pps, "step-down", reason)


def _choose_higher(state: SearchState, goal_search: GoalSearch, lower_pps: float, estimate: Estimate) -> TrialRequest:
    """Step up from a lower bound above the estimate, ever faster, or to the middle of near bounds if that is further.

    A trial above the capacity ends early, whereas each that passes takes its entire duration.
    """
    evidence = goal_search.evidence
    upper_pps = evidence.limits().upper
    times = goal_search.passes if goal_search.strict else max(0, goal_search.passes - 1)
    step = width.scale(evidence.width_ratio, 2.0 ** min(10, times))
    load_pps = min(width.step_above(lower_pps, step), state.plan.max_load_pps)
    if upper_pps is not None:
        middle_pps = (lower_pps * upper_pps) ** 0.5
        is_near = width.compute_between(lower_pps, upper_pps) <= MIDDLE_WIDTHS_MAX * evidence.width_ratio
        is_near = is_near or estimate.sd_ratio > COARSE_WIDTHS * evidence.width_ratio
        is_near = is_near and estimate.basis.code == "prove-capacity"
        is_beyond = load_pps >= width.step_below(upper_pps, 0.3 * evidence.width_ratio)
        load_pps = middle_pps if is_beyond else max(load_pps, middle_pps * is_near)
    return TrialRequest(load_pps, "step-up", Message.of("step-up", goal=goal_search.label, load_pps=lower_pps))


def _choose_without_estimate(state: SearchState, goal_search: GoalSearch) -> TrialRequest:
    """Choose a load before any overload."""
    label, low, high = goal_search.label, state.plan.min_load_pps, state.plan.max_load_pps
    lower_pps, upper_pps = goal_search.evidence.limits()
    swamped = [trace.load_pps for trace in state.model.current if trace.overloaded]
    if lower_pps is None and swamped and min(swamped) <= CLOSE * low and (upper_pps is None or upper_pps > low):
        return TrialRequest(low, "extreme", Message.of("lowest-swamped", goal=label))
    if upper_pps is None:
        return TrialRequest(high, "extreme", Message.of("highest-lossless", goal=label))
    if lower_pps is not None:
        return TrialRequest((lower_pps * upper_pps) ** 0.5, "bisect", Message.of("halve-interval", goal=label))
    if upper_pps > low:
        return _choose_lower(state, goal_search, upper_pps)
    return TrialRequest(low, "extreme", Message.of("lowest-unmet", goal=label))
