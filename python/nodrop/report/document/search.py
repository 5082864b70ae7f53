"""The search: how the bounds closed in, and every trial with what came of it and why it was made."""

from collections.abc import Iterator

from nodrop.charts import search_bounds
from nodrop.formatting import compute_reported_loss, format_stop_reason
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.report.bound_changes import changes_text
from nodrop.report.confidence import confidence_lines
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Figure, Fold, Paragraph, Table, Tone
from nodrop.report.document.labels import counted
from nodrop.report.fixed import fixed_line, fixed_trial
from nodrop.report.terminal import limit_text
from nodrop.units import format_pps, format_seconds

TONES: dict[ValidityStatus, Tone] = {ValidityStatus.VALID: "good", ValidityStatus.SUSPECT: "caution", ValidityStatus.INVALID: "bad"}
COLUMNS = (
    cells.number("trial"),
    cells.number("began at", "s"),
    cells.number("load", "pps"),
    cells.number("lasted", "s"),
    cells.number("sent", "frames"),
    cells.number("received", "frames"),
    cells.number("lost", "frames"),
    cells.number("loss", "ratio"),
    cells.word("counts"),
    cells.sentences("why it was made, and what came of it"),
)


def search_blocks(result: RunResult) -> tuple[Block, ...]:
    """What was looked for, the funnel, and the trials; nothing where no trial was made."""
    if not result.trials:
        return ()
    blocks: list[Block] = list(_opening(result))
    if any(trial.phase == "search" for trial in result.trials):
        blocks.append(Figure(chart=search_bounds.chart(result, result.steps)))
    grounds = tuple(_grounds(result))
    if grounds:
        blocks.append(Bullets(items=grounds))
    table = trials_table(result)
    blocks.append(Fold(title=f"{table.caption}, with their reasons", blocks=(table,)) if len(table.rows) > 1 else table)
    return tuple(blocks)


def trials_table(result: RunResult) -> Table:
    """Every trial of a run."""
    steps = {step.trial_index: step for step in result.steps}
    return Table(
        caption="The trial" if len(result.trials) == 1 else f"All {counted(len(result.trials), 'trial')}",
        columns=COLUMNS,
        rows=tuple(tuple(_row(trial, steps.get(trial.index))) for trial in result.trials),
        note="Loads are over all directions; frames that the tester could not send count as lost in a search.",
    )


def _opening(result: RunResult) -> Iterator[Paragraph]:
    search = result.plan.search
    if trial := fixed_trial(result):
        yield Paragraph(text=fixed_line(trial))
    elif result.goals:
        yield Paragraph(
            text=f"The search {search.algorithm} looked between {format_pps(search.min_load_pps)} and "
            f"{format_pps(search.max_load_pps)}, all directions together. Each trial sends at one load and counts what "
            "arrives; a load that meets a goal raises its lower bound, one that does not lowers its upper bound."
        )


def _grounds(result: RunResult) -> Iterator[str]:
    """What each figure stands on."""
    for found in result.goals:
        yield limit_text(found)
        yield from confidence_lines(found, result)


def _row(trial: TrialResult, step: SearchDecision | None) -> Iterator[Cell]:
    verdict = trial.validity.verdict
    yield Cell(text=str(trial.index), key=trial.index)
    yield Cell(text=format_seconds(round(step.started_s, 1)), key=round(step.started_s, 3)) if step else cells.NOTHING
    yield cells.rate(trial.trial.intended_load_pps)
    yield Cell(text=format_seconds(trial.duration_s), key=trial.duration_s)
    yield cells.count(trial.offered_count)
    yield cells.count(trial.received_count)
    yield cells.lost(trial.lost_count)
    share = compute_reported_loss(trial)
    yield cells.ratio(share, "caution" if share else "quiet")
    yield Cell(
        text={ValidityStatus.VALID: "yes", ValidityStatus.SUSPECT: "suspect", ValidityStatus.INVALID: "no"}[verdict], tone=TONES[verdict]
    )
    yield cells.text(trial_text(trial, step))


def trial_text(trial: TrialResult, step: SearchDecision | None) -> str:
    """Why a trial was made, what it changed, why it ended early, and what speaks against it."""
    parts = [trial.trial.reason or trial.phase]
    if step and trial.validity.verdict is not ValidityStatus.INVALID:
        parts.append(changes_text(step.before, step.after))
    parts += [format_stop_reason(trial), *(doubt.text for doubt in trial.validity.doubts)]
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts if part) + "."
