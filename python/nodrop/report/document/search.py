"""The search: how the bounds converged, and every trial with its reason and outcome."""

from collections.abc import Iterator

from nodrop.charts import search_bounds
from nodrop.formatting import format_stop_reason
from nodrop.formatting.bound_changes import describe_bound_changes
from nodrop.formatting.messages import format_message
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import SEARCH, TrialResult, ValidityStatus
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Figure, Fold, Paragraph, Table, Tone
from nodrop.report.document.fixed_rate import describe_fixed_trial
from nodrop.report.document.goal_statements import describe_confidence
from nodrop.report.document.warnings import name_doubt
from nodrop.units import format_count, format_pps, format_seconds

TONES: dict[ValidityStatus, Tone] = {
    ValidityStatus.VALID: "good",
    ValidityStatus.SUSPECT: "caution",
    ValidityStatus.INVALID: "bad",
}
COUNTS = {ValidityStatus.VALID: "yes", ValidityStatus.SUSPECT: "suspect", ValidityStatus.INVALID: "no"}
COLUMNS = (
    cells.make_number_column("trial"),
    cells.make_number_column("began at", "s", is_detail=True),
    cells.make_number_column("load", "pps"),
    cells.make_number_column("lasted", "s"),
    cells.make_number_column("sent", "frames"),
    cells.make_number_column("not sent", "frames"),
    cells.make_number_column("received", "frames", is_detail=True),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("loss", "ratio"),
    cells.make_text_column("counts"),
    cells.make_prose_column("reason and outcome"),
)


def build_search_blocks(result: RunResult) -> tuple[Block, ...]:
    """Return goals, bounds over time, and trials; nothing without any trial."""
    if not result.trials:
        return ()
    blocks: list[Block] = list(_build_opening(result))
    if any(trial.phase == SEARCH for trial in result.trials):
        blocks.append(Figure(chart=search_bounds.build_chart(result, result.steps)))
    if evidence := tuple(_list_evidence(result)):
        blocks.append(Bullets(items=evidence))
    table = build_trial_table(result)
    blocks.append(Fold(title=f"{table.caption}, with their reasons", blocks=(table,)) if len(table.rows) > 1 else table)
    return tuple(blocks)


def build_trial_table(result: RunResult) -> Table:
    """Return every trial of a run."""
    steps = {step.trial_index: step for step in result.steps}
    return Table(
        caption="The trial" if len(result.trials) == 1 else f"All {format_count(len(result.trials), 'trial')}",
        columns=COLUMNS,
        rows=tuple(tuple(_build_row(trial, steps.get(trial.index))) for trial in result.trials),
        note="Loads are over all directions. Loss is the share of the frames sent; a search judges by lost and unsent "
        "frames together.",
    )


def describe_search_range(result: RunResult) -> str:
    """Return the name of the search and the loads it may try."""
    search = result.plan.search
    return (
        f"The search {search.algorithm} tried loads between {format_pps(search.min_load_pps)} and "
        f"{format_pps(search.max_load_pps)}, all directions together"
    )


def _list_evidence(result: RunResult) -> Iterator[str]:
    """Yield the evidence for the bounds; a sentence that holds for several goals once, without their names."""
    labels: dict[str, list[str]] = {}
    for goal_result in result.goals:
        confidence = describe_confidence(goal_result, result, with_estimates=False)
        for text in (format_message(goal_result.explanation), *confidence):
            labels.setdefault(text, []).append(goal_result.goal.label)
    for text, concerned in labels.items():
        yield text if len(concerned) == len(result.goals) else f"{' and '.join(concerned)}: {text}"


def _build_opening(result: RunResult) -> Iterator[Paragraph]:
    if trial := result.fixed_trial:
        yield Paragraph(text=describe_fixed_trial(trial))
    elif result.goals:
        yield Paragraph(
            text=f"{describe_search_range(result)}. Each trial sends at one load and counts the frames that arrive; "
            "a load that meets a goal raises its lower bound, any other load lowers its upper bound."
        )


def _build_row(trial: TrialResult, step: SearchDecision | None) -> Iterator[Cell]:
    verdict = trial.validity.verdict
    yield cells.make_number_cell(trial.index)
    yield Cell(text=format_seconds(round(step.started_s, 1)), key=round(step.started_s, 3)) if step else cells.NOTHING
    yield cells.make_rate_cell(trial.trial.intended_load_pps)
    yield Cell(text=format_seconds(trial.duration_s), key=trial.duration_s)
    yield cells.count_cell(trial.offered_count)
    yield cells.make_loss_cell(trial.unsent_count)
    yield cells.count_cell(trial.received_count)
    yield cells.make_loss_cell(trial.lost_count)
    yield cells.make_loss_ratio_cell(trial.lost_count / trial.offered_count if trial.offered_count else None)
    yield Cell(text=COUNTS[verdict], tone=TONES[verdict])
    yield cells.make_text_cell(describe_trial(trial, step))


def describe_trial(trial: TrialResult, step: SearchDecision | None) -> str:
    """Return the reason for a trial with goal and rule, its effect, its early stop, and its doubts in short."""
    request = trial.trial
    rule = ", ".join(filter(None, (request.goal, request.rule)))
    parts = [f"{format_message(request.reason) or trial.phase}{f' ({rule})' if rule else ''}"]
    if step and trial.validity.verdict is not ValidityStatus.INVALID:
        parts.append(describe_bound_changes(step.before, step.after))
    parts += [
        format_stop_reason(trial),
        *(f"{doubt.verdict}: {name_doubt(doubt)}" for doubt in trial.validity.doubts),
    ]
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts if part) + "."
