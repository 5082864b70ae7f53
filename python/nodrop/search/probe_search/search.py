"""The flow of nodrop's own search: look briefly, prove once.

It looks at the SUT with short overloads, which show the capacity and the buffer within a fraction of a second; works
out from these where each goal's threshold must lie; proves a load just below with a trial as long as the goal asks;
and shows just above that more is too much, which takes a moment. Trials that lose are watched window by window, as
*how* they lose says where to go next: an overload that began late, single frames, stalls, a capacity that changed.

What counts for a goal is decided by the load classification of RFC 9971; the model only chooses loads. Bounds that were
decided with less, and trials that were set aside, are named in the result. Two rules hold throughout and are not named
each time: a trial stopped with more loss than its whole duration allows counts as full-length, and a short trial counts
only where it lost steadily (see `nodrop.search.probe_search.goal_evidence`).

`Trial.rule`: `look` and `earlier` come from here, the others from `nodrop.search.probe_search.load_selection`.
"""

from collections.abc import Generator

from nodrop.model.goal import Flag
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.probe_search import intervals
from nodrop.search.probe_search.findings import findings
from nodrop.search.probe_search.load_selection import choose, estimated, lucky
from nodrop.search.probe_search.probes import LOOK_S, OVERLOAD, WATCH_S, look, look_again, look_first
from nodrop.search.probe_search.state import CAP_S, PREDICTABLE, SHORT_PROOF_S, OutOfTime, Pursuit, State, Want
from nodrop.search.probe_search.sut_model import SAME, Estimate, Nature
from nodrop.search.probe_search.trial_trace import Trace
from nodrop.search.reason_text import load_text
from nodrop.search.schedule import check

EARLY_PARTS = 2
"""Overloaded trials in a row, after which the many more that would decide a load are not made."""
EARLY_PARTS_SINGLY = 4
"""The same for trials that lost frames one by one or in stalls."""
GROSS = 5.0
"""A steady loss so many times the ratio allowed needs no more than a moment."""
TRIALS_MAX = 60
"""Trials for one goal; a SUT that still keeps changing its mind by then is not measured any better."""
QUIET_S = 2.0
"""A proof expected to lose some frames is given up when after this time it has lost almost none."""
RENEWALS_MAX = 12
"""After so many changes of mind the SUT is taken as it is."""
FAR_OFF = 2.0
"""Widths below the estimate from which on a failed proof is not what the SUT usually does."""
WORTH_A_LOOK = 0.5
"""The same, as long as nobody has looked how much the SUT varies."""
UNCHANGED = 0.004
"""Relative change of a threshold up to which an earlier result is taken to hold."""


class NodropSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        check(plan)
        self._state = State(plan)
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Relevant bounds by the classification of RFC 9971, with how sure they are and every deviation from it."""
        return tuple(intervals.interval(self._state, pursuit) for pursuit in self._state.pursuits)

    def findings(self) -> tuple[Flag, ...]:
        """What the trials show of the SUT beyond the goals."""
        return tuple(findings(self._state.model, self._state.natures))

    def _search(self) -> Dialogue:
        """Goals that allow more loss come first: their proofs overload the SUT a little, which shows its limit."""
        state = self._state
        order = sorted(state.pursuits, key=lambda pursuit: (-pursuit.ratio, -pursuit.ledger.full_s))
        try:
            if not (yield from _resume(state)):
                yield from look_first(state)
            for _ in range(2):  # what a later goal's trials showed may have moved an earlier goal
                for pursuit in order:
                    yield from _settle(state, pursuit)
        except OutOfTime:
            state.flags.append(Flag(code="out-of-time", text="The time for the search was over."))
        _take_what_there_is(state)


def _resume(state: State) -> Generator[Trial, Outcome, bool]:
    """Check that the SUT still does what an earlier search found; says whether it does.

    One short overload tells. Then the goal that allows the least loss is proven anew, the others are only checked.
    """
    known = [(pursuit, found) for pursuit in state.pursuits if (found := intervals.earlier(state.plan, pursuit.ledger))]
    if len(known) < len(state.pursuits):
        return False
    known.sort(key=lambda pair: pair[0].ratio)
    highest, found = known[-1]
    trace = yield from look(state, found.upper_pps * OVERLOAD, "does the SUT still do what it did before")
    estimate = state.model.threshold(highest.ledger)
    middle_pps = (found.lower_pps + found.upper_pps) / 2.0
    if not trace.overloaded or not estimate or width.between(estimate.load_pps, middle_pps) > UNCHANGED:
        return False
    first, found = known[0]
    reason = f"{first.label}: the earlier lower bound, proving it anew"
    yield from _prove(state, first, Want(found.lower_pps, "earlier", reason))
    for pursuit, found in known[1:]:
        want = Want(found.lower_pps, "earlier", f"{pursuit.label}: the earlier lower bound, does it still hold")
        trace = yield from state.measure(want, pursuit.ledger.full_s, StopRule(elapsed_s=CAP_S), pursuit)
        if trace.loss_ratio <= pursuit.ratio:
            pursuit.ledger.accept(trace.load_pps, trace.index)
    return True


def _take_what_there_is(state: State) -> None:
    """A goal left without a lower bound gets the highest load that short trials were good at."""
    for pursuit in state.pursuits:
        lower_pps, upper_pps = pursuit.ledger.bounds()
        good = [
            trace
            for trace in state.model.current
            if trace.loss_ratio <= pursuit.ratio
            and trace.elapsed_s >= SHORT_PROOF_S
            and (upper_pps is None or trace.load_pps < upper_pps)
        ]
        if lower_pps is None and good:
            best = max(good, key=lambda trace: trace.load_pps)
            pursuit.ledger.accept(best.load_pps, best.index)


def _settle(state: State, pursuit: Pursuit) -> Dialogue:
    """Prove a load and cap it, until the bounds are as close as the goal asks."""
    for _ in range(TRIALS_MAX):
        lower_pps = pursuit.ledger.bounds().lower
        if state.is_narrow(pursuit.ledger) and not (lower_pps and lucky(state, pursuit, lower_pps)):
            if not _is_stale(state, pursuit):
                return
            yield from _check_cap(state, pursuit)
            continue
        want = choose(state, pursuit)
        if want.rule in ("cap", "bisect"):
            yield from _cap(state, pursuit, want)
        else:
            yield from _prove(state, pursuit, want)


def _is_stale(state: State, pursuit: Pursuit) -> bool:
    """Whether all that speaks for the upper bound is a moment from before the lower bound was proven."""
    ledger = pursuit.ledger
    lower_pps, upper_pps = ledger.bounds()
    if lower_pps is None or upper_pps is None or state.model.buffer_matters(upper_pps, LOOK_S):
        return False
    latest = max((each.trial_index for each in ledger.at(lower_pps)), default=0)
    traces = [trace for trace in state.model.traces if trace.load_pps == upper_pps]
    return bool(traces) and all(trace.elapsed_s <= LOOK_S and trace.index < latest for trace in traces)


def _check_cap(state: State, pursuit: Pursuit) -> Dialogue:
    """A SUT that was still warming up when it lost may not lose any more."""
    upper_pps = pursuit.ledger.bounds().upper
    assert upper_pps is not None
    trace = yield from look(state, upper_pps, f"does {load_text(upper_pps)} still lose too much")
    if trace.loss_ratio <= pursuit.ratio and state.renewals < RENEWALS_MAX:
        yield from look_again(state, f"{load_text(upper_pps)} does not lose any more: where is the limit")


def _prove(state: State, pursuit: Pursuit, want: Want) -> Dialogue:
    """Offer a load that is expected to meet the goal for as long as it takes to decide it."""
    ledger, load_pps = pursuit.ledger, want.load_pps
    estimate = estimated(state, pursuit)
    wanted_s = state.deciding_s(ledger, load_pps)
    asked_s = min(wanted_s, state.fair_share_s())
    trace = yield from state.measure(want, asked_s, _proof_stop(state, pursuit, load_pps, asked_s), pursuit)
    passed = trace.loss_ratio <= pursuit.ratio
    if trace.stopped and passed:
        if not state.model.is_smooth(pursuit.ratio):
            yield from look_again(state, f"{load_text(load_pps)} loses less than expected: where is the limit")
        return
    if asked_s < wanted_s and passed:
        if trace.elapsed_s < SHORT_PROOF_S:
            raise OutOfTime
        ledger.accept(load_pps, trace.index)
        return
    _learn_from_parts(state, pursuit, trace)
    # How a capacity goes on to fall in the course of a trial can only be seen by watching one to its end.
    change = (
        width.between(min(trace.tail_pps), max(trace.tail_pps)) if trace.overloaded and max(trace.tail_pps) else 0.0
    )
    state.watch = trace.stopped and not trace.steady and change > ledger.width_ratio
    if ledger.bounds().upper == load_pps:
        if trace.overloaded and not trace.steady and state.model.nature is Nature.STABLE:
            yield from _tell_drift(state, trace)
        pursuit.failures += 1
        pursuit.overloads += trace.overloaded
        pursuit.passes = 0
        yield from _reconsider(state, pursuit, trace, estimate)
    elif ledger.classification(load_pps).is_lower:
        pursuit.failures = 0
        pursuit.passes += 1
        _notice_rise(state, trace)


def _proof_stop(state: State, pursuit: Pursuit, load_pps: float, asked_s: float) -> StopRule:
    """Watch a loss where none is allowed, stop where the verdict is certain, give up where it is pointless."""
    quiet_s, quiet_count = _quiet(state, pursuit, load_pps, asked_s)
    ledger = pursuit.ledger
    if asked_s > ledger.full_s * 1.001 or not pursuit.strict:
        fresh = pursuit.ratio == 0.0 and asked_s > 2.0 * ledger.full_s and not ledger.at(load_pps)
        hopeless_s = EARLY_PARTS * ledger.full_s if fresh else None
        hopeless_ratio = pursuit.ratio or GROSS * ledger.width_ratio
        hopeless_count = int(hopeless_ratio * load_pps * asked_s) + 1 if asked_s > 2.0 * ledger.full_s else None
        return StopRule(
            lost_count=hopeless_count, after_loss_s=hopeless_s, quiet_s=quiet_s, quiet_lost_count=quiet_count
        )
    if pursuit.ratio == 0.0:
        return StopRule(after_loss_s=WATCH_S)
    if state.watch:
        return StopRule(quiet_s=quiet_s, quiet_lost_count=quiet_count)
    allowed_count = int(pursuit.ratio * load_pps * asked_s) + 1
    return StopRule(lost_count=allowed_count, quiet_s=quiet_s, quiet_lost_count=quiet_count)


def _quiet(state: State, pursuit: Pursuit, load_pps: float, asked_s: float) -> tuple[float | None, int]:
    """By when a proof must have lost how many frames, or else the SUT does more than expected."""
    model = state.model
    predictable = model.nature in PREDICTABLE and state.renewals < RENEWALS_MAX and model.threshold(pursuit.ledger)
    seconds, share = (2.0 * QUIET_S, 0.6) if model.nature is Nature.RISING else (QUIET_S, 0.25)
    expected = model.expected_lost(load_pps, seconds) if predictable and pursuit.ratio > 0.0 else 0.0
    if expected > 100.0 and asked_s > 2.0 * seconds:
        return seconds, max(1, int(share * expected))
    return None, 1


def _reconsider(state: State, pursuit: Pursuit, trace: Trace, estimate: Estimate | None) -> Dialogue:
    """A proof failed by far: was it this trial, or is the SUT no longer what it was?"""
    if estimate is None or not estimate.near or not trace.overloaded:
        return
    if not trace.steady or (trace.first_lossy or 0) > 1:
        return  # it changed in the course of the trial
    threshold_pps = trace.threshold_pps(pursuit.ratio, 0.0)
    bar = FAR_OFF if state.model.surveyed else WORTH_A_LOOK
    expected_change = max(bar * pursuit.ledger.width_ratio, 4.0 * estimate.sd_ratio)
    if width.between(threshold_pps, estimate.load_pps) < expected_change:
        return
    if state.model.nature is not Nature.MODES and state.renewals < RENEWALS_MAX:
        yield from look_again(state, f"trial {trace.index} did far worse than expected: is that typical")
    if trace.index in pursuit.ledger.aside:
        pursuit.failures = 0


def _tell_drift(state: State, trace: Trace) -> Dialogue:
    """A SUT that drifts down does not come back between trials, unlike one that falls in the course of each."""
    pps = state.model.usual_look_pps(trace.load_pps)
    after = yield from look(state, pps, f"the capacity fell in the course of trial {trace.index}: has it come back")
    state.model.follow_fall(trace, after)
    if state.model.nature is Nature.FALLING:
        state.take_nature(Nature.FALLING)


def _notice_rise(state: State, proof: Trace) -> None:
    """While the SUT is getting better, failures from before a proof say nothing about what is above it."""
    if proof.overloaded and not proof.steady and proof.tail_pps[-1] > proof.tail_pps[0]:
        state.take_nature(Nature.RISING)
    if state.model.nature is not Nature.RISING:
        return
    reached_pps = proof.capacity_pps if proof.overloaded else proof.load_pps
    for trace in state.model.traces:
        if trace.overloaded and trace.capacity_pps < reached_pps * (1.0 - SAME):
            for pursuit in state.pursuits:
                pursuit.ledger.set_aside(trace.index)


def _cap(state: State, pursuit: Pursuit, want: Want) -> Dialogue:
    """Show that a load loses too much: briefly if a moment can show it, else at full length."""
    ledger, load_pps = pursuit.ledger, want.load_pps
    first_time = load_pps not in pursuit.capped
    pursuit.capped[load_pps] = pursuit.capped.get(load_pps, 0) + 1
    soon = first_time and _shows_soon(state, pursuit, load_pps)
    stop: StopRule | None = None
    if first_time and not pursuit.strict:
        asked_s = ledger.full_s * (1 if state.one_by_one(ledger, load_pps) else EARLY_PARTS)
    else:
        asked_s = state.deciding_s(ledger, load_pps)
    if pursuit.strict and pursuit.ratio == 0.0:
        stop = StopRule(after_loss_s=WATCH_S)
    elif pursuit.strict and soon:
        stop = StopRule(elapsed_s=CAP_S)
    elif pursuit.strict:
        stop = StopRule(lost_count=int(pursuit.ratio * load_pps * asked_s))
    trace = yield from state.measure(want, asked_s, stop, pursuit)
    _learn_from_parts(state, pursuit, trace)
    surprising = soon and trace.loss_ratio <= pursuit.ratio and state.model.nature in PREDICTABLE
    if surprising and state.renewals < RENEWALS_MAX and (pursuit.ratio > 0.0 or not pursuit.strict):
        yield from look_again(state, f"{load_text(load_pps)} loses less than expected: where is the limit")


def _shows_soon(state: State, pursuit: Pursuit, load_pps: float) -> bool:
    """Whether a short trial is expected to lose clearly more than the goal allows."""
    lost = state.model.expected_lost(load_pps, CAP_S, unsent=True)
    return pursuit.ledger.clearly_exceeds(lost / (load_pps * CAP_S), times=1.5)


def _learn_from_parts(state: State, pursuit: Pursuit, trace: Trace) -> None:
    """What a trial that stands for several shows: whether it may, and whether the rest can be spared."""
    ledger = pursuit.ledger
    # A SUT that changes in the course of a long trial would not have changed in short ones.
    if ledger.part_count(trace) >= 4 and trace.overloaded and not trace.steady:
        state.apart = True
    if pursuit.strict or state.model.nature not in (Nature.STABLE, Nature.FALLING):
        return
    if trace.overloaded and trace.steady and trace.loss_ratio > GROSS * max(pursuit.ratio, ledger.width_ratio):
        ledger.decide_early(trace.load_pps, trace.index)
        return
    needed = EARLY_PARTS if trace.overloaded and trace.steady else EARLY_PARTS_SINGLY
    latest = [each.loss_ratio for each in ledger.at(trace.load_pps)][-needed:]
    if len(latest) == needed and ledger.clearly_exceeds(min(latest)):
        ledger.decide_early(trace.load_pps, trace.index)
