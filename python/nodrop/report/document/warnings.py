"""Reasons for caution: warnings of the run, doubts about trials, and other findings of the search."""

from collections.abc import Iterator

from nodrop.formatting import format_other_load
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Limit
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import FIXED, Doubt, TrialResult, ValidityStatus
from nodrop.report.calibration import describe_uncalibrated_loads
from nodrop.report.cpu_speed import describe_slow_cpus
from nodrop.report.document.blocks import Block, Bullets, Fold, Paragraph
from nodrop.report.document.fixed_rate import list_shortfalls
from nodrop.units import format_count, format_ordinal, format_pps, format_ratio

LIMIT_FLAGS = {
    Limit.SUT: (),
    Limit.TESTER: ("tester-limited",),
    Limit.SHARED_CPU: ("tester-limited",),
    Limit.MAX_LOAD: ("met-at-max-load", "invalid-upper-bound"),
    Limit.MIN_LOAD: ("goal-lost", "invalid-lower-bound"),
    Limit.UNKNOWN: ("undecided-lower-bound", "undecided-upper-bound", "invalid-lower-bound", "invalid-upper-bound"),
}
"""Codes of the flags that the sentence about a limit covers."""
STATED_FLAGS = ("doubtful-lower-bound",)
"""Codes of flags whose probability stands with the goal."""
REASONS = {
    "aborted": "the trial was aborted",
    "burst_fast": "frames of a burst left ahead of its rate",
    "burst_rate": "the tester does not reach the rate of bursts",
    "burst_slow": "a burst left too slowly",
    "clock_jump": "the wall clock was set",
    "counters_frozen": "the generator could not assign frames to streams",
    "cpu_steal": "the hypervisor took CPU time away",
    "cpu_throttled": "the CPU quota stopped tester or SUT",
    "disturbed": "other work disturbed a part, which is left out",
    "engine_died": "the packet engine died",
    "generator_gone": "the traffic generator was gone",
    "held_up": "the tester stalled",
    "misdelivered": "the SUT delivered frames with wrong headers",
    "offered_short": "frames were not sent in time",
    "queue_full": "the tester's send queues were full",
    "receiver_starved": "the tester's receiver got too little CPU time",
    "sender_drops": "frames were lost in the tester's send queues",
    "sender_late": "the tester fell behind and caught up in a burst",
    "sender_stalled": "the tester's sender paused",
    "stopped_for_late": "the trial was stopped too late",
    "sut_preempted": "other work kept the SUT off its CPU",
    "tester_busy": "the tester's threads had no idle time left",
    "tester_drops": "the tester dropped frames",
    "tester_preempted": "other work kept the tester off its CPU",
}
"""Short texts for codes of doubts; their sentences have the figures."""


def build_warning_blocks(result: RunResult, *, is_alone: bool = True) -> tuple[Block, ...]:
    """Return warnings, then other findings; nothing without any. Paper has the doubts of a run that is alone."""
    blocks: list[Block] = []
    if warnings := tuple(list_short_warnings(result)):
        blocks.append(Bullets(items=warnings, tone="caution"))
    if doubts := tuple(map(_to_sentence, list_doubts(result))):
        blocks.append(Fold(title="Doubtful trials", blocks=(Bullets(items=doubts),), is_on_paper=is_alone))
    if result.findings:
        blocks.append(Paragraph(text="Other findings:"))
        blocks.append(Bullets(items=tuple(_to_sentence(format_message(finding)) for finding in result.findings)))
    return tuple(blocks)


def list_short_warnings(result: RunResult) -> Iterator[str]:
    """Yield what qualifies the figures, as sentences; doubts only counted by reason."""
    yield from map(_to_sentence, [*list_run_warnings(result), *_list_latency_warnings(result)])
    yield from _count_doubts(result)


def name_doubt(doubt: Doubt) -> str:
    """Return the reason of a doubt in short."""
    return REASONS.get(doubt.code, doubt.code.replace("_", " "))


def list_warnings(result: RunResult) -> list[str]:
    """Return what qualifies or contradicts the figures."""
    return [*list_run_warnings(result), *list_doubts(result), *_list_latency_warnings(result)]


def list_run_warnings(result: RunResult) -> list[str]:
    """Return what qualifies the figures of the run as a whole."""
    beyond = describe_uncalibrated_loads(result)
    return [
        *result.plan.warnings,
        *([format_other_load(result.facts)] if result.facts and result.facts.other_load else []),
        *describe_slow_cpus(result),
        *_list_flags(result),
        *([beyond] if beyond else []),
        *list_shortfalls(result),
    ]


def list_doubts(result: RunResult) -> Iterator[str]:
    """Yield a line for every serious doubt, and one for all other suspect trials."""
    yield from list_serious_doubts(result)
    roles = _find_roles(result)
    suspect = [trial for trial in result.trials if trial.validity.verdict is ValidityStatus.SUSPECT]
    unlisted = [trial.index for trial in suspect if trial.index not in roles and _list_trial_doubts(trial)]
    if unlisted:
        trials = format_count(len(unlisted), "more trial is", "more trials are")
        which = ", ".join(f"#{index}" for index in unlisted)
        yield f"{trials} suspect but did not affect the results ({which}); see 'nodrop show --trials'"


def list_serious_doubts(result: RunResult) -> Iterator[str]:
    """Yield a line for every invalid trial and every suspect trial that a figure depends on; one for all bursts."""
    roles = _find_roles(result)
    bursts = [trial for trial in result.trials if trial.trial.burst]
    if slow_count := sum(burst.validity.verdict is ValidityStatus.INVALID for burst in bursts):
        yield f"{format_count(slow_count, 'burst')} left the tester too slowly to count"
    for trial in result.trials:
        if trial.trial.burst:
            continue
        verdict = trial.validity.verdict
        is_serious = verdict is ValidityStatus.INVALID or (verdict is ValidityStatus.SUSPECT and trial.index in roles)
        if is_serious and (doubts := _list_trial_doubts(trial)):
            role = f" ({', '.join(roles[trial.index])})" if trial.index in roles else ""
            yield f"trial #{trial.index}{role} is {verdict}: {'; '.join(map(format_message, doubts))}"


def _list_flags(result: RunResult) -> Iterator[str]:
    """Yield each flag once for all goals that carry it."""
    labels: dict[str, list[str]] = {}
    for goal_result in result.goals:
        for flag in goal_result.flags:
            if flag.code not in (*LIMIT_FLAGS[goal_result.limit], *STATED_FLAGS):
                labels.setdefault(format_message(flag), []).append(goal_result.goal.label)
    yield from (f"{', '.join(concerned)}: {text}" for text, concerned in labels.items())


def _list_latency_warnings(result: RunResult) -> Iterator[str]:
    """Yield warnings on latency that was sampled, measured under loss, or not measured."""
    for latency in result.latencies:
        trial = result.trials[latency.trial_index]
        every = max((times.latency_every for times in trial.directions), default=1)
        if every > 1:
            yield f"latency at {latency.label}: only every {format_ordinal(every)} frame of a stream was timed"
        if trial.lost_count:
            yield (
                f"latency at {latency.label}: {format_ratio(trial.lost_count / trial.offered_count)} of the frames "
                f"were lost in this trial at {format_pps(latency.load_pps)}; the figures cover frames that arrived"
            )
    measured = {latency.label for latency in result.latencies}
    for label in (point.label for point in result.plan.latency.points):
        if result.status is Status.COMPLETE and label not in measured:
            yield f"latency at {label}: not measured: no load was found, no trial was valid, or no time was left"


def _find_roles(result: RunResult) -> dict[int, list[str]]:
    """Return the figures that depend on each trial, by its index."""
    roles: dict[int, list[str]] = {}
    for goal_result in result.goals:
        for side, bound in (("lower", goal_result.lower), ("upper", goal_result.upper)):
            if bound:
                roles.setdefault(bound.trial_index, []).append(f"{goal_result.goal.label} {side} bound")
    for latency in result.latencies:
        roles.setdefault(latency.trial_index, []).append(f"latency at {latency.label}")
    for trial in result.trials:
        if trial.phase == FIXED:
            roles[trial.index] = ["all figures"]
    return roles


def _list_trial_doubts(trial: TrialResult) -> list[Doubt]:
    """Return the doubts, at a fixed rate without unsent frames: these are reported and do not count as lost."""
    return [doubt for doubt in trial.validity.doubts if trial.phase != FIXED or doubt.code != "offered_short"]


def _count_doubts(result: RunResult) -> Iterator[str]:
    """Yield the number of doubtful trials for each reason, in short."""
    trials: dict[tuple[ValidityStatus, str], int] = {}
    for trial in result.trials:
        for doubt in trial.validity.doubts:
            reason = doubt.verdict, name_doubt(doubt)
            trials[reason] = trials.get(reason, 0) + 1
    for verdict in (ValidityStatus.INVALID, ValidityStatus.SUSPECT):
        reasons = [(text, count) for (status, text), count in trials.items() if status is verdict]
        doubtful = sum(trial.validity.verdict is verdict for trial in result.trials)
        if doubtful and reasons:
            listed = "; ".join(f"{text} ({count})" for text, count in sorted(reasons, key=lambda each: -each[1]))
            which = f"{doubtful} of {format_count(len(result.trials), 'trial')}"
            yield f"{which} {'is' if doubtful == 1 else 'are'} {verdict}: {listed}."


def _to_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
