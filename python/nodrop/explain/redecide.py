"""A recorded search, decided again: the outcomes on record, told to a fresh search, must lead to the same trials."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from nodrop.explain.decision_log import LoggedSearch
from nodrop.explain.lookahead import goal_states
from nodrop.model.result import GoalState, RunResult, SearchDecision, Status
from nodrop.model.trial import Trial, TrialResult, ValidityStatus
from nodrop.search.base import Interval, Outcome
from nodrop.units import format_pps, format_seconds


class Redecision(NamedTuple):
    """What came of deciding again."""

    steps: tuple[SearchDecision, ...]
    """The trials that were decided as on record, without outlooks."""
    trial_count: int
    """Trials on record that the search was told about."""
    differences: tuple[str, ...]
    """Where the record says otherwise, as sentences; none when the search is reproduced."""


def redecide(result: RunResult) -> Redecision:
    """Decide a search again, from its first trial to its last, or to the first that is not the one on record.

    Invalid trials, which a search is never told of, and latency trials are left out. Raises ConfigError when the
    search on record cannot search as its plan says.
    """
    told = [trial for trial in result.trials if trial.phase == "search" and is_counted(trial)]
    started_s = _starts_s(result, told)
    recorded = {step.trial_index: step for step in result.steps}
    search = LoggedSearch(result.plan.search)
    steps: list[SearchDecision] = []
    differences: list[str] = []
    for trial in told:
        if not _same(search.ask(), trial.trial):
            differences.append(f"trial {trial.index}: {_text(search.ask())} decided, {_text(trial.trial)} on record")
            return Redecision(tuple(steps), len(told), tuple(differences))
        step = search.tell(Outcome.of(trial, started_s[trial.index]))
        steps.append(step)
        differences.extend(_moved_otherwise(step, recorded.get(trial.index)))
    differences.extend(_other_bounds(search.intervals(), result))
    wanted = search.ask()
    if wanted and result.status is Status.COMPLETE and not _ran_out_of_time(result):
        differences.append(f"the end: {_text(wanted)} decided, the end of the search on record")
    return Redecision(tuple(steps), len(told), tuple(differences))


def with_decisions(result: RunResult) -> RunResult:
    """A run with its search step by step: as it is on record or, where it has none, as it is decided again."""
    if result.steps or not any(trial.phase == "search" for trial in result.trials):
        return result
    return result.model_copy(update={"steps": redecide(result).steps})


def is_counted(trial: TrialResult) -> bool:
    """Whether the search was told of a trial."""
    return trial.validity.verdict is not ValidityStatus.INVALID


def _starts_s(result: RunResult, told: Sequence[TrialResult]) -> dict[int, float]:
    """When the trials began, as the search was told; by the wall clock where no steps were recorded."""
    times = {trial.index: datetime.fromisoformat(trial.started_at) for trial in told}
    first = min(times.values(), default=None)
    starts_s = {index: (at - first).total_seconds() for index, at in times.items() if first}
    return starts_s | {step.trial_index: step.started_s for step in result.steps}


def _same(wanted: Trial | None, recorded: Trial) -> bool:
    """Whether the decisions agree: load, duration and stop rule. Reasons are words, which may be put better."""
    words = {"reason": "", "goal": "", "rule": ""}
    return wanted is not None and wanted.model_copy(update=words) == recorded.model_copy(update=words)


def _moved_otherwise(step: SearchDecision, recorded: SearchDecision | None) -> Iterator[str]:
    if recorded:
        for now, then in zip(step.after, recorded.after, strict=True):
            yield from _otherwise(f"trial {step.trial_index}", now, then)


def _other_bounds(intervals: Sequence[Interval], result: RunResult) -> Iterator[str]:
    """Bounds of the result that are not those of the search decided again."""
    for now, found in zip(goal_states(intervals), result.goals, strict=False):  # no goals: ended before any
        then = GoalState.of(found)
        yield from _otherwise("the result", now, then)


def _otherwise(where: str, now: GoalState, then: GoalState) -> Iterator[str]:
    if now != then:
        yield f"{where}: bounds of {now.label} {_bounds_text(now)} decided, {_bounds_text(then)} on record"


def _ran_out_of_time(result: RunResult) -> bool:
    return any(flag.code == "out-of-time" for found in result.goals for flag in found.flags)


def _text(trial: Trial | None) -> str:
    if trial is None:
        return "the end of the search"
    stop = trial.stop.model_dump(exclude_defaults=True) if trial.stop else {}
    rule = "".join(f", {clause} {limit:g}" for clause, limit in stop.items())
    return f"{trial.intended_load_pps:.10g} pps for {format_seconds(trial.duration_s)}{rule}"


def _bounds_text(state: GoalState) -> str:
    low, high = (
        "none" if load_pps is None else format_pps(load_pps) for load_pps in (state.lower_pps, state.upper_pps)
    )
    return f"{low} to {high}"
