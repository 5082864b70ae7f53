"""Re-decision of a recorded search: a new search that receives the recorded outcomes must choose the same trials."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from nodrop.explain.decision_log import LoggedSearch
from nodrop.explain.lookahead import list_goal_states
from nodrop.model.goal import OUT_OF_TIME
from nodrop.model.result import GoalState, RunResult, SearchDecision, Status
from nodrop.model.trial import SEARCH, Trial, TrialResult, ValidityStatus
from nodrop.search.base import Interval, Outcome
from nodrop.units import format_pps, format_seconds


class Redecision(NamedTuple):
    """The result of a re-decision."""

    steps: tuple[SearchDecision, ...]
    """The reproduced decisions, without previews."""
    trial_count: int
    """Number of recorded trials that the search received."""
    differences: tuple[str, ...]
    """Differences from the record as sentences; empty if the search is reproduced."""


def redecide(result: RunResult) -> Redecision:
    """Decide a search again up to its last trial or the first one that differs from the record.

    Invalid trials that the search did not receive are skipped, and so are latency trials without a decision on record.
    Raises ConfigError if the recorded plan is not valid.
    """
    recorded = {step.trial_index: step for step in result.steps}
    counted = [
        trial
        for trial in result.trials
        if ((is_counted(trial) or trial.is_undecided) and trial.index in recorded)
        or (is_counted(trial) and trial.phase == SEARCH)
    ]
    started_s = _list_starts_s(result, counted)
    search = LoggedSearch(result.plan.search)
    steps: list[SearchDecision] = []
    differences: list[str] = []
    for trial in counted:
        if trial.phase != SEARCH and search.ask() is None:
            if evidence := search.add_evidence(trial.trial, Outcome.of(trial, started_s[trial.index])):
                steps.append(evidence)
                differences.extend(_diff_bounds(evidence, recorded.get(trial.index)))
            continue
        decided = search.ask()
        fitting = decided and result.plan.search.fit_trial(decided, started_s[trial.index])
        if not _is_same(fitting, trial.trial):
            differences.append(
                f"trial {trial.index}: {_describe_trial(search.ask())} decided, "
                f"{_describe_trial(trial.trial)} on record"
            )
            return Redecision(tuple(steps), len(counted), tuple(differences))
        step = search.tell(Outcome.of(trial, started_s[trial.index]))
        steps.append(step)
        differences.extend(_diff_bounds(step, recorded.get(trial.index)))
    differences.extend(_diff_results(search.intervals(), result))
    next_trial = search.ask()
    if next_trial and result.status is Status.COMPLETE and not _is_out_of_time(result):
        differences.append(f"the end: {_describe_trial(next_trial)} decided, the end of the search on record")
    return Redecision(tuple(steps), len(counted), tuple(differences))


def add_decisions(result: RunResult) -> RunResult:
    """Return a run with its decisions: the recorded ones or, for old results without any, re-decided ones."""
    if result.steps or not any(trial.phase == SEARCH for trial in result.trials):
        return result
    return result.replace(steps=redecide(result).steps)


def is_counted(trial: TrialResult) -> bool:
    """Return whether a trial counts."""
    return trial.validity.verdict is not ValidityStatus.INVALID


def _list_starts_s(result: RunResult, trials: Sequence[TrialResult]) -> dict[int, float]:
    """Return the start of each trial: the recorded one, or by the wall clock for results without decisions."""
    times = {trial.index: datetime.fromisoformat(trial.started_at) for trial in trials}
    first = min(times.values(), default=None)
    starts_s = {index: (at - first).total_seconds() for index, at in times.items() if first}
    return starts_s | {step.trial_index: step.started_s for step in result.steps}


def _is_same(decided: Trial | None, recorded: Trial) -> bool:
    """Return whether load, duration and stop rule agree; the wording of reasons may change."""
    others = {"reason": "", "goal": "", "rule": "", "extension_max_s": None}
    return decided is not None and decided.replace(**others) == recorded.replace(**others)


def _diff_bounds(step: SearchDecision, recorded: SearchDecision | None) -> Iterator[str]:
    if recorded:
        for redecided, original in zip(step.after, recorded.after, strict=True):
            yield from _compare_states(f"trial {step.trial_index}", redecided, original)


def _diff_results(intervals: Sequence[Interval], result: RunResult) -> Iterator[str]:
    """Yield the bounds of the result that differ from the re-decided ones."""
    for redecided, goal in zip(
        list_goal_states(intervals), result.goals, strict=False
    ):  # a run that failed early has no goals
        original = GoalState.of(goal)
        yield from _compare_states("the result", redecided, original)


def _compare_states(where: str, redecided: GoalState, original: GoalState) -> Iterator[str]:
    if redecided != original:
        before, after = _format_bounds(original), _format_bounds(redecided)
        yield f"{where}: bounds of {redecided.label} {after} decided, {before} on record"


def _is_out_of_time(result: RunResult) -> bool:
    return any(flag.code == OUT_OF_TIME for goal in result.goals for flag in goal.flags)


def _describe_trial(trial: Trial | None) -> str:
    if trial is None:
        return "the end of the search"
    stop = trial.stop.model_dump(exclude_defaults=True) if trial.stop else {}
    rule = "".join(f", {clause} {limit:g}" for clause, limit in stop.items())
    return f"{trial.intended_load_pps:.10g} pps for {format_seconds(trial.duration_s)}{rule}"


def _format_bounds(state: GoalState) -> str:
    low, high = (
        "none" if load_pps is None else format_pps(load_pps) for load_pps in (state.lower_pps, state.upper_pps)
    )
    return f"{low} to {high}"
