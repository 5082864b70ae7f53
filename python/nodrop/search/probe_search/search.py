"""The flow of nodrop's own search: probe briefly, prove once.

The search probes the SUT with short overloads, which show the capacity and the buffer within a fraction of a second;
estimates the threshold of each goal from these; proves a load just below with a trial as long as the goal requires; and
shows briefly that a load just above loses too much. Trials with loss are analyzed window by window, as the *pattern* of
the loss determines the next step: an overload that began late, single frames, stalls, a capacity that changed.

The load classification of RFC 9971 decides about bounds; the model only chooses loads. The result lists bounds decided
with less evidence, and trials that were set aside. Two rules always apply and are not listed: a trial stopped with more
loss than its entire duration allows counts as full-length, and a short trial counts only if it lost steadily
(see `nodrop.search.probe_search.goal_evidence`).

`Trial.rule`: `look` for probes, `earlier` for bounds of an earlier search; `load_selection` lists the others.
"""

import math
from collections.abc import Generator

from nodrop.model.goal import OUT_OF_TIME, Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.probe_search import intervals
from nodrop.search.probe_search.bound_confidence import MAX_CONFIRMATIONS_IN_DOUBT, count_required_confirmations
from nodrop.search.probe_search.event_loss import EVENTS_MAX
from nodrop.search.probe_search.findings import make_findings
from nodrop.search.probe_search.load_selection import (
    FAR_TOO_HIGH_FRAMES,
    choose_trial,
    estimate_threshold,
    needs_confirmation,
)
from nodrop.search.probe_search.probes import (
    OVERLOAD_FACTOR,
    PROBE_S,
    WATCH_S,
    probe,
    probe_again,
    probe_first,
    warm_up,
)
from nodrop.search.probe_search.state import (
    PREDICTABLE,
    SHORT_PROOF_MIN_S,
    SHORT_PROOF_S,
    UPPER_PROOF_S,
    GoalSearch,
    OutOfTimeError,
    SearchState,
    TrialRequest,
    UndecidedLoadError,
)
from nodrop.search.probe_search.sut_model import SAME_CAPACITY_RATIO, Estimate, SutBehavior
from nodrop.search.probe_search.trial_trace import Trace

EARLY_DECISION_PARTS = 2
"""Consecutive overloaded trials after which a load is decided without the remaining trials."""
EARLY_DECISION_PARTS_EVENTS = 4
"""The same for trials with single losses or stalls."""
CLEAR_LOSS_FACTOR = 5.0
"""A steady loss of this multiple of the ratio allowed decides at once."""
MAX_TRIALS = 60
"""Trials for one goal; more would not improve the result of a SUT that still changes."""
QUIET_S = 2.0
"""A proof that is expected to lose frames is abandoned if it has lost almost none after this time."""
SHORT_STEP_S = 1.0
"""Duration of a short trial, which only shows whether a load is worth a proof."""
BUFFERED_SHARE_MAX = 0.5
"""Share of the excess of a short trial over the last load that passed that a buffer may hide."""
MIN_PROOF_RATIO = 4.0
"""Least duration of a proof, in short trials, that is worth one."""
MISLED_MAX = 2
"""Failed proofs of loads that passed a short trial after which there are no more short trials."""
LOSS_RATE_WIDTHS = 4.0
"""Widths by which a rate of single losses is extrapolated at most if a short trial can measure it."""
SHORT_STEPS_MAX = 16
"""Most consecutive short trials."""
UNDECIDED_CAP_FACTOR = 1.25
"""Distance of the next probe, and least distance of the upper bound, from the highest undecided load."""
MAX_PASSES = 4
"""Passes over all goals."""
MAX_RESTARTS = 12
"""Restarts after which the SUT is no longer probed again."""
FAR_OFF_WIDTHS = 2.0
"""Widths below the estimate from which on a failed proof is atypical of the SUT."""
UNSURVEYED_WIDTHS = 0.5
"""The same before the variation of the SUT was surveyed."""
UNCHANGED_RATIO = 0.004
"""Relative change of a threshold up to which an earlier result still holds."""


class NodropSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    accepts_undecided = True

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._state = SearchState(plan)
        super().__init__(plan)

    def add_evidence(self, trial: Trial, outcome: Outcome) -> bool:
        """Count a trial for every goal, and search again where it contradicts a bound; see `Search`."""
        if self._trial is not None:
            raise RuntimeError("the search is not over, but received the outcome of another trial")
        self._state.record(outcome, trial.intended_load_pps, trial.duration_s)
        self._dialogue = self._search_to_end(self._search_goals())
        self._trial = next(self._dialogue, None)
        return True

    def intervals(self) -> tuple[Interval, ...]:
        """Return the relevant bounds (RFC 9971) with their confidence, and every deviation from the RFC."""
        return tuple(intervals.make_interval(self._state, goal_search) for goal_search in self._state.goal_searches)

    def findings(self) -> tuple[Flag, ...]:
        """Return what the trials show about the SUT beyond the goals."""
        return tuple(make_findings(self._state.model, self._state.behaviors))

    def _search(self) -> Dialogue:
        yield from self._search_to_end(self._search_all())

    def _search_all(self) -> Dialogue:
        if not (yield from _stop_if_undecided(_resume_from_earlier(self._state))):
            yield from _stop_if_undecided(probe_first(self._state))
        yield from self._search_goals()
        is_unmet = all(self._state.is_unmet(each.evidence) for each in self._state.goal_searches)
        if is_unmet and (yield from _stop_if_undecided(warm_up(self._state))):
            yield from _stop_if_undecided(probe_first(self._state))
            yield from self._search_goals()

    def _search_goals(self) -> Dialogue:
        """Search each goal, and again while trials for a later goal may have moved an earlier one.

        Goals that allow more loss come first: their proofs overload the SUT slightly, which shows its limit.
        """
        state = self._state
        order = sorted(state.goal_searches, key=lambda goal_search: (-goal_search.ratio, -goal_search.evidence.full_s))
        for _ in range(MAX_PASSES):
            trial_count = len(state.model.traces)
            for goal_search in order:
                yield from _search_goal(state, goal_search)
            if len(state.model.traces) == trial_count:
                return

    def _search_to_end(self, dialogue: Dialogue) -> Dialogue:
        """Search until the goals are decided or no trial fits in the remaining time."""
        state = self._state
        try:
            yield from dialogue
        except OutOfTimeError:
            flag = Flag.of(OUT_OF_TIME)
            state.flags += [] if flag in state.flags else [flag]
        _accept_short_trials(state)


def _stop_if_undecided(dialogue: Generator[Trial, Outcome, bool | None]) -> Generator[Trial, Outcome, bool | None]:
    """Probe until other work leaves a load undecided; the goals are then searched from that load down."""
    try:
        return (yield from dialogue)
    except UndecidedLoadError:
        return None


def _resume_from_earlier(state: SearchState) -> Generator[Trial, Outcome, bool]:
    """Return whether the SUT still behaves as in an earlier search.

    After one short overload, the goal that allows the least loss is proven again; the others are only checked.
    """
    earlier = [
        (goal_search, bounds)
        for goal_search in state.goal_searches
        if (bounds := intervals.find_earlier_goal(state.plan, goal_search.evidence))
    ]
    if len(earlier) < len(state.goal_searches):
        return False
    earlier.sort(key=lambda pair: pair[0].ratio)
    highest, bounds = earlier[-1]
    trace = yield from probe(state, bounds.upper_pps * OVERLOAD_FACTOR, Message.of("probe-earlier"))
    estimate = state.model.threshold(highest.evidence)
    middle_pps = (bounds.lower_pps + bounds.upper_pps) / 2.0
    if not trace.overloaded or not estimate or width.compute_between(estimate.load_pps, middle_pps) > UNCHANGED_RATIO:
        return False
    first, bounds = earlier[0]
    reason = Message.of("prove-earlier", goal=first.label)
    yield from _prove_lower(state, first, TrialRequest(bounds.lower_pps, "earlier", reason))
    for goal_search, bounds in earlier[1:]:
        request = TrialRequest(bounds.lower_pps, "earlier", Message.of("check-earlier", goal=goal_search.label))
        trace = yield from state.measure(
            request, goal_search.evidence.full_s, StopRule(elapsed_s=UPPER_PROOF_S), goal_search
        )
        if trace.loss_ratio <= goal_search.ratio:
            goal_search.evidence.accept(trace.load_pps, trace.index)
    return True


def _accept_short_trials(state: SearchState) -> None:
    """Accept the highest load that passed in short trials as the lower bound of a goal without one.

    Trials shorter than `SHORT_PROOF_S` are a last resort, and only where no buffer hides an overload that long.
    """
    for goal_search in state.goal_searches:
        lower_pps, upper_pps = goal_search.evidence.bounds()
        good = [
            trace
            for trace in state.model.current
            if trace.loss_ratio <= goal_search.ratio and (upper_pps is None or trace.load_pps < upper_pps)
        ]
        proofs = [trace for trace in good if trace.elapsed_s >= SHORT_PROOF_S] or [
            trace
            for trace in good
            if trace.elapsed_s >= SHORT_PROOF_MIN_S and not state.model.buffer_matters(trace.load_pps, trace.elapsed_s)
        ]
        if lower_pps is None and proofs:
            best = max(proofs, key=lambda trace: trace.load_pps)
            goal_search.evidence.accept(best.load_pps, best.index)


def _search_goal(state: SearchState, goal_search: GoalSearch) -> Dialogue:
    """Prove lower and upper bounds until they are as close as the goal requires."""
    for _ in range(MAX_TRIALS):
        try:
            if (yield from _narrow_bounds(state, goal_search)):
                return
        except UndecidedLoadError:
            goal_search.undecided_count += 1


def _narrow_bounds(state: SearchState, goal_search: GoalSearch) -> Generator[Trial, Outcome, bool]:
    """Measure the next load of a goal; return whether its bounds are as close as it requires."""
    lower_pps = goal_search.evidence.bounds().lower
    if state.is_narrow(goal_search.evidence) and not (lower_pps and needs_confirmation(state, goal_search, lower_pps)):
        if _is_upper_stale(state, goal_search):
            yield from _recheck_upper(state, goal_search)
        elif lower_pps is not None and _needs_doubt_resolved(state, goal_search, lower_pps):
            yield from _confirm_doubtful_lower(state, goal_search, lower_pps)
        elif (load_pps := _find_cap_above_undecided(state, goal_search)) is not None:
            yield from _cap_undecided(state, goal_search, load_pps)
        elif (upper_pps := goal_search.evidence.limits().upper) and goal_search.evidence.is_worth_retrying(upper_pps):
            reason = Message.of("retry-undecided", goal=goal_search.label, load_pps=upper_pps)
            yield from _prove_lower(state, goal_search, TrialRequest(upper_pps, "again", reason))
        else:
            return True
        return False
    request = choose_trial(state, goal_search)
    if lower_pps is None and _needs_loss_rate(state, goal_search, request):
        yield from _measure_loss_rate(state, goal_search, request.load_pps)
    elif request.rule in ("cap", "bisect"):
        yield from _prove_upper(state, goal_search, request)
    elif request.rule == "step-up" and _are_short_trials_useful(state, goal_search, request.load_pps):
        assert lower_pps is not None
        yield from _step_up_with_short_trials(state, goal_search, request, lower_pps)
    else:
        yield from _prove_lower(state, goal_search, request)
    return False


def _find_cap_above_undecided(state: SearchState, goal_search: GoalSearch) -> float | None:
    """Return an overload to probe if the upper bound is far above all undecided loads, or missing."""
    undecided = goal_search.evidence.undecided_loads()
    if not undecided:
        return None
    load_pps = undecided[-1] * UNDECIDED_CAP_FACTOR
    highest_pps = goal_search.evidence.bounds().upper or state.plan.max_load_pps * UNDECIDED_CAP_FACTOR
    return load_pps if load_pps * UNDECIDED_CAP_FACTOR <= highest_pps else None


def _cap_undecided(state: SearchState, goal_search: GoalSearch, load_pps: float) -> Dialogue:
    """Show with a short overload that a load above the undecided ones loses too much, as overloads stay clear."""
    request = TrialRequest(load_pps, "cap", Message.of("cap-undecided", goal=goal_search.label))
    stop = StopRule(after_loss_s=WATCH_S if goal_search.ratio == 0.0 else None, elapsed_s=PROBE_S)
    yield from state.measure(request, PROBE_S, stop, goal_search)


def _find_lowest_loss(state: SearchState) -> Trace:
    return min((trace for trace in state.model.current if trace.lost_count > 0), key=lambda trace: trace.load_pps)


def _needs_loss_rate(state: SearchState, goal_search: GoalSearch, request: TrialRequest) -> bool:
    """Return whether the load of a proof is an extrapolation from loads that lose far more."""
    if not goal_search.strict or request.reason.code != "prove-single-losses":
        return False
    lowest = _find_lowest_loss(state)
    if any(trace.load_pps == _choose_loss_rate_load(lowest, request.load_pps) for trace in state.model.current):
        return False
    reach = width.compute_between(request.load_pps, lowest.load_pps)
    return lowest.lost_count > FAR_TOO_HIGH_FRAMES and reach > LOSS_RATE_WIDTHS * goal_search.evidence.width_ratio


def _choose_loss_rate_load(lowest: Trace, lossless_pps: float) -> float:
    return math.sqrt(lowest.load_pps * lossless_pps)


def _measure_loss_rate(state: SearchState, goal_search: GoalSearch, lossless_pps: float) -> Dialogue:
    """Measure the rate of single losses between a load that loses too much and one that is expected to lose nothing.

    A second shows there how steeply the rate falls, so that less is extrapolated.
    """
    load_pps = _choose_loss_rate_load(_find_lowest_loss(state), lossless_pps)
    request = TrialRequest(load_pps, "look", Message.of("measure-loss-rate", goal=goal_search.label))
    stop = StopRule(lost_count=int(EVENTS_MAX), elapsed_s=SHORT_STEP_S)
    yield from state.measure(request, goal_search.evidence.full_s, stop, goal_search)


def _are_short_trials_useful(state: SearchState, goal_search: GoalSearch, load_pps: float) -> bool:
    """Return whether short trials may show the limit sooner than proofs do."""
    estimate = estimate_threshold(state, goal_search)
    is_by_capacity = estimate is None or estimate.basis.code == "prove-capacity"
    is_long = goal_search.evidence.full_s >= MIN_PROOF_RATIO * SHORT_STEP_S
    upper_pps = goal_search.evidence.bounds().upper or math.inf
    misled_count = sum(each >= upper_pps for each in goal_search.short_passed)
    step_pps = load_pps - (goal_search.evidence.bounds().lower or 0.0)
    is_hidden = state.model.buffer_count > BUFFERED_SHARE_MAX * step_pps * SHORT_STEP_S
    misleads = misled_count >= MISLED_MAX or is_hidden
    return is_by_capacity and is_long and not misleads


def _step_up_with_short_trials(
    state: SearchState, goal_search: GoalSearch, request: TrialRequest, passed_pps: float
) -> Dialogue:
    """Find the limit of a SUT that is better than expected with short trials; prove the highest load that passed.

    Args:
        state: the search.
        goal_search: the goal.
        request: the first load to try, unless a higher one is known to have passed a short trial.
        passed_pps: a load that passed, at most the same.
    """
    evidence = goal_search.evidence
    stop = StopRule(elapsed_s=SHORT_STEP_S, after_loss_s=WATCH_S if goal_search.ratio == 0.0 else None)
    lossy = evidence.undecided_loads()
    carried = [request.load_pps]
    for each in state.model.current:
        (carried if each.loss_ratio <= goal_search.ratio else lossy).append(each.load_pps)
    good_pps, bad_pps = passed_pps, min((each for each in lossy if each > request.load_pps), default=math.inf)
    load_pps = max(each for each in carried if each < bad_pps)
    for step in range(SHORT_STEPS_MAX):
        short = TrialRequest(load_pps, "look", Message.of("step-up-short", goal=goal_search.label))
        try:
            trace = yield from state.measure(short, evidence.full_s, stop, None)
            is_carried = trace.loss_ratio <= goal_search.ratio
        except UndecidedLoadError:
            is_carried = False
        good_pps, bad_pps = (load_pps, bad_pps) if is_carried else (good_pps, load_pps)
        if good_pps >= state.plan.max_load_pps or width.compute_between(good_pps, bad_pps) <= evidence.width_ratio:
            break
        next_pps = state.clamp(width.step_above(good_pps, width.scale(evidence.width_ratio, 2.0**step)))
        load_pps = next_pps if next_pps < bad_pps else (good_pps * bad_pps) ** 0.5
    if good_pps > passed_pps:
        goal_search.short_passed.add(good_pps)
    elif evidence.bounds().lower == passed_pps:
        if evidence.bounds().upper != bad_pps:
            yield from _prove_upper(state, goal_search, request._replace(load_pps=bad_pps))
        return
    yield from _prove_lower(state, goal_search, request._replace(load_pps=good_pps))


def _needs_doubt_resolved(state: SearchState, goal_search: GoalSearch, lower_pps: float) -> bool:
    """Return whether the model disbelieves a lower bound, and repeated proofs have not refuted the model."""
    if state.model.behavior is SutBehavior.FALLING:  # the bound was right when it was measured
        return False
    required_count = count_required_confirmations(state, goal_search, lower_pps)
    if goal_search.strict and state.model.may_pass_by_mode(lower_pps):
        required_count = MAX_CONFIRMATIONS_IN_DOUBT
    return goal_search.confirmations.get(lower_pps, 0) < required_count


def _confirm_doubtful_lower(state: SearchState, goal_search: GoalSearch, lower_pps: float) -> Dialogue:
    """Prove a lower bound again: a trial that fails there makes it an upper bound, and the search steps down."""
    goal_search.confirmations[lower_pps] = goal_search.confirmations.get(lower_pps, 0) + 1
    reason = Message.of("confirm-doubtful", goal=goal_search.label, load_pps=lower_pps)
    yield from _prove_lower(state, goal_search, TrialRequest(lower_pps, "again", reason))


def _is_upper_stale(state: SearchState, goal_search: GoalSearch) -> bool:
    """Return whether only short trials from before the proof of the lower bound support the upper bound."""
    evidence = goal_search.evidence
    lower_pps, upper_pps = evidence.bounds()
    if lower_pps is None or upper_pps is None or state.model.buffer_matters(upper_pps, PROBE_S):
        return False
    if evidence.is_given_up(upper_pps):
        return False
    latest = max((each.trial_index for each in evidence.at(lower_pps)), default=0)
    traces = [trace for trace in state.model.traces if trace.load_pps == upper_pps]
    return bool(traces) and all(trace.elapsed_s <= PROBE_S and trace.index < latest for trace in traces)


def _recheck_upper(state: SearchState, goal_search: GoalSearch) -> Dialogue:
    """Check an upper bound again: a SUT that was warming up then may no longer lose too much."""
    upper_pps = goal_search.evidence.bounds().upper
    assert upper_pps is not None
    trace = yield from probe(state, upper_pps, Message.of("probe-upper", load_pps=upper_pps))
    if trace.loss_ratio <= goal_search.ratio and state.restarts < MAX_RESTARTS:
        refuted = [earlier.index for earlier in state.model.traces[:-1] if earlier.load_pps == upper_pps]
        for each in state.goal_searches:
            for index in refuted if trace.loss_ratio <= each.ratio else ():
                each.evidence.set_aside(index)
        yield from probe_again(state, Message.of("upper-recovered", load_pps=upper_pps))


def _prove_lower(state: SearchState, goal_search: GoalSearch, request: TrialRequest) -> Dialogue:
    """Offer a load that is expected to meet the goal until it is decided."""
    evidence, load_pps = goal_search.evidence, request.load_pps
    estimate = estimate_threshold(state, goal_search)
    required_s = state.deciding_s(evidence, load_pps)
    intended_s = min(required_s, state.fair_share_s())
    trace = yield from state.measure(
        request, intended_s, _make_proof_stop(state, goal_search, load_pps, intended_s), goal_search
    )
    passed = trace.loss_ratio <= goal_search.ratio
    if trace.stopped and passed:
        if not state.model.is_smooth(goal_search.ratio):
            try:
                yield from probe_again(state, Message.of("less-loss", load_pps=load_pps))
            except UndecidedLoadError:
                goal_search.short_passed.add(load_pps)  # the next proof of it runs to its end
                raise
            if _is_worse_in_overload(state, goal_search, load_pps):
                goal_search.short_passed.add(load_pps)
                yield from _step_up_with_short_trials(state, goal_search, request, load_pps)
        return
    if intended_s < required_s and passed:
        if trace.elapsed_s < SHORT_PROOF_S:
            raise OutOfTimeError
        evidence.accept(load_pps, trace.index)
        return
    _learn_from_parts(state, goal_search, trace)
    # Only a trial that runs to its end shows how far a capacity falls in the course of a trial.
    change = (
        width.compute_between(min(trace.tail_pps), max(trace.tail_pps))
        if trace.overloaded and max(trace.tail_pps)
        else 0.0
    )
    state.run_to_end = trace.stopped and not trace.steady and change > evidence.width_ratio
    if evidence.bounds().upper == load_pps:
        if trace.overloaded and not trace.steady and state.model.behavior is SutBehavior.STABLE:
            yield from _identify_drift(state, trace)
        goal_search.failures += 1
        goal_search.overloads += trace.overloaded
        goal_search.passes = 0
        yield from _check_unexpected_failure(state, goal_search, trace, estimate)
    elif evidence.classification(load_pps).is_lower:
        goal_search.failures = 0
        goal_search.passes += 1
        _note_rise(state, trace)


def _is_worse_in_overload(state: SearchState, goal_search: GoalSearch, load_pps: float) -> bool:
    """Return whether overloads still show a limit at a load that just passed: the SUT forwards less in overload."""
    estimate = state.model.threshold(goal_search.evidence)
    expected_pps = width.step_above(load_pps, goal_search.evidence.width_ratio)
    is_refuted = estimate is not None and estimate.load_pps < expected_pps
    is_stable = state.model.behavior is SutBehavior.STABLE
    return is_refuted and is_stable and _are_short_trials_useful(state, goal_search, load_pps)


def _make_proof_stop(state: SearchState, goal_search: GoalSearch, load_pps: float, intended_s: float) -> StopRule:
    """Return when to stop a proof: after watching a loss that is not allowed, once decided, or if it is pointless."""
    quiet_s, quiet_count = _make_quiet_clause(state, goal_search, load_pps, intended_s)
    evidence = goal_search.evidence
    if intended_s > evidence.full_s * 1.001 or not goal_search.strict:
        fresh = goal_search.ratio == 0.0 and intended_s > 2.0 * evidence.full_s and not evidence.at(load_pps)
        give_up_s = EARLY_DECISION_PARTS * evidence.full_s if fresh else None
        give_up_ratio = goal_search.ratio or CLEAR_LOSS_FACTOR * evidence.width_ratio
        give_up_count = int(give_up_ratio * load_pps * intended_s) + 1 if intended_s > 2.0 * evidence.full_s else None
        return StopRule(lost_count=give_up_count, after_loss_s=give_up_s, quiet_s=quiet_s, quiet_lost_count=quiet_count)
    if goal_search.ratio == 0.0:
        return StopRule(after_loss_s=WATCH_S)
    if state.run_to_end:
        return StopRule(quiet_s=quiet_s, quiet_lost_count=quiet_count)
    allowed_count = int(goal_search.ratio * load_pps * intended_s) + 1
    return StopRule(lost_count=allowed_count, quiet_s=quiet_s, quiet_lost_count=quiet_count)


def _make_quiet_clause(
    state: SearchState, goal_search: GoalSearch, load_pps: float, intended_s: float
) -> tuple[float | None, int]:
    """Return time and loss count below which the SUT does better than expected; (None, 1) without expectation."""
    model = state.model
    predictable = (
        model.behavior in PREDICTABLE
        and state.restarts < MAX_RESTARTS
        and load_pps not in goal_search.short_passed
        and load_pps not in goal_search.confirmations
        and model.threshold(goal_search.evidence)
    )
    seconds, share = (2.0 * QUIET_S, 0.6) if model.behavior is SutBehavior.RISING else (QUIET_S, 0.25)
    expected = model.expected_lost(load_pps, seconds) if predictable and goal_search.ratio > 0.0 else 0.0
    if expected > 100.0 and intended_s > 2.0 * seconds:
        return seconds, max(1, int(share * expected))
    return None, 1


def _check_unexpected_failure(
    state: SearchState, goal_search: GoalSearch, trace: Trace, estimate: Estimate | None
) -> Dialogue:
    """Probe again after a proof failed by far, to tell an atypical trial from a changed SUT."""
    if estimate is None or not estimate.near or not trace.overloaded:
        return
    if not trace.steady or (trace.first_lossy or 0) > 1:
        return  # the SUT changed in the course of the trial
    threshold_pps = trace.threshold_pps(goal_search.ratio, 0.0)
    widths = FAR_OFF_WIDTHS if state.model.surveyed else UNSURVEYED_WIDTHS
    expected_change = max(widths * goal_search.evidence.width_ratio, 4.0 * estimate.sd_ratio)
    if width.compute_between(threshold_pps, estimate.load_pps) < expected_change:
        return
    if state.model.behavior is not SutBehavior.MODES and state.restarts < MAX_RESTARTS:
        yield from probe_again(state, Message.of("far-worse", trial=trace.index))
    if trace.index in goal_search.evidence.set_aside_indices:
        goal_search.failures = 0


def _identify_drift(state: SearchState, trace: Trace) -> Dialogue:
    """Tell a SUT that drifts down from one that falls in the course of each trial and recovers."""
    pps = state.model.usual_probe_pps(trace.load_pps)
    after = yield from probe(state, pps, Message.of("fell-in-trial", trial=trace.index))
    state.model.follow_fall(trace, after)
    if state.model.behavior is SutBehavior.FALLING:
        state.note_behavior(SutBehavior.FALLING)


def _note_rise(state: SearchState, proof: Trace) -> None:
    """Note a rising capacity; failures before a passed proof then say nothing about higher loads."""
    if proof.overloaded and not proof.steady and proof.tail_pps[-1] > proof.tail_pps[0]:
        state.note_behavior(SutBehavior.RISING)
    if state.model.behavior is not SutBehavior.RISING:
        return
    reached_pps = proof.capacity_pps if proof.overloaded else proof.load_pps
    for trace in state.model.traces:
        if trace.overloaded and trace.capacity_pps < reached_pps * (1.0 - SAME_CAPACITY_RATIO):
            for goal_search in state.goal_searches:
                goal_search.evidence.set_aside(trace.index)


def _prove_upper(state: SearchState, goal_search: GoalSearch, request: TrialRequest) -> Dialogue:
    """Show that a load loses too much, with a short trial if that suffices, else at full length."""
    evidence, load_pps = goal_search.evidence, request.load_pps
    first_time = load_pps not in goal_search.upper_tries
    goal_search.upper_tries[load_pps] = goal_search.upper_tries.get(load_pps, 0) + 1
    expects_loss_soon = first_time and _has_early_loss(state, goal_search, load_pps)
    stop: StopRule | None = None
    if first_time and not goal_search.strict:
        intended_s = evidence.full_s * (1 if state.needs_separate_trials(evidence, load_pps) else EARLY_DECISION_PARTS)
    else:
        intended_s = state.deciding_s(evidence, load_pps)
    if goal_search.strict and goal_search.ratio == 0.0:
        stop = StopRule(after_loss_s=WATCH_S)
    elif goal_search.strict and expects_loss_soon:
        stop = StopRule(elapsed_s=UPPER_PROOF_S)
    elif goal_search.strict:
        stop = StopRule(lost_count=int(goal_search.ratio * load_pps * intended_s))
    trace = yield from state.measure(request, intended_s, stop, goal_search)
    _learn_from_parts(state, goal_search, trace)
    surprising = expects_loss_soon and trace.loss_ratio <= goal_search.ratio and state.model.behavior in PREDICTABLE
    if surprising and state.restarts < MAX_RESTARTS and (goal_search.ratio > 0.0 or not goal_search.strict):
        yield from probe_again(state, Message.of("less-loss", load_pps=load_pps))


def _has_early_loss(state: SearchState, goal_search: GoalSearch, load_pps: float) -> bool:
    """Return whether a short trial is expected to lose clearly more than the goal allows."""
    lost = state.model.expected_lost(load_pps, UPPER_PROOF_S, unsent=True)
    return goal_search.evidence.clearly_exceeds(lost / (load_pps * UPPER_PROOF_S), times=1.5)


def _learn_from_parts(state: SearchState, goal_search: GoalSearch, trace: Trace) -> None:
    """Note whether a long trial may stand for several short ones, and whether its load is already decided."""
    evidence = goal_search.evidence
    # A SUT that changes in the course of a long trial need not change in short ones.
    if evidence.part_count(trace) >= 4 and trace.overloaded and not trace.steady:
        state.long_trials_differ = True
    if goal_search.strict or state.model.behavior not in (SutBehavior.STABLE, SutBehavior.FALLING):
        return
    if (
        trace.overloaded
        and trace.steady
        and trace.loss_ratio > CLEAR_LOSS_FACTOR * max(goal_search.ratio, evidence.width_ratio)
    ):
        evidence.decide_early(trace.load_pps, trace.index)
        return
    needed = EARLY_DECISION_PARTS if trace.overloaded and trace.steady else EARLY_DECISION_PARTS_EVENTS
    latest = [each.loss_ratio for each in evidence.at(trace.load_pps)][-needed:]
    if len(latest) == needed and evidence.clearly_exceeds(min(latest)):
        evidence.decide_early(trace.load_pps, trace.index)
