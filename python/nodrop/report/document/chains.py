"""Counts and latency of each service chain, if there are several."""

import collections
from collections.abc import Iterator

from nodrop.charts import chains
from nodrop.model.chain_counts import ChainCounts, count_by_chain
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Fold, Table, build_figure
from nodrop.report.document.loss import select_key_trials
from nodrop.units import format_count

COLUMNS = (
    cells.make_number_column("chain"),
    cells.make_text_column("way"),
    cells.make_number_column("sent", "frames"),
    cells.make_number_column("received", "frames"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("loss", "ratio"),
    cells.make_number_column("latency min", "ns"),
    cells.make_number_column("mean", "ns"),
    cells.make_number_column("p99", "ns", is_detail=True),
    cells.make_number_column("max", "ns"),
)
UNFOLDED_MAX = 8
"""Chains up to which the table is not folded."""


def build_chain_blocks(result: RunResult) -> tuple[Block, ...]:
    """Return a table for every key trial; nothing for a single chain."""
    if result.plan.lab.chain_count == 1:
        return ()
    tables = [
        build_chain_table(result, trial, f"Chains in trial #{trial.index}, {role}")
        for trial, role in _select_trials(result)
    ]
    figure = build_figure(lambda: chains.build_chart(result))
    if result.plan.lab.chain_count <= UNFOLDED_MAX:
        return (*figure, *tables)
    return (*figure, *(Fold(title=table.caption, blocks=(table,)) for table in tables))


def build_chain_table(result: RunResult, trial: TrialResult, caption: str) -> Table:
    """Return every chain in each direction in a trial."""
    counts = count_by_chain(result.plan.traffic, trial, (99.0,))
    return Table(caption=caption, columns=COLUMNS, rows=tuple(map(_build_row, counts)))


def describe_chain_losses(result: RunResult) -> Iterator[str]:
    """Yield the loss of each chain in the trials behind the upper bounds."""
    if result.plan.lab.chain_count == 1 or result.fixed_trial:
        return
    for trial, role in select_key_trials(result):
        offered, lost = collections.Counter[int](), collections.Counter[int]()
        for counts in count_by_chain(result.plan.traffic, trial):
            offered[counts.chain] += counts.offered_count
            lost[counts.chain] += counts.lost_count
        losses = (f"{chain} lost {format_count(lost[chain])} of {format_count(offered[chain])}" for chain in offered)
        yield f"Trial #{trial.index}, {role}, by chain: {', '.join(losses)}."


def _select_trials(result: RunResult) -> list[tuple[TrialResult, str]]:
    """Return key trials and the trials behind lower bounds, in which the chains forward as they should."""
    trials = list(select_key_trials(result))
    if not result.fixed_trial:
        for goal_result in result.goals:
            lower = goal_result.lower
            if lower and lower.trial_index not in {trial.index for trial, _ in trials}:
                trials.append((result.trials[lower.trial_index], f"the lower bound of {goal_result.goal.label}"))
    return trials


def _build_row(counts: ChainCounts) -> tuple[Cell, ...]:
    latency = counts.latency
    return (
        cells.make_number_cell(counts.chain),
        cells.make_text_cell(f"{counts.tx_port} → {counts.rx_port}"),
        cells.count_cell(counts.offered_count),
        cells.count_cell(counts.received_count),
        cells.make_loss_cell(counts.lost_count),
        cells.make_loss_ratio_cell(counts.lost_count / counts.offered_count if counts.offered_count else None),
        cells.make_latency_cell(latency.min_ns if latency else None),
        cells.make_latency_cell(latency.mean_ns if latency else None),
        cells.make_latency_cell(latency.percentiles_ns.get(99.0) if latency else None),
        cells.make_latency_cell(latency.max_ns if latency else None),
    )
