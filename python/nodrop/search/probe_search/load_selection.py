"""Which load a goal wants next, and why.

Rules, as `Trial.rule` has them: `prove` a load expected to meet the goal; `cap` one expected not to; `step-down` and
`step-up` where a trial refuted the estimate; `again` where trials at a load did not agree, or one may have been luck;
`bisect` where no more is known than the bounds; `extreme` at the ends of the range.
"""

import math

from nodrop.search import width
from nodrop.search.probe_search.event_loss import is_stall, stall_line
from nodrop.search.probe_search.probes import CLOSE
from nodrop.search.probe_search.state import Pursuit, State, Want
from nodrop.search.probe_search.sut_model import Estimate, Nature
from nodrop.search.probe_search.trial_trace import Trace
from nodrop.search.reason_text import load_text

MARGIN = 0.2
"""Proofs stay this share of the goal's width below the estimate."""
NEARBY = 4.0
"""Widths from the estimate within which a load is worth deciding."""
COARSE = 10.0
"""Widths of standard deviation from which on an estimate says no more than the bounds do."""
LUCK = 0.4
"""A success that had less than this chance is tried again."""
LUCK_TRIALS = 1
"""A success that may be luck is repeated so often."""
HASTY_FRAMES = 20
"""A loss of more frames, within a moment, says that the load is far too high, but not how far."""
SLOPE_KNOWN = 4.0
"""Widths that losses have to be apart to show how their rate depends on the load."""
FLUID = frozenset({Nature.RISING, Nature.FALLING, Nature.SCATTERED})
"""Natures whose losses are the capacity's doing, not a matter of single frames."""
SINGLE_SD = 0.001
"""Relative standard deviation of estimates from frames lost singly or in stalls."""


def choose(state: State, pursuit: Pursuit) -> Want:
    """The next trial for a goal that is not settled."""
    ledger, label = pursuit.ledger, pursuit.label
    lower_pps, upper_pps = ledger.bounds()
    estimate = estimated(state, pursuit)
    open_pps = _undecided(state, pursuit, estimate)
    if open_pps is not None:
        return Want(open_pps, "again", f"{label}: trials at {load_text(open_pps)} have not decided it yet")
    if lower_pps is not None and lucky(state, pursuit, lower_pps):
        return Want(lower_pps, "again", f"{label}: {load_text(lower_pps)} may have been luck, trying it once more")
    if estimate is None:
        return _choose_blind(state, pursuit)
    if upper_pps is not None and estimate.load_pps >= upper_pps:
        return _choose_lower(state, pursuit, upper_pps)
    if lower_pps is not None and estimate.load_pps <= lower_pps:
        return _choose_higher(state, pursuit, lower_pps)
    return _choose_estimated(state, pursuit, estimate)


def estimated(state: State, pursuit: Pursuit) -> Estimate | None:
    """Where a goal's threshold is thought to be: the lowest of what overload, stalls and single losses say."""
    overload = state.model.threshold(pursuit.ledger)
    fluid = state.model.nature in FLUID or any(trace.fluctuating for trace in state.model.current)
    if pursuit.ratio > 0.0 or (fluid and overload):
        return overload
    quiet = below_capacity(state, pursuit)
    losing = [trace for trace in quiet if trace.lost_count > 0]
    if not losing:
        return overload
    lowest_pps = min(trace.load_pps for trace in losing)
    upper_pps = pursuit.ledger.bounds().upper
    refuted = overload and upper_pps is not None and upper_pps <= overload.load_pps
    if not pursuit.strict and not refuted and _tolerable(quiet, losing, pursuit):
        return overload
    if sum(is_stall(trace) for trace in losing) > len(losing) / 2:
        line = stall_line(losing)
        if line is None:
            return Estimate(lowest_pps / 2.0, 0.5, near=False, why="a guess until a stall is seen at another load")
        top_pps = overload.load_pps if overload else state.plan.max_load_pps
        why = f"up to which stalls of {line.seconds * 1e3:.3g} ms should lose nothing"
        return Estimate(state.clamped(min(line.free_pps, top_pps)), SINGLE_SD, near=True, why=why)
    why = "going by how often single frames got lost"
    return Estimate(state.clamped(_lossless_pps(state, pursuit, quiet)), SINGLE_SD, near=True, why=why)


def _tolerable(quiet: list[Trace], losing: list[Trace], pursuit: Pursuit) -> bool:
    """Whether frames get lost so seldom that enough of the goal's short trials are spared."""
    seconds = sum(trace.elapsed_s for trace in quiet)
    events = sum(min(float(len(trace.bursts)), trace.lost_count) for trace in losing)
    ledger = pursuit.ledger
    return events * ledger.full_s / seconds < -math.log(1.0 - ledger.goal.exceed_ratio)


def _lossless_pps(state: State, pursuit: Pursuit, quiet: list[Trace]) -> float:
    """The load at which frames no longer get lost one by one.

    While all losses were seen at about the same load, how they depend on it is open: the more proofs have failed, the
    further down.
    """
    losing = [trace for trace in quiet if trace.lost_count > 0]
    loads = [trace.load_pps for trace in losing]
    ledger, lowest_pps = pursuit.ledger, min(loads)
    failures = max(1, pursuit.failures)
    open_slope = pursuit.strict and width.between(lowest_pps, max(loads)) < SLOPE_KNOWN * ledger.width_ratio
    hoped = min(0.9, 1.0 - 0.6**failures) if open_slope else 0.5
    load_pps = state.event_rate(quiet).load_pps(hoped, ledger.full_s, state.plan.min_load_pps, lowest_pps)
    if all(trace.lost_count > HASTY_FRAMES for trace in losing):
        return max(load_pps, width.below(lowest_pps, width.times(ledger.width_ratio, 4.0 ** len(losing))))
    if open_slope and ledger.bounds().lower is None:
        return min(load_pps, width.below(lowest_pps, width.times(ledger.width_ratio, 2.0 ** (failures - 1))))
    return load_pps


def below_capacity(state: State, pursuit: Pursuit) -> list[Trace]:
    """Trials that tell how often frames get lost below the capacity.

    Once proofs just below the capacity have failed again and again there is no hard limit, and all trials do.
    """
    if pursuit.overloads >= 2 and state.model.nature is Nature.STABLE:
        return [trace for trace in state.model.current if trace.loss_ratio < 0.01]
    overload = state.model.threshold(pursuit.ledger)
    top_pps = overload.load_pps if overload else state.plan.max_load_pps
    return [t for t in state.model.current if not t.overloaded and t.load_pps <= top_pps * 1.001]


def lucky(state: State, pursuit: Pursuit, lower_pps: float) -> bool:
    """Whether a proof without loss was luck, going by how often frames got lost in other trials."""
    repeated = len(pursuit.ledger.at(lower_pps)) > LUCK_TRIALS
    if pursuit.ratio > 0.0 or repeated or state.model.nature in FLUID:
        return False
    quiet = below_capacity(state, pursuit)
    if not any(trace.lost_count > 0 for trace in quiet) or any(is_stall(t) or t.fluctuating for t in quiet):
        return False
    return state.event_rate(quiet).pass_probability(lower_pps, pursuit.ledger.full_s) < LUCK


def _undecided(state: State, pursuit: Pursuit, estimate: Estimate | None) -> float | None:
    """A load between the bounds, and near the threshold, that was tried and is not decided."""
    ledger = pursuit.ledger
    lower_pps, upper_pps = ledger.bounds()
    steady = state.model.nature is Nature.STABLE and state.model.era_start == 0
    for load_pps in sorted(pursuit.targets):
        inside = load_pps > (lower_pps or 0.0) and (upper_pps is None or load_pps < upper_pps)
        near = steady or not estimate or width.between(load_pps, estimate.load_pps) < NEARBY * ledger.width_ratio
        if inside and near and ledger.at(load_pps) and ledger.classification(load_pps).undecided:
            return load_pps
    return None


def _choose_estimated(state: State, pursuit: Pursuit, estimate: Estimate) -> Want:
    """Just below the estimate first, then just above what was proven."""
    label, wide = pursuit.label, pursuit.ledger.width_ratio
    lower_pps, upper_pps = pursuit.ledger.bounds()
    if estimate.sd_ratio > COARSE * wide and lower_pps is not None and upper_pps is not None:
        return Want((lower_pps * upper_pps) ** 0.5, "bisect", f"{label}: no more is known, halving the interval")
    # Where no trial may fail, their scatter counts; where half of them may, only how well their middle is known.
    spread = estimate.sd_ratio / (1.0 if pursuit.strict else estimate.trial_count**0.5)
    margin = max(MARGIN * wide, min(0.7 * spread, 2.0 * wide) if estimate.near else 0.0)
    if state.model.nature is Nature.SCATTERED and not pursuit.strict:
        margin = 0.5 * wide  # trials agree soonest at loads as far below the middle as above it
    margin += state.model.fall_ratio(pursuit.ledger.full_s)
    target_pps = state.clamped(estimate.load_pps * (1.0 - margin))
    if lower_pps is not None:
        above_pps = min(width.above(lower_pps, wide), state.plan.max_load_pps)
        if above_pps > estimate.load_pps or lower_pps >= target_pps:
            return Want(above_pps, "cap", f"{label}: {load_text(lower_pps)} is good, one width above it")
    if upper_pps is not None:
        below_pps = width.below(upper_pps, wide)
        if target_pps < below_pps <= estimate.load_pps * (1.0 - 0.05 * wide):
            target_pps = state.clamped(below_pps * (1.0 + 1e-9))
    about = f"the threshold is expected at {load_text(estimate.load_pps)}, {estimate.why}"
    return Want(target_pps, "prove", f"{label}: {about}; proving a load just below")


def _choose_lower(state: State, pursuit: Pursuit, upper_pps: float) -> Want:
    """The estimate has been refuted from above: step down from there, ever faster."""
    ledger = pursuit.ledger
    lower_pps = ledger.bounds().lower
    step = width.times(ledger.width_ratio, min(2.0 ** max(0, pursuit.failures - 1), 1e4))
    load_pps = state.clamped(width.below(upper_pps, step))
    if lower_pps is not None and load_pps <= width.above(lower_pps, 0.3 * ledger.width_ratio):
        load_pps = (lower_pps * upper_pps) ** 0.5
    reason = f"{pursuit.label}: {load_text(upper_pps)} lost too much, stepping down from it"
    return Want(load_pps, "step-down", reason)


def _choose_higher(state: State, pursuit: Pursuit, lower_pps: float) -> Want:
    """The estimate has been refuted from below: step up from there, ever faster."""
    ledger = pursuit.ledger
    upper_pps = ledger.bounds().upper
    times = pursuit.passes if pursuit.strict else max(0, pursuit.passes - 1)
    step = width.times(ledger.width_ratio, 2.0 ** min(10, times))
    load_pps = min(width.above(lower_pps, step), state.plan.max_load_pps)
    if upper_pps is not None and load_pps >= width.below(upper_pps, 0.3 * ledger.width_ratio):
        load_pps = (lower_pps * upper_pps) ** 0.5
    return Want(load_pps, "step-up", f"{pursuit.label}: {load_text(lower_pps)} is good, better than expected")


def _choose_blind(state: State, pursuit: Pursuit) -> Want:
    """Nothing has been overloaded yet."""
    label, low, high = pursuit.label, state.plan.min_load_pps, state.plan.max_load_pps
    lower_pps, upper_pps = pursuit.ledger.bounds()
    swamped = [trace.load_pps for trace in state.model.current if trace.overloaded]
    if lower_pps is None and swamped and min(swamped) <= CLOSE * low and (upper_pps is None or upper_pps > low):
        return Want(low, "extreme", f"{label}: hardly anything came through at any load, trying the lowest")
    if upper_pps is None:
        return Want(high, "extreme", f"{label}: nothing was lost so far, proving the highest load")
    if lower_pps is not None:
        return Want((lower_pps * upper_pps) ** 0.5, "bisect", f"{label}: halving the interval")
    if upper_pps > low:
        return _choose_lower(state, pursuit, upper_pps)
    return Want(low, "extreme", f"{label}: nothing is known to meet it, trying the lowest load")
