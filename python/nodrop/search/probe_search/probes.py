"""Probes: short overloads that show the behavior of the SUT within a fraction of a second."""

from collections.abc import Generator

from nodrop.model.message import Message
from nodrop.model.trial import StopRule, Trial
from nodrop.search.base import Dialogue, Outcome
from nodrop.search.probe_search.state import SearchState, TrialDialogue, TrialRequest, UndecidedLoadError
from nodrop.search.probe_search.sut_model import SutBehavior, is_collapsed
from nodrop.search.probe_search.trial_trace import Trace

ProbesDialogue = Generator[Trial, Outcome, list[Trace]]
"""A dialogue about several trials."""

PROBE_S = 0.5
"""Longest duration of a probe."""
WARM_UP_S, WARM_UPS_MAX = 5.0, 3
"""Duration and largest number of trials that offer the lowest load to a SUT that forwards almost nothing."""
ALIVE_FRAMES = 20.0
"""Frames forwarded in all trials below which a link is dead."""
WATCH_S = 0.15
"""Time after the first loss for which a probe or a failed proof continues, to show the pattern of the loss."""
OVERLOAD_FACTOR = 1.015
"""Load of a probe, relative to the last forwarding rate."""
HIGHEST_PROBES_MAX = 3
"""Probes of the highest load while other work leaves it undecided."""
FIRST_PROBES_MAX = 6
"""Probes that find the capacity if it depends on the overload."""
SURVEY_PROBES = 5
"""Consecutive probes that show the variation of a SUT."""
SURVEY_PROBES_VARYING = 4
"""The same for a SUT that is known to vary."""
SURVEY_PROBES_RISING = 2
"""The same while its capacity rises."""
SURVEY_PROBES_MAX = 18
"""Most consecutive probes."""
OVERSHOT_FACTOR = 1.25
"""A probe above this multiple of a load without loss is too high to show the limit."""
CLOSE = 1.03
"""Ratio of two loads between which probes are not needed."""


def probe(state: SearchState, load_pps: float, reason: Message) -> TrialDialogue:
    """Offer a load briefly."""
    stop = StopRule(after_loss_s=WATCH_S, elapsed_s=PROBE_S)
    return (yield from state.measure(TrialRequest(load_pps, "look", reason), state.full_s, stop, None))


def probe_first(state: SearchState) -> Dialogue:
    """Offer the highest load, then slightly more than the forwarding rate, until that no longer changes."""
    model, plan = state.model, state.plan
    trace = yield from _probe_highest(state)
    if not trace.overloaded:
        return
    if is_collapsed(trace):
        yield from _probe_between(state, plan.min_load_pps, trace.load_pps)
    for _ in range(FIRST_PROBES_MAX):
        capacity_pps = model.capacity_pps() or trace.load_pps
        # A buffer has to fill up well within the probe before frames are lost.
        load_pps = max(capacity_pps * OVERLOAD_FACTOR, capacity_pps + model.buffer_count / PROBE_S * 2.0)
        if load_pps >= 0.9 * _find_lowest_overload_pps(state) or load_pps <= plan.min_load_pps:
            return
        trace = yield from probe(state, load_pps, Message.of("probe-above", capacity_pps=capacity_pps))
        if not trace.overloaded:
            yield from _probe_between(state, load_pps, _find_lowest_overload_pps(state))
            return
        if load_pps < CLOSE * trace.capacity_pps and trace.capacity_pps < 1.005 * capacity_pps:
            return


def _probe_highest(state: SearchState) -> TrialDialogue:
    """Offer the highest load; again if other work leaves it undecided, as nothing else shows where to search."""
    for _ in range(HIGHEST_PROBES_MAX - 1):
        try:
            return (yield from probe(state, state.plan.max_load_pps, Message.of("probe-highest")))
        except UndecidedLoadError:
            continue
    return (yield from probe(state, state.plan.max_load_pps, Message.of("probe-highest")))


def warm_up(state: SearchState) -> Generator[Trial, Outcome, bool]:
    """Offer the lowest load for a while to a SUT that forwards almost nothing; return whether that has ended.

    It may have to learn flows or addresses first. A dead link forwards nothing at all.
    """
    forwarded_count = sum(trace.forwarded_pps * trace.elapsed_s for trace in state.model.traces)
    if not is_collapsed(state.model.traces[0]) or forwarded_count < ALIVE_FRAMES:
        return False
    request = TrialRequest(state.plan.min_load_pps, "look", Message.of("offer-lowest"))
    for _ in range(WARM_UPS_MAX):
        trace = yield from state.measure(request, WARM_UP_S, None, None)
        if trace.windows[-1].lost_count == 0:
            state.set_aside_all()
            return True
    return False


def _probe_between(state: SearchState, good_pps: float, bad_pps: float) -> Dialogue:
    """Find a load just above the limit, between one without loss and one with far too much loss."""
    era_start = state.model.era_start
    while bad_pps > CLOSE * good_pps and state.model.era_start == era_start:
        load_pps = good_pps * (bad_pps / good_pps) ** (0.5 if bad_pps > 2.0 * good_pps else 0.3)
        reason = Message.of("probe-between", low_pps=good_pps, high_pps=bad_pps)
        trace = yield from probe(state, load_pps, reason)
        if not trace.overloaded:
            good_pps = trace.load_pps
            continue
        bad_pps = trace.load_pps
        # A SUT that forwards less in overload shows its limit only just above it.
        is_worse = trace.capacity_pps < good_pps and bad_pps > OVERSHOT_FACTOR * good_pps
        if not is_collapsed(trace) and not is_worse:
            return


def _find_lowest_overload_pps(state: SearchState) -> float:
    loads = [trace.load_pps for trace in state.model.current if trace.overloaded]
    return min(loads, default=state.plan.max_load_pps)


def probe_again(state: SearchState, reason: Message) -> Dialogue:
    """Probe a changed SUT several times, to determine its new behavior and variation."""
    state.restarts += 1
    model = state.model
    before = model.era_start
    probes = yield from _survey_capacity(state, reason)
    if model.behavior is SutBehavior.STABLE and model.era_start == before:
        state.long_trials_differ = True  # short trials still show the same: only long ones differ
    if len(probes) < _count_required_probes(state):
        model.update_behavior(probes)
    state.note_behavior(model.behavior)
    if model.era_start != before:
        _discard_outdated(state)
    for trace in model.current:
        state.set_aside_exception(trace)


def _survey_capacity(state: SearchState, reason: Message) -> ProbesDialogue:
    model = state.model
    load_pps = model.usual_probe_pps(max((model.capacity_pps() or 0.0) * OVERLOAD_FACTOR, model.traces[-1].load_pps))
    probes: list[Trace] = []
    required_count, step = _count_required_probes(state), 0.02
    good_pps = load_pps
    for _ in range(SURVEY_PROBES_MAX):
        trace = yield from probe(state, load_pps, reason)
        if not trace.overloaded:
            if trace.load_pps >= state.plan.max_load_pps:
                break
            good_pps, load_pps = trace.load_pps, load_pps * (1.0 + step)
            step *= 2.0
            continue
        if not probes and trace.load_pps > OVERSHOT_FACTOR * good_pps:
            yield from _probe_between(state, good_pps, trace.load_pps)
            trace = next(each for each in reversed(model.current) if each.overloaded)
            load_pps = trace.load_pps
        probes.append(trace)
        load_pps = max(load_pps, trace.capacity_pps * OVERLOAD_FACTOR)
        if len(probes) >= required_count:
            model.update_behavior(probes)
            if not model.undecided_modes():
                break
    return probes


def _count_required_probes(state: SearchState) -> int:
    if state.model.behavior is SutBehavior.RISING:
        return SURVEY_PROBES_RISING
    return SURVEY_PROBES if state.model.behavior is SutBehavior.STABLE else SURVEY_PROBES_VARYING


def _discard_outdated(state: SearchState) -> None:
    """Discard older evidence against loads that the SUT now carries."""
    for goal_search in state.goal_searches:
        estimate = state.model.threshold(goal_search.evidence)
        if estimate is None:
            continue
        for index in goal_search.evidence.high_loss_indices(estimate.load_pps):
            if index < state.model.current[0].index:
                goal_search.evidence.set_aside(index)
