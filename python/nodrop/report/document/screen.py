"""The result of a run on one screen: figures, limit, latency and at most three cautions."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from nodrop.formatting import (
    LIMIT_NAMES,
    describe_run,
    describe_traffic,
    format_goal,
    format_small_ratio,
    format_sut_name,
)
from nodrop.formatting.messages import format_message
from nodrop.model.goal import REFUTED_LOWER, GoalResult
from nodrop.model.latency import LatencyFigures, compute_latency_by_direction, compute_trial_latency
from nodrop.model.result import RunResult
from nodrop.model.trial import SEARCH, TrialResult, ValidityStatus
from nodrop.report.calibration import describe_uncalibrated_loads
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from nodrop.report.document.events import build_event_tables
from nodrop.report.document.expectations import build_expectation_blocks
from nodrop.report.document.fixed_rate import build_direction_table
from nodrop.report.document.loss import find_loss_place
from nodrop.report.document.prescribed_trials import build_answer, has_prescribed_trials
from nodrop.report.document.repeatability import describe_repeatability
from nodrop.report.document.status import build_status
from nodrop.report.document.warnings import REASONS, list_run_warnings
from nodrop.units import format_count, format_pps, format_ratio

CAUTIONS_MAX = 3
ERROR_PROBABILITY_MIN = 0.1
"""Probability of a figure being too high from which on the screen says so."""
LIKE_RATIO = 0.1
"""Difference of the median latencies of two directions up to which one line has the slower one."""
PERCENTILES = (50.0, 99.0, 99.9)


def build_screen(result: RunResult) -> tuple[Section, ...]:
    """Return the screen of a run: what was measured, goals or the fixed rate, the limit, latency, cautions."""
    fixed = result.fixed_trial
    rates = _build_fixed_rate(result, fixed) if fixed else _build_goals(result)
    if has_prescribed_trials(result):
        rates = build_answer(result)
    blocks: tuple[tuple[str, Sequence[Block]], ...] = (
        ("headline", _describe_run(result)),
        ("rates", tuple(rates)),
        ("expectations", tuple(build_expectation_blocks(result))),
        ("latency", _build_latency(result)),
        ("cautions", build_cautions(list_cautions(result), result.run_id[-6:])),
        ("commands", (build_commands(result.run_id[-6:], why="explain", report="report"),)),
    )
    return tuple(Section(name=name, title="", blocks=tuple(each)) for name, each in blocks if each)


def _describe_run(result: RunResult) -> tuple[Paragraph, ...]:
    plan = result.plan
    measured = f"{format_sut_name(result)}, {describe_traffic(plan.traffic)}, {describe_run(plan)}"
    return Paragraph(text=measured), build_status(result)


def _build_fixed_rate(result: RunResult, trial: TrialResult) -> Iterator[Block]:
    """Yield the rates by direction, and the place of the loss."""
    yield build_direction_table(result, trial).brief()
    yield from build_event_tables(trial)
    if trial.lost_count and (place := find_loss_place(trial)):
        yield Paragraph(text=f"lost most at {place}")


def _build_goals(result: RunResult) -> Iterator[Block]:
    """Yield the goals, their limits, and the rates of earlier runs."""
    yield _build_goal_table(result)
    yield from _build_limits(result)
    if result.earlier_runs and result.earlier_runs.run_ids:
        yield from (Paragraph(text=text) for text in describe_repeatability(result))


def _build_goal_table(result: RunResult) -> Table:
    titles = ("goal", "rate", "without", "with too much loss")
    return Table(
        caption="",
        columns=tuple(map(cells.make_text_column, titles)),
        rows=tuple(_build_goal_row(each, result) for each in result.goals),
    )


def _build_goal_row(goal_result: GoalResult, result: RunResult) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(format_goal(goal_result.goal)),
        build_goal_rate_cell(goal_result),
        cells.make_text_cell(_describe_lower(goal_result, result)),
        cells.make_text_cell(_describe_upper(goal_result, result)),
    )


def build_goal_rate_cell(goal_result: GoalResult) -> Cell:
    """Return the rate of a goal; beside it that it may be exceeded, or that it is more likely too high than not."""
    if not goal_result.lower:
        return Cell(text="none", tone="caution")
    load_pps, is_open = goal_result.lower.load_pps, goal_result.limit.sut_may_exceed
    rate = format_rounded_pps(load_pps, compute_width(goal_result))
    text = f"{rate}, likely too high" if goal_result.is_likely_too_high else f"{'at least ' if is_open else ''}{rate}"
    tone: Tone = "good" if goal_result.regular and not is_open and not goal_result.is_likely_too_high else "caution"
    return Cell(text=text, key=load_pps, tone=tone)


def compute_width(goal_result: GoalResult) -> float:
    """Return the distance between the bounds as a share of the upper one; that of the goal without both."""
    if goal_result.lower and goal_result.upper and goal_result.upper.load_pps:
        return abs(1.0 - goal_result.lower.load_pps / goal_result.upper.load_pps)
    return 0.01


def format_rounded_pps(load_pps: float, width_ratio: float) -> str:
    """Return a rate with the digits that a relative uncertainty supports, three at least.

    The last digit is about a third of the uncertainty. With fewer digits the rate of a bound would be another.
    """
    if load_pps <= 0.0:
        return format_pps(load_pps)
    digits = max(3, 1 + math.ceil(-math.log10(max(width_ratio, 1e-6) * 3)))
    value, unit = format_pps(float(f"{load_pps:.{digits}g}")).split(" ")
    text = f"{float(value):.{digits}g}"
    return f"{float(text):g} {unit}" if "e" in text else f"{text} {unit}"


def _describe_lower(goal_result: GoalResult, result: RunResult) -> str:
    """Return the loss in the trials at the lower bound that meet the goal: `no frame of 1,300,000 lost`."""
    if not goal_result.lower:
        return ""
    every = _list_trials_at(goal_result.lower.load_pps, result)
    met = [trial for trial in every if trial.judged_loss_ratio <= goal_result.goal.loss_ratio]
    judged = [trial.judged_counts for trial in met or every]
    lost_count, unsent_count = sum(each.lost_count for each in judged), sum(each.unsent_count for each in judged)
    offered_count = sum(each.offered_count for each in judged)
    missing = _format_missing(lost_count, unsent_count, offered_count)
    due = format_count(offered_count + unsent_count, "frame")
    text = f"{missing} of {due}" if missing else f"no frame of {format_count(offered_count)} lost"
    if not met:
        return f"{text}, less in parts"
    return text if len(met) == len(every) else f"{text} in {len(met)} of {len(every)} trials"


def _describe_upper(goal_result: GoalResult, result: RunResult) -> str:
    """Return the loss at the upper bound: `276.3 kpps lost 0.35 %`; loss of sent and unsent frames apart."""
    if not goal_result.upper:
        return ""
    trial = result.trials[goal_result.upper.trial_index]
    judged = trial.judged_counts
    load = format_rounded_pps(goal_result.upper.load_pps, compute_width(goal_result))
    missing = _format_missing(judged.lost_count, judged.unsent_count, judged.offered_count)
    text = f"{load}: {missing or 'nothing lost in this trial'}"
    if trial.judged_loss_ratio > goal_result.goal.loss_ratio:
        return text
    full_s = goal_result.goal.final_trial_duration_s or 0.0
    return f"{text}, more in parts" if judged.duration_s > full_s else f"{text}, more if continued"


def _format_missing(lost_count: int, unsent_count: int, offered_count: int) -> str:
    """Return the lost share of the frames sent and the unsent share of those due; empty without either."""
    parts = [f"lost {format_small_ratio(lost_count / offered_count)}"] if lost_count else []
    if unsent_count:
        parts.append(f"did not send {format_small_ratio(unsent_count / (offered_count + unsent_count))}")
    return ", ".join(parts)


def _list_trials_at(load_pps: float, result: RunResult) -> list[TrialResult]:
    return [
        trial
        for trial in result.trials
        if trial.phase == SEARCH
        and trial.trial.intended_load_pps == load_pps
        and trial.validity.verdict is not ValidityStatus.INVALID
    ]


def _build_limits(result: RunResult) -> Iterator[Block]:
    """Yield a line for each limit, with the place where the frames were lost."""
    texts: dict[str, list[str]] = {}
    for each in result.goals:
        if not each.lower or each.limit not in LIMIT_NAMES:
            text = format_message(each.explanation)
        else:
            place = find_loss_place(result.trials[each.upper.trial_index]) if each.upper else ""
            text = f"limited by {LIMIT_NAMES[each.limit]}{f': {place}' if place else ''}"
        texts.setdefault(text, []).append(each.goal.label)
    for text, labels in texts.items():
        named = "" if len(labels) == len(result.goals) else f"{', '.join(labels)}: "
        yield Paragraph(text=f"{named}{text}")


def _build_latency(result: RunResult) -> tuple[Block, ...]:
    measured = [(each.label, result.trials[each.trial_index]) for each in result.latencies]
    rows = tuple(row for label, trial in measured for row in _iter_latency_rows(label, trial))
    if not rows:
        return ()
    titles = ("latency at", "p50", "p99", "p99.9", "max")
    columns = (cells.make_text_column(titles[0]), *(cells.make_number_column(title, "ns") for title in titles[1:]))
    return (Table(caption="", columns=columns, rows=rows),)


def _iter_latency_rows(label: str, trial: TrialResult) -> Iterator[tuple[Cell, ...]]:
    """Yield a row, or one for each direction if their medians differ."""
    ways = compute_latency_by_direction(trial, PERCENTILES)
    known = {way: each for way, each in ways.items() if each}
    medians_ns = [each.percentiles_ns.get(50.0, each.mean_ns) for each in known.values()]
    if not medians_ns:
        return
    if max(medians_ns) <= (1.0 + LIKE_RATIO) * min(medians_ns):
        figures = compute_trial_latency(trial, PERCENTILES)
        if figures:
            yield cells.make_text_cell(label), *_build_figures(figures)
        return
    for way, each in known.items():
        yield cells.make_text_cell(f"{label}, {way[0]}→{way[1]}"), *_build_figures(each)


def _build_figures(figures: LatencyFigures) -> tuple[Cell, ...]:
    return tuple(map(cells.make_latency_cell, (*map(figures.percentiles_ns.get, PERCENTILES), figures.max_ns)))


def list_cautions(result: RunResult) -> list[str]:
    """Return the cautions that may change a decision, most serious first."""
    beyond = describe_uncalibrated_loads(result)  # of the tester's limit, thus first
    others = (
        *_list_latency_losses(result),
        *_list_goal_cautions(result),
        *list_run_warnings(result),
        *_count_doubtful_trials(result),
    )
    return list(dict.fromkeys([*([beyond] if beyond else []), *others]))


def build_cautions(cautions: Sequence[str], name: str) -> tuple[Block, ...]:
    """Return the first cautions, and the command that shows the others of the run or suite `name`."""
    if not cautions:
        return ()
    rest = len(cautions) - CAUTIONS_MAX
    shown = list(cautions[:CAUTIONS_MAX])
    if rest > 0:
        more = f"{format_count(rest, 'further caution')}: nodrop show {name} --all"
        shown[-1] = f"{shown[-1].rstrip('.')}; {more}"
    return (Bullets(items=tuple(shown), tone="caution"),)


def build_commands(name: str, **commands: str) -> Paragraph:
    """Return the commands that show more of the run or suite `name`, by aim; all of it last."""
    texts = [f"{aim}: nodrop {command} {name}" for aim, command in commands.items()]
    return Paragraph(text="   ".join([*texts, f"all: nodrop show {name} --all"]), tone="quiet")


def _list_latency_losses(result: RunResult) -> Iterator[str]:
    """Yield the latency trials that lost more frames than a goal allows whose bound is at their load or above."""
    labels: dict[int, list[str]] = {}
    for each in result.goals:
        for flag in each.flags:
            if flag.code == REFUTED_LOWER:
                labels.setdefault(int(flag.params["trial"] or 0), []).append(each.goal.label)
    for index, goal_labels in labels.items():
        trial = result.trials[index]
        lost = f"lost {format_small_ratio(trial.judged_counts.sut_loss_ratio)}"
        goals = f"{' and '.join(goal_labels)} may be too high"
        yield f"the {trial.phase.replace('latency', 'latency trial at', 1)} {lost}: {goals}; repeat the run"


def _list_goal_cautions(result: RunResult) -> Iterator[str]:
    for each in result.goals:
        is_flagged = any(flag.code == "wide-interval" for flag in each.flags)
        if each.lower and each.upper and not each.regular and not is_flagged:
            gap = format_ratio(compute_width(each))
            yield f"{each.goal.label} is not confirmed on both sides; the bounds are {gap} apart"
        probability = each.lower_error_probability or 0.0
        if probability >= ERROR_PROBABILITY_MIN:
            chance = f"chance that {each.goal.label} is too high: {format_ratio(probability)}"
            yield f"{chance}; repeat: nodrop run --repeat 5"


def _count_doubtful_trials(result: RunResult) -> Iterator[str]:
    """Yield the number of doubtful trials with the most frequent reason."""
    doubtful = [trial for trial in result.trials if trial.validity.verdict is not ValidityStatus.VALID]
    reasons = Counter(REASONS.get(doubt.code, doubt.code) for trial in doubtful for doubt in trial.validity.doubts)
    if reasons:
        (reason, count), *_ = reasons.most_common(1)
        if len(result.trials) == 1:
            yield f"the trial is doubtful because {reason}"
            return
        trials = f"{len(doubtful)} of {format_count(len(result.trials), 'trial')}"
        yield f"{trials} {'is' if len(doubtful) == 1 else 'are'} doubtful, {count} because {reason}"
