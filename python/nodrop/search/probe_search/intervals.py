"""What the search knows of each goal: the bounds, how sure they are, and every deviation from RFC 9971."""

import itertools
from collections.abc import Iterator
from statistics import fmean

from nodrop.model.goal import Flag
from nodrop.model.search_plan import Earlier, SearchPlan
from nodrop.search.base import Interval
from nodrop.search.goal_interval import goal_interval
from nodrop.search.probe_search.confidence import Observed, above_probability, loss_ratio_limit
from nodrop.search.probe_search.event_loss import is_stall
from nodrop.search.probe_search.goal_evidence import Ledger
from nodrop.search.probe_search.load_selection import below_capacity, estimated
from nodrop.search.probe_search.state import Pursuit, State
from nodrop.search.probe_search.sut_model import Estimate, Nature
from nodrop.search.reason_text import load_text

ENOUGH_TRIALS = 5
"""So many trials at a load show how they differ."""
DOUBTFUL = 0.5
"""Chance of being on the wrong side from which on a bound is called doubtful."""


def interval(state: State, pursuit: Pursuit) -> Interval:
    """The relevant bounds of a goal by the classification of RFC 9971, and those decided with less, which says so."""
    ledger = pursuit.ledger
    lower_pps, upper_pps = ledger.bounds()
    found = goal_interval(ledger.goal, ledger.counted(), state.plan.min_load_pps, state.plan.max_load_pps)
    flags = [*found.flags]
    update: dict[str, object] = {}
    if upper_pps is not None and ledger.is_early(upper_pps):
        index = ledger.at(upper_pps)[-1].trial_index
        update |= {"upper_load_pps": upper_pps, "upper_index": index, "upper_valid": True}
        update["final"] = lower_pps is not None
        flags = [flag for flag in flags if flag.code != "undecided-upper-bound"]
        flags.append(_early_flag(ledger, upper_pps))
    if lower_pps is not None and ledger.is_accepted(lower_pps):
        index = ledger.accepted[lower_pps]
        update |= {"lower_load_pps": lower_pps, "lower_index": index, "lower_valid": True, "final": False}
        update["conditional_throughput_pps"] = None
        flags = [flag for flag in flags if flag.code != "undecided-lower-bound"]
        flags.append(_accepted_flag(state, ledger, lower_pps))
    assurance = _assurance(state, pursuit)
    flags += [*_deviations(ledger), *_doubts(assurance), *state.flags]
    return found.model_copy(update=update | assurance | {"flags": tuple(flags)})


def earlier(plan: SearchPlan, ledger: Ledger) -> Earlier | None:
    """What an earlier search found for this goal."""
    for found in plan.earlier:
        if (found.loss_ratio, found.final_trial_duration_s) == (ledger.goal.loss_ratio, ledger.full_s):
            return found
    return None


def _assurance(state: State, pursuit: Pursuit) -> dict[str, object]:
    lower_pps, upper_pps = pursuit.ledger.bounds()
    estimate = estimated(state, pursuit)
    known: dict[str, object] = {}
    if estimate and estimate.near:
        known |= {"estimate_pps": estimate.load_pps, "estimate_sd_pps": estimate.load_pps * estimate.sd_ratio}
    if lower_pps is not None:
        meets = _meets_probability(state, pursuit, lower_pps, estimate)
        known["lower_error_probability"] = None if meets is None else 1.0 - meets
        known["loss_ratio_limit"] = _loss_ratio_limit(state, lower_pps)
    if upper_pps is not None:
        known["upper_error_probability"] = _meets_probability(state, pursuit, upper_pps, estimate)
    return known


def _doubts(assurance: dict[str, object]) -> Iterator[Flag]:
    """Bounds that the trials elsewhere make unlikely."""
    for side, other in (("lower", "would not"), ("upper", "would")):
        probability = assurance.get(f"{side}_error_probability")
        if isinstance(probability, float) and probability > DOUBTFUL:
            text = f"By all trials, most at the {side} bound {other} meet the goal: {probability:.0%} likely."
            yield Flag(code=f"doubtful-{side}-bound", text=text)


def _meets_probability(state: State, pursuit: Pursuit, load_pps: float, estimate: Estimate | None) -> float | None:
    """The chance that most trials at a load meet the goal; None where no model says."""
    if estimate is None or not estimate.near:
        return None
    quiet = below_capacity(state, pursuit) if pursuit.ratio == 0.0 else []
    # Where frames get lost singly, the estimate says which load to try next, not where a limit is.
    singly = any(trace.lost_count > 0 for trace in quiet) and not any(is_stall(trace) for trace in quiet)
    return above_probability(load_pps, _observed(pursuit.ledger), None if singly else estimate)


def _observed(ledger: Ledger) -> list[Observed]:
    """What counts for a goal, load by load; a trial that stands for several has only seen the SUT once."""
    found = []
    for load_pps, counted in ledger.counted().items():
        met_count = missed_count = 0.0
        for _, parts in itertools.groupby(counted, key=lambda each: each.trial_index):
            share = fmean(each.loss_ratio <= ledger.goal.loss_ratio for each in parts)
            met_count += share
            missed_count += 1.0 - share
        found.append(Observed(load_pps, met_count, missed_count))
    return found


def _loss_ratio_limit(state: State, load_pps: float) -> float | None:
    """None where trials differ too much for the few at this load to speak for others.

    How many frames get lost at a time is seen at the nearest load where some did.
    """
    traces = [trace for trace in state.model.traces if trace.load_pps == load_pps]
    if not traces or (state.model.nature in (Nature.MODES, Nature.SCATTERED) and len(traces) < ENOUGH_TRIALS):
        return None
    losing = [trace for trace in state.model.traces if trace.bursts and not trace.overloaded]
    nearest = min(losing, key=lambda trace: abs(trace.load_pps - load_pps), default=None)
    return loss_ratio_limit(traces, nearest.lost_count / len(nearest.bursts) if nearest else 1.0)


def _early_flag(ledger: Ledger, upper_pps: float) -> Flag:
    seconds = sum(each.effective_s for each in ledger.at(upper_pps))
    text = (
        f"{load_text(upper_pps)} was taken for an upper bound after {seconds:.3g} s of trials that all lost too much, "
        f"of the {ledger.sum_s * ledger.goal.exceed_ratio:.3g} s that would decide it."
    )
    return Flag(code="early-upper-bound", text=text)


def _accepted_flag(state: State, ledger: Ledger, lower_pps: float) -> Flag:
    trace = next(t for t in state.model.traces if t.index == ledger.accepted[lower_pps])
    text = f"At {load_text(lower_pps)} the trial took {trace.elapsed_s:.3g} s of the {ledger.full_s:g} s asked"
    found = earlier(state.plan, ledger)
    if found and found.lower_pps == lower_pps:
        return Flag(code="earlier-lower-bound", text=f"{text}; the rest is the earlier result's word.")
    return Flag(code="short-lower-bound", text=f"{text}, as time was short: not proven.")


def _deviations(ledger: Ledger) -> Iterator[Flag]:
    """Where the evidence is not what RFC 9971 would have counted."""
    if ledger.aside:
        listed = ", ".join(f"#{index}" for index in sorted(ledger.aside))
        text = f"Trials {listed} lost too much but were set aside, as the SUT did better before or since then."
        yield Flag(code="trials-set-aside", text=text)
    if ledger.in_parts:
        text = f"Parts of {ledger.full_s:g} s of longer trials count as trials: no pause came between them."
        yield Flag(code="parts-as-trials", text=text)
