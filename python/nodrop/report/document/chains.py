"""What each service chain did, where there are several."""

from nodrop.charts import chains
from nodrop.model.chain_counts import ChainCounts, chain_counts
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Fold, Table
from nodrop.report.document.figures import figure
from nodrop.report.document.loss import telling_trials
from nodrop.report.fixed import fixed_trial

COLUMNS = (
    cells.number("chain"),
    cells.word("way"),
    cells.number("sent", "frames"),
    cells.number("received", "frames"),
    cells.number("lost", "frames"),
    cells.number("loss", "ratio"),
    cells.number("latency min", "ns"),
    cells.number("mean", "ns"),
    cells.number("p99", "ns"),
    cells.number("max", "ns"),
)
FEW = 8
"""Chains whose table needs no folding."""


def chain_blocks(result: RunResult) -> tuple[Block, ...]:
    """A table for every telling trial; nothing where there is one chain."""
    if result.plan.lab.chain_count == 1:
        return ()
    tables = [chains_table(result, trial, f"Chains in trial {trial.index}, {role}") for trial, role in _trials(result)]
    drawn = figure(lambda: chains.chart(result))
    if result.plan.lab.chain_count <= FEW:
        return (*drawn, *tables)
    return (*drawn, *(Fold(title=table.caption, blocks=(table,)) for table in tables))


def chains_table(result: RunResult, trial: TrialResult, caption: str) -> Table:
    """Every chain each way in a trial."""
    counts = chain_counts(result.plan.traffic, trial, (99.0,))
    return Table(caption=caption, columns=COLUMNS, rows=tuple(map(_row, counts)))


def _trials(result: RunResult) -> list[tuple[TrialResult, str]]:
    """Those at the lower bounds as well: there the chains forward as they should."""
    trials = list(telling_trials(result))
    if not fixed_trial(result):
        for found in result.goals:
            if found.lower and found.lower.trial_index not in {trial.index for trial, _ in trials}:
                trials.append((result.trials[found.lower.trial_index], f"the lower bound of {found.goal.label}"))
    return trials


def _row(counts: ChainCounts) -> tuple[Cell, ...]:
    latency = counts.latency
    share = counts.lost_count / counts.offered_count if counts.offered_count else None
    return (
        Cell(text=str(counts.chain), key=counts.chain),
        cells.text(f"{counts.tx_port} → {counts.rx_port}"),
        cells.count(counts.offered_count),
        cells.count(counts.received_count),
        cells.lost(counts.lost_count),
        cells.ratio(share, "caution" if share else "quiet"),
        cells.duration(latency.min_ns if latency else None),
        cells.duration(latency.mean_ns if latency else None),
        cells.duration(latency.percentiles_ns.get(99.0) if latency else None),
        cells.duration(latency.max_ns if latency else None),
    )
