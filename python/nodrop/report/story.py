"""A search told as a story: what was looked for, one sentence for every trial, and what came of it."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.formatting import describe_run, format_small_ratio, format_stop_reason, describe_traffic
from nodrop.model.goal import Goal
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.report.bound_changes import changes_text
from nodrop.report.confidence import confidence_lines
from nodrop.report.fixed import fixed_line, fixed_trial
from nodrop.report.ledger import bound_lines
from nodrop.report.terminal import STATUS_TEXTS, limit_text, warning_lines
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds


class Line(NamedTuple):
    """A sentence and what stands before it; further lines are indented under its first word."""

    text: str
    mark: str = ""

    def wrapped(self, width: int) -> str:
        """The sentence over as many lines as it takes."""
        return textwrap.fill(
            self.text,
            width,
            initial_indent=self.mark,
            subsequent_indent=" " * len(self.mark),
            break_on_hyphens=False,
            break_long_words=False,
        )


BLANK = Line("")


def story(result: RunResult, steps: Sequence[SearchDecision], width: int, with_outlook: bool = False) -> str:
    """A run in plain text.

    Args:
        result: the run.
        steps: what its trials changed; trials without a step are told without it.
        width: columns to stay within.
        with_outlook: whether to say as well what the other outcome of a trial would have meant.
    """
    by_index = {step.trial_index: step for step in steps}
    lines = [*_opening(result), BLANK, *_trials(result, by_index, with_outlook), BLANK, *_ending(result)]
    return "\n".join(line.wrapped(width) for line in lines) + "\n"


def _opening(result: RunResult) -> Iterator[Line]:
    search = result.plan.search
    sut = result.facts.stage.sut if result.facts else result.plan.lab.sut
    yield Line(f"Run {result.run_id}: {sut}, {describe_traffic(result.plan.traffic)}.")
    if result.plan.fixed or result.plan.no_traffic:
        yield Line(f"Nothing was searched for: {describe_run(result.plan)}.")
        return
    yield Line(
        f"The search {search.algorithm} looked between {format_pps(search.min_load_pps)} and "
        f"{format_pps(search.max_load_pps)}, all directions together, for"
    )
    yield from (Line(_goal_sentence(search.complete(goal)), "- ") for goal in search.goals)


def _goal_sentence(goal: Goal) -> str:
    assert goal.final_trial_duration_s and goal.duration_sum_s and goal.width_ratio
    loses = f"loses at most {format_small_ratio(goal.loss_ratio)}" if goal.loss_ratio else "loses no frame"
    sentence = f"{goal.label}: the highest load that {loses} in trials of {format_seconds(goal.final_trial_duration_s)}"
    if goal.duration_sum_s != goal.final_trial_duration_s:
        sentence += f", {format_seconds(goal.duration_sum_s)} of them"
    if goal.exceed_ratio:
        sentence += f", {format_ratio(goal.exceed_ratio)} of that time excepted"
    return f"{sentence}, to within {format_ratio(goal.width_ratio)}."


def _trials(result: RunResult, steps: Mapping[int, SearchDecision], with_outlook: bool) -> Iterator[Line]:
    if not result.trials:
        yield Line("No trial was made.")
    for trial in result.trials:
        step = steps.get(trial.index)
        yield Line(_trial_sentence(trial, step), f"{trial.index:>3}  ")
        if with_outlook and step and step.if_low_loss:
            yield Line(_otherwise(trial, step), "     ")


def _trial_sentence(trial: TrialResult, step: SearchDecision | None) -> str:
    asked = trial.trial
    when = f"At {format_seconds(round(step.started_s, 1))}, " if step else ""
    chosen = ", ".join(filter(None, (asked.goal, asked.rule)))
    why = ": ".join(filter(None, (chosen, asked.reason.removeprefix(f"{asked.goal}: ") or trial.phase)))
    asking = f"{when}{format_pps(asked.intended_load_pps)} for {format_seconds(asked.duration_s)} ({why})"
    if trial.validity.verdict is ValidityStatus.INVALID:
        doubts = "; ".join(doubt.text for doubt in trial.validity.doubts)
        return f"{asking}: it does not count, as {doubts}."
    effect = f"; {changes_text(step.before, step.after)}" if step else _latency_text(trial)
    return f"{asking}: {_loss_text(trial)}{effect}."


def _loss_text(trial: TrialResult) -> str:
    """What became of the frames, and when it was stopped."""
    asked_count = trial.offered_count + trial.unsent_count
    gone_count = trial.lost_count + trial.unsent_count
    of_asked = f"of {format_count(asked_count)}"
    if gone_count == 0:
        text = f"no frame {of_asked} was lost"
    else:
        fate = "never sent" if trial.lost_count == 0 else "lost"
        text = f"{format_count(gone_count)} {of_asked} frames were {fate} ({format_small_ratio(trial.loss_ratio)})"
        if trial.lost_count and trial.unsent_count:
            text += f", {format_count(trial.unsent_count)} of them never sent"
    return f"{text}, {format_stop_reason(trial)} after {format_seconds(trial.duration_s)}" if trial.stopped_early else text


def _latency_text(trial: TrialResult) -> str:
    medians = [direction.latency.p50_ns for direction in trial.directions if direction.latency]
    return f"; median latency {' and '.join(map(format_ns, medians))}" if medians else ""


def _otherwise(trial: TrialResult, step: SearchDecision) -> str:
    left = f" {format_seconds(step.left_s)} were expected to be left." if step.left_s is not None else ""
    if trial.loss_ratio:
        return f"Without loss: {step.if_low_loss}.{left}"
    return f"With loss: {step.if_high_loss}.{left}"


def _ending(result: RunResult) -> Iterator[Line]:
    error = f" ({result.error})" if result.error else ""
    yield Line(f"The run is {STATUS_TEXTS[result.status]}{error}, after {format_seconds(result.wall_s)}.")
    if trial := fixed_trial(result):
        yield Line(fixed_line(trial), "- ")
    for found in result.goals:
        yield Line(limit_text(found), "- ")
        yield from (Line(text, "  ") for text in confidence_lines(found, result))
    yield from (Line(text, "- ") for text in bound_lines(result))
    yield from _section("What else was seen:", [finding.text for finding in result.findings])
    yield from _section("What to be careful about:", warning_lines(result))


def _section(title: str, texts: Sequence[str]) -> Iterator[Line]:
    if texts:
        yield from (BLANK, Line(title), *(Line(text, "- ") for text in texts))
