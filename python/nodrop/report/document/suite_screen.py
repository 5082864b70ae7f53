"""Several frame sizes on one screen: cautions first, then a table with a row for each size."""

from collections.abc import Callable, Iterator, Sequence

from nodrop.formatting import LIMIT_NAMES, describe_run, format_goal, format_sut_name
from nodrop.model.latency import compute_trial_latency
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Bullets, Cell, Column, Paragraph, Section, Table
from nodrop.report.document.expectations import build_expectation_blocks
from nodrop.report.document.fixed_rate import describe_short_offer
from nodrop.report.document.screen import (
    build_cautions,
    build_commands,
    build_goal_rate_cell,
    list_cautions,
)
from nodrop.report.document.status import build_suite_status
from nodrop.units import format_count

PERCENTILES = (50.0, 99.0)


def build_suite_screen(suite: Suite, results: Sequence[RunResult]) -> tuple[Section, ...]:
    """Return the screen of several frame sizes; the table is last, so that it is still on the terminal.

    Args:
        suite: frame sizes, each measured once.
        results: the results of its runs, in the same order, at least one.
    """
    blocks = (
        ("headline", _describe_suite(suite, results)),
        ("expectations", tuple(_iter_expectations(results))),
        ("cautions", build_cautions(list_suite_cautions(results, _name_size), suite.suite_id[-6:])),
        ("commands", (build_commands(suite.suite_id[-6:], report="report"),)),
        ("sizes", (_build_fixed_table(results) if results[0].plan.fixed else _build_goal_table(results),)),
    )
    return tuple(Section(name=name, title="", blocks=tuple(each)) for name, each in blocks if each)


def _describe_suite(suite: Suite, results: Sequence[RunResult]) -> tuple[Paragraph, ...]:
    sizes = format_count(len(suite.frame_sizes), "frame size")
    trials = format_count(sum(len(result.trials) for result in results), "trial")
    return (
        Paragraph(text=f"{format_sut_name(results[0])}, {sizes}, {describe_run(results[0].plan)}"),
        build_suite_status(suite, trials, results),
    )


def _name_size(result: RunResult) -> str:
    return result.plan.frame_size


def _iter_expectations(results: Sequence[RunResult]) -> Iterator[Bullets]:
    for result in results:
        for bullets in build_expectation_blocks(result):
            items = tuple(f"{result.plan.frame_size}: {item}" for item in bullets.items)
            yield bullets.replace(items=items)


def list_suite_cautions(results: Sequence[RunResult], name_run: Callable[[RunResult], str]) -> list[str]:
    """Return the cautions with the names of the runs they apply to; the most serious ones of each run first."""
    names: dict[str, list[str]] = {}
    for _, caution, name in sorted(_iter_cautions(results, name_run), key=lambda entry: entry[0]):
        names.setdefault(caution, []).append(name)
    return [
        caution if len(named) == len(results) > 1 else f"{', '.join(named)}: {caution}"
        for caution, named in names.items()
    ]


def _iter_cautions(
    results: Sequence[RunResult], name_run: Callable[[RunResult], str]
) -> Iterator[tuple[int, str, str]]:
    """Yield rank, text and run of each caution; that of a run which failed, or fell short, is first."""
    for result in results:
        first = [text for text in (result.error, describe_short_offer(result)) if text]
        for rank, caution in enumerate([*first, *list_cautions(result)]):
            yield rank, caution, name_run(result)


def _build_goal_table(results: Sequence[RunResult]) -> Table:
    """Return the rate of every goal, the limit, and the latency at the first load of the latency trials."""
    plan = results[0].plan
    goals, point = plan.search.goals, next((point.label for point in plan.latency.points), "")
    percentiles = PERCENTILES if point else ()
    return Table(
        caption="",
        columns=(
            cells.make_text_column("frame size", is_lead=True),
            *(Column(title=format_goal(goal)) for goal in goals),
            cells.make_text_column("limited by"),
            *(Column(title=f"p{percentile:g} at {point}") for percentile in percentiles),
        ),
        rows=tuple(_build_goal_row(result, [goal.label for goal in goals], point) for result in results),
    )


def _build_goal_row(result: RunResult, labels: Sequence[str], point: str) -> tuple[Cell, ...]:
    goals = {each.goal.label: each for each in result.goals}
    limits = dict.fromkeys(LIMIT_NAMES[each.limit] for each in result.goals if each.lower and each.limit in LIMIT_NAMES)
    index = next((each.trial_index for each in result.latencies if each.label == point), None)
    return (
        cells.make_text_cell(result.plan.frame_size),
        *(build_goal_rate_cell(goals[label]) if label in goals else cells.NOTHING for label in labels),
        cells.make_text_cell(", ".join(limits)),
        *(_build_latency_cells(None if index is None else result.trials[index]) if point else ()),
    )


def _build_fixed_table(results: Sequence[RunResult]) -> Table:
    """Return sent and received rate, loss and latency of every size."""
    return Table(
        caption="",
        columns=(
            cells.make_text_column("frame size", is_lead=True),
            cells.make_number_column("sent", "pps"),
            cells.make_number_column("received", "pps"),
            cells.make_number_column("lost", "frames"),
            cells.make_number_column("loss", "ratio"),
            *(Column(title=f"p{percentile:g}") for percentile in PERCENTILES),
        ),
        rows=tuple(_build_fixed_row(result) for result in results),
    )


def _build_fixed_row(result: RunResult) -> tuple[Cell, ...]:
    trial, size = result.fixed_trial, cells.make_text_cell(result.plan.frame_size)
    if trial is None:
        return size, *(cells.NOTHING,) * (4 + len(PERCENTILES))
    lost = trial.lost_count
    loss_ratio = lost / trial.offered_count if trial.offered_count else None
    sent = cells.make_rate_cell(trial.offered_load_pps)
    return (
        size,
        sent.replace(tone="caution") if trial.has_shortfall else sent,
        cells.make_rate_cell(trial.forwarding_rate_pps),
        cells.make_loss_cell(lost),
        cells.make_ratio_cell(loss_ratio, "caution" if lost else "good"),
        *_build_latency_cells(trial),
    )


def _build_latency_cells(trial: TrialResult | None) -> tuple[Cell, ...]:
    figures = compute_trial_latency(trial, PERCENTILES) if trial else None
    if figures is None:
        return (cells.NOTHING,) * len(PERCENTILES)
    return tuple(cells.make_latency_cell(figures.percentiles_ns.get(each)) for each in PERCENTILES)
