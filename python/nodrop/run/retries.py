"""Detects trials invalidated by a tester stall and limits how often invalid trials are retried."""

import math
import os
from collections.abc import Sequence

from nodrop.errors import SearchError
from nodrop.formatting.doubts import QUOTA_REMEDY
from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import (
    DISTURBED_MAX_RATIO,
    FIXED,
    Doubt,
    OtherWork,
    TimeSummary,
    TrialResult,
    ValidityStatus,
)
from nodrop.units import format_pps, format_seconds

ON_TIME_NS = 1_000_000
"""A sender is fast enough for a load if the median lateness of its frames is below this."""
DISTURBED_NOTABLE_RATIO = 0.01
"""Share of disturbed time, which is left out, above which a trial says so."""
DISTURBED_WAIT_S = 60.0
"""Duration of consecutive trials with too little undisturbed time after which the run has no answer."""
BURST_RATE_MIN_RATIO = 0.99
"""Least rate of a burst, as a share of the load, at which it counts."""
BURST_TOO_SLOW_RATIO, BURST_STALL_MAX_S = 0.8, 0.5
"""Rate below which a burst of at least this duration shows that the tester is too slow: no stall explains it."""
BURST_AHEAD_MIN, BURST_AHEAD_RATIO = 2, 0.01
"""Frames ahead of the rate above which a loss may be the tester's: at least so many, and that share of the burst."""
CULPRITS_MAX = 3
"""Most processes named as the cause of a disturbance."""


def invalidate_tester_stalls(result: TrialResult, plan: SearchPlan, earlier: Sequence[TrialResult]) -> TrialResult:
    """Return the trial, marked invalid if a tester stall alone decides a goal, so that it is retried.

    A sender that other processes keep off its CPU leaves frames unsent. They count as lost, but say nothing about the
    SUT or the rate the tester can send. If every retry stalls as well, the last trial counts as it is.

    Args:
        result: a trial of the search.
        plan: the goals, and the number of retries.
        earlier: the trials before it.
    """
    if not _is_decided_by_stall(result, plan) or _invalid_count(earlier) >= plan.repeat_invalid:
        return result
    longest_s = max(lateness.max_ns for lateness in _lateness(result)) / 1e9
    return result.with_doubt(
        Doubt.invalid("held_up", longest_s=longest_s, unsent_count=result.judged_counts.unsent_count)
    )


def check_burst(result: TrialResult) -> TrialResult:
    """Return the trial, with a doubt if it is a burst that did not leave the tester at its rate.

    A slower burst that passes makes a buffer look larger, so the trial is invalid; one that loses frames would lose
    some at its full rate, too. Frames that left ahead of the rate may be the cause of a loss.
    """
    if not result.trial.burst:
        return result
    for sender in result.senders:
        count = sum(stream.offered_count for stream in result.streams if stream.tx_port == sender.port)
        if sender.burst is None or count < 2:
            continue
        intended_count = sum(stream.intended_count for stream in result.streams if stream.tx_port == sender.port)
        required_pps = intended_count / result.trial.duration_s
        sent_s = (sender.burst.last_sent_ns - sender.burst.first_sent_ns) / 1e9
        rate_pps = (count - 1) / sent_s if sent_s else math.inf
        rates = {"rate_pps": rate_pps, "required_pps": required_pps}
        if rate_pps < BURST_TOO_SLOW_RATIO * required_pps and result.trial.duration_s >= BURST_STALL_MAX_S:
            return result.with_doubt(Doubt.invalid("burst_rate", **rates))
        if rate_pps < BURST_RATE_MIN_RATIO * required_pps:
            doubt = Doubt.suspect if result.lost_count else Doubt.invalid
            return result.with_doubt(doubt("burst_slow", **rates))
        ahead_count = sender.burst.ahead_max_count
        if result.lost_count and ahead_count > max(BURST_AHEAD_MIN, BURST_AHEAD_RATIO * count):
            return result.with_doubt(Doubt.suspect("burst_fast", ahead_count=ahead_count))
    return result


def mark_disturbed(result: TrialResult) -> TrialResult:
    """Return the trial with a doubt if other work disturbed it; invalid if too little of it remains to judge."""
    ratio = result.disturbed_ratio
    if ratio <= DISTURBED_NOTABLE_RATIO:
        return result
    doubt = Doubt.suspect if ratio <= DISTURBED_MAX_RATIO or result.phase == FIXED else Doubt.invalid
    # Only searches judge trials without disturbed time; other trials report all frames.
    loss = {} if result.phase == "search" else {"undisturbed_loss_ratio": result.judged_loss_ratio}
    disturbed_s = ratio * result.duration_s
    return result.with_doubt(
        doubt("disturbed", disturbed_s=disturbed_s, disturbed_ratio=ratio, **loss, **_name_culprits(result))
    )


def _name_culprits(result: TrialResult) -> dict[str, str]:
    """Return the CPUs that were slow, and the work that took most CPU time from tester and SUT, if known."""
    notable_s = DISTURBED_NOTABLE_RATIO * result.duration_s
    slow = [speed for speed in result.cpu_speeds if speed.slow_time_s > notable_s]
    works = result.other_work[:CULPRITS_MAX]
    named = [f"CPU {speed.cpu} was slow for {format_seconds(speed.slow_time_s)}" for speed in slow]
    named += [f"{_name_work(work)} ran {format_seconds(work.time_s)} on CPU {work.cpu}" for work in works]
    return {"culprits": ", ".join(named)} if named else {}


def _name_work(work: OtherWork) -> str:
    """Return the process; nodrop's own Python, which reads the engine's reports during a trial, as such."""
    if work.pid is None:
        return work.name
    return "nodrop itself" if work.pid == os.getpid() else f"{work.name} (pid {work.pid})"


def _is_decided_by_stall(result: TrialResult, plan: SearchPlan) -> bool:
    """Return whether unsent frames alone make a goal fail, although the tester can send the load."""
    judged = result.judged_counts
    if not judged.unsent_count or result.validity.verdict is ValidityStatus.INVALID:
        return False
    sut_loss_ratio = judged.lost_count / (judged.offered_count + judged.unsent_count)
    medians_ns = [lateness.p50_ns for lateness in _lateness(result)]
    is_decided = any(sut_loss_ratio <= goal.loss_ratio < judged.loss_ratio for goal in plan.goals)
    return is_decided and bool(medians_ns) and max(medians_ns) < ON_TIME_NS


def _lateness(result: TrialResult) -> list[TimeSummary]:
    return [sender.lateness for sender in result.senders if sender.lateness]


def _invalid_count(trials: Sequence[TrialResult]) -> int:
    """Return the number of invalid trials since the last valid one."""
    verdicts = [result.validity.verdict is ValidityStatus.INVALID for result in reversed(trials)]
    return verdicts.index(False) if False in verdicts else len(verdicts)


def check_retry_limit(trials: Sequence[TrialResult], repeat_invalid: int) -> None:
    """Raise SearchError if the latest trials, one more than the retries allowed, are all invalid.

    Disturbed trials are retried for a while, at the same load or at others, as other work comes and goes.
    """
    count, latest = _invalid_count(trials), trials[-1]
    if any(doubt.code == "burst_rate" for doubt in latest.validity.doubts):
        raise SearchError(f"{_reasons(latest)}; set the speed of the links to one that the tester reaches (link_speed)")
    if count <= repeat_invalid:
        return
    if latest.is_throttled:
        raise SearchError(
            f"a CPU quota made {count} consecutive trials at {format_pps(latest.trial.intended_load_pps)} invalid: "
            f"{_reasons(latest)}; {QUOTA_REMEDY}"
        )
    if latest.is_undecided:
        waited_s = sum(trial.duration_s for trial in trials[-count:])
        if waited_s < DISTURBED_WAIT_S:
            return
        raise SearchError(
            f"other work on this machine left too little undisturbed time in {count} consecutive trials "
            f"({format_seconds(waited_s)}), the last one at {format_pps(latest.trial.intended_load_pps)}: "
            f"{_reasons(latest)}; stop the other work, wait for its end (--wait-idle), or count all time "
            "(search.disturbed_time: count)"
        )
    raise SearchError(
        f"{repeat_invalid + 1} consecutive trials at {format_pps(latest.trial.intended_load_pps)} were invalid: "
        f"{_reasons(latest)}; {_find_remedy(latest, 'lower --max-load')}, or allow more retries (search.repeat_invalid)"
    )


def check_valid(trial: TrialResult) -> None:
    """Raise SearchError for an invalid trial at a fixed rate."""
    if trial.validity.verdict is ValidityStatus.INVALID:
        raise SearchError(
            f"the trial at {format_pps(trial.trial.intended_load_pps)} is invalid: {_reasons(trial)}; "
            f"{_find_remedy(trial, 'lower the rate')}"
        )


def _find_remedy(trial: TrialResult, reduction: str) -> str:
    """Return the remedy for an invalid trial; `reduction` states how to send less."""
    if any(doubt.code == "burst_slow" for doubt in trial.validity.doubts):
        return "stop other work, or wait for its end (--wait-idle 5min)"
    if any(doubt.code == "generator_gone" for doubt in trial.validity.doubts):
        return "start the TRex server again (`nodrop run --show-trex-log` shows why it ended)"
    return f"{reduction}, or raise engine.queue_slots (nodrop's engine)"


def _reasons(trial: TrialResult) -> str:
    doubts = (doubt for doubt in trial.validity.doubts if doubt.verdict is ValidityStatus.INVALID)
    return "; ".join(map(format_message, doubts))
