"""A search as a narrative: its goals, one sentence for every trial, and its result."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.formatting import (
    describe_run,
    describe_traffic,
    format_small_ratio,
    format_stop_reason,
    format_sut_name,
)
from nodrop.formatting.bound_changes import describe_bound_changes
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Goal
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.report.document.fixed_rate import describe_fixed_trial
from nodrop.report.document.goal_statements import describe_evidence
from nodrop.report.document.loss import describe_key_losses
from nodrop.report.document.search import describe_search_range
from nodrop.report.document.status import STATUS_TEXTS, describe_unresolved_goals
from nodrop.report.document.warnings import list_warnings
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds


class _Line(NamedTuple):
    """A sentence with a mark in front; further lines are indented."""

    text: str
    mark: str = ""

    def wrap(self, width: int) -> str:
        """Return the sentence broken into lines of the width."""
        return textwrap.fill(
            self.text,
            width,
            initial_indent=self.mark,
            subsequent_indent=" " * len(self.mark),
            break_on_hyphens=False,
            break_long_words=False,
        )


BLANK = _Line("")


def render_story(result: RunResult, steps: Sequence[SearchDecision], width: int, with_outlook: bool = False) -> str:
    """Return a run in plain text.

    Args:
        result: the run.
        steps: the effects of its trials on the bounds, if recorded.
        width: columns of the text.
        with_outlook: whether to add the effect that the opposite outcome of each trial would have had.
    """
    by_index = {step.trial_index: step for step in steps}
    lines = [
        *_describe_opening(result),
        BLANK,
        *_describe_trials(result, by_index, with_outlook),
        BLANK,
        *_describe_ending(result),
    ]
    return "\n".join(line.wrap(width) for line in lines) + "\n"


def _describe_opening(result: RunResult) -> Iterator[_Line]:
    search = result.plan.search
    yield _Line(f"Run {result.run_id}: {format_sut_name(result)}, {describe_traffic(result.plan.traffic)}.")
    if result.plan.fixed or result.plan.no_traffic:
        yield _Line(f"No search: {describe_run(result.plan)}.")
        return
    yield _Line(f"{describe_search_range(result)}, for")
    yield from (_Line(_describe_goal(search.complete(goal)), "- ") for goal in search.goals)


def _describe_goal(goal: Goal) -> str:
    assert goal.final_trial_duration_s and goal.duration_sum_s and goal.width_ratio
    loses = f"loses at most {format_small_ratio(goal.loss_ratio)}" if goal.loss_ratio else "loses no frame"
    sentence = f"{goal.label}: the highest load that {loses} in trials of {format_seconds(goal.final_trial_duration_s)}"
    if goal.duration_sum_s != goal.final_trial_duration_s:
        sentence += f", {format_seconds(goal.duration_sum_s)} of them"
    if goal.exceed_ratio:
        sentence += f", with up to {format_ratio(goal.exceed_ratio)} of that time excepted"
    return f"{sentence}, to within {format_ratio(goal.width_ratio)}."


def _describe_trials(result: RunResult, steps: Mapping[int, SearchDecision], with_outlook: bool) -> Iterator[_Line]:
    if not result.trials:
        yield _Line("No trial was made.")
    for trial in result.trials:
        step = steps.get(trial.index)
        yield _Line(_describe_trial(trial, step), f"{trial.index:>3}  ")
        if with_outlook and step and step.if_low_loss:
            yield _Line(_describe_opposite(trial, step), "     ")


def _describe_trial(trial: TrialResult, step: SearchDecision | None) -> str:
    requested = trial.trial
    when = f"At {format_seconds(round(step.started_s, 1))}, " if step else ""
    origin = ", ".join(filter(None, (requested.goal, requested.rule)))
    why = ": ".join(
        filter(None, (origin, format_message(requested.reason).removeprefix(f"{requested.goal}: ") or trial.phase))
    )
    asking = f"{when}{format_pps(requested.intended_load_pps)} for {format_seconds(requested.duration_s)} ({why})"
    if trial.validity.verdict is ValidityStatus.INVALID:
        doubts = "; ".join(map(format_message, trial.validity.doubts))
        return f"{asking}: the trial does not count: {doubts}."
    effect = f"; {describe_bound_changes(step.before, step.after)}" if step else _describe_latency(trial)
    return f"{asking}: {_describe_loss(trial)}{effect}."


def _describe_loss(trial: TrialResult) -> str:
    """Return the frames lost or never sent, and the reason for an early stop."""
    due_count = trial.offered_count + trial.unsent_count
    missing_count = trial.lost_count + trial.unsent_count
    of_due = f"of {format_count(due_count)}"
    if missing_count == 0:
        text = f"no frame {of_due} was lost"
    else:
        state = "never sent" if trial.lost_count == 0 else "lost"
        text = f"{format_count(missing_count)} {of_due} frames were {state} ({format_small_ratio(trial.loss_ratio)})"
        if trial.lost_count and trial.unsent_count:
            text += f", {format_count(trial.unsent_count)} of them never sent"
    return (
        f"{text}, {format_stop_reason(trial)} after {format_seconds(trial.duration_s)}" if trial.stopped_early else text
    )


def _describe_latency(trial: TrialResult) -> str:
    medians = [direction.latency.p50_ns for direction in trial.directions if direction.latency]
    return f"; median latency {' and '.join(map(format_ns, medians))}" if medians else ""


def _describe_opposite(trial: TrialResult, step: SearchDecision) -> str:
    remaining = f" {format_seconds(step.left_s)} were expected to remain." if step.left_s is not None else ""
    if trial.loss_ratio:
        return f"Without loss: {format_message(step.if_low_loss)}.{remaining}"
    return f"With loss: {format_message(step.if_high_loss)}.{remaining}"


def _describe_ending(result: RunResult) -> Iterator[_Line]:
    error = f" ({result.error})" if result.error else ""
    yield _Line(f"The run is {STATUS_TEXTS[result.status]}{error}, after {format_seconds(result.wall_s)}.")
    if unresolved := describe_unresolved_goals(result):
        yield _Line(f"{unresolved[0].upper()}{unresolved[1:]}.", "- ")
    if trial := result.fixed_trial:
        yield _Line(describe_fixed_trial(trial), "- ")
    for statement, *evidence in describe_evidence(result):
        yield _Line(statement, "- ")
        yield from (_Line(text, "  ") for text in evidence)
    yield from (_Line(text, "- ") for text in describe_key_losses(result))
    yield from _list_section("Other findings:", [format_message(finding) for finding in result.findings])
    yield from _list_section("Cautions:", list_warnings(result))


def _list_section(title: str, texts: Sequence[str]) -> Iterator[_Line]:
    if texts:
        yield from (BLANK, _Line(title), *(_Line(text, "- ") for text in texts))
