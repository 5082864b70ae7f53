"""Where and when frames were lost in the trials that figures rest on."""

from collections.abc import Iterator

from nodrop.charts import loss, sankey
from nodrop.formatting import format_goal
from nodrop.model.ledger import Hop
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Fold, Paragraph, Table
from nodrop.report.document.figures import figure
from nodrop.report.fixed import fixed_trial
from nodrop.report.ledger import UNATTRIBUTED, loss_line
from nodrop.units import format_count, format_pps, format_seconds

HOPS = (
    cells.word("hop"),
    cells.word("way"),
    cells.number("came", "frames"),
    cells.number("passed", "frames"),
    cells.number("lost", "frames"),
    cells.sentences("why"),
)


def telling_trials(result: RunResult) -> tuple[tuple[TrialResult, str], ...]:
    """Trials worth a closer look, and what they are: those that decided the upper bounds, or the one there is."""
    if trial := fixed_trial(result):
        return ((trial, "the trial"),)
    labels: dict[int, list[str]] = {}
    for found in result.goals:
        if found.upper:
            labels.setdefault(found.upper.trial_index, []).append(format_goal(found.goal))
    return tuple(
        (result.trials[index], f"the upper bound of {' and '.join(labels[index])}") for index in sorted(labels)
    )


def loss_blocks(result: RunResult) -> tuple[Block, ...]:
    """When, then where, for each telling trial."""
    where = (block for trial, role in telling_trials(result) for block in _of_trial(trial, role))
    return (*figure(lambda: loss.chart(result)), *where)


def _of_trial(trial: TrialResult, role: str) -> Iterator[Block]:
    ledger = trial.ledger
    if ledger is None or not ledger.ways:
        return
    what = f"Trial {trial.index}, {role}"
    yield Paragraph(text=f"{what}: {loss_line(trial) or 'nothing was lost'}.")
    if ledger.lost_count:
        yield from figure(lambda: sankey.chart(trial))
    table = Table(
        caption=f"Hop by hop: trial {trial.index}, {format_pps(trial.trial.intended_load_pps)} "
        f"for {format_seconds(trial.duration_s)}",
        columns=HOPS,
        rows=tuple(_row(f"{way.tx_port} → {way.rx_port}", hop) for way in ledger.ways for hop in way.hops),
        note=" ".join(f"{remark.rstrip('.')}." for remark in ledger.remarks),
    )
    yield Fold(title=f"{what}, hop by hop", blocks=(table,))


def _row(way: str, hop: Hop) -> tuple[Cell, ...]:
    reasons = [f"{format_count(cause.count)} {cause.text}" for cause in hop.causes]
    if hop.unattributed_count:
        reasons.append(f"{format_count(hop.unattributed_count)}: {UNATTRIBUTED}")
    return (
        cells.text(hop.place),
        cells.text(way),
        cells.count(hop.in_count),
        cells.count(hop.out_count),
        cells.lost(hop.lost_count),
        cells.text("; ".join(reasons)),
    )
