"""What came of a trial at a fixed rate: in a table by direction, by chain, and what to say of it."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from nodrop.formatting import format_small_ratio, format_wire_rate
from nodrop.model.chain_counts import ChainCounts, chain_counts
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, TrialResult
from nodrop.report.tables import plain_table
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

FELL_SHORT = 0.9999
"""Below this share of what was asked the tester is said to have fallen short."""


def fixed_trial(result: RunResult) -> TrialResult | None:
    """The trial of a run at a fixed rate; None where there is none."""
    return next((trial for trial in result.trials if trial.phase == FIXED), None)


def fixed_table(result: RunResult, trial: TrialResult) -> Table:
    """Asked, sent and received by direction; and in all, where there are several."""
    table = plain_table("way", "asked", "sent", "on the wire", "received", "lost", "loss")
    counts = chain_counts(result.plan.traffic, trial)
    ways = sorted({(each.tx_port, each.rx_port) for each in counts}, key=lambda way: (min(way), way))
    for way in ways:
        of_way = [each for each in counts if (each.tx_port, each.rx_port) == way]
        table.add_row(*_row(f"{way[0]}→{way[1]}", of_way, result, trial))
    if len(ways) > 1:
        table.add_row(*_row("all", counts, result, trial), style="bold")
    return table


def _row(way: str, counts: Sequence[ChainCounts], result: RunResult, trial: TrialResult) -> tuple[str | Text, ...]:
    intended = sum(each.intended_count for each in counts)
    offered = sum(each.offered_count for each in counts)
    received = sum(each.received_count for each in counts)
    duration_s = trial.duration_s or 1.0
    lost = offered - received
    return (
        way,
        format_pps(intended / duration_s),
        format_pps(offered / duration_s),
        format_wire_rate(offered / duration_s, result.plan.traffic),
        format_pps(received / duration_s),
        Text(format_count(lost), style="yellow" if lost else ""),
        Text(format_small_ratio(lost / offered) if offered else "-", style="yellow" if lost else "green"),
    )


def fixed_line(trial: TrialResult) -> str:
    """The trial in a sentence, at the rate that was really sent."""
    lost = trial.lost_count
    fate = "none was lost" if not lost else f"{format_count(lost)} of them were lost"
    share = f" ({format_small_ratio(lost / trial.offered_count)})" if lost and trial.offered_count else ""
    return (
        f"{format_count(trial.offered_count)} frames were sent in {format_seconds(trial.duration_s)}, "
        f"{format_pps(trial.offered_load_pps)}; {fate}{share}."
    )


def shortfall_lines(result: RunResult) -> Iterator[str]:
    """That the tester sent less than was asked, where it did."""
    trial = fixed_trial(result)
    if trial is None or not trial.intended_count or trial.offered_count >= trial.intended_count * FELL_SHORT:
        return
    yield (
        f"the tester sent {format_ratio(trial.offered_count / trial.intended_count)} of what was asked, "
        f"{format_pps(trial.offered_load_pps)} instead of {format_pps(trial.trial.intended_load_pps)}; "
        "loss and latency are those at the lower rate"
    )


def chains_table(result: RunResult, trial: TrialResult) -> Table:
    """Every chain with what was sent, what was lost, and its latency, each way."""
    table = plain_table("chain", "way", "sent", "received", "lost", "loss", "min", "mean", "max")
    for counts in chain_counts(result.plan.traffic, trial):
        latency = counts.latency
        figures = (latency.min_ns, latency.mean_ns, latency.max_ns) if latency else ()
        table.add_row(
            str(counts.chain),
            f"{counts.tx_port}→{counts.rx_port}",
            format_count(counts.offered_count),
            format_count(counts.received_count),
            Text(format_count(counts.lost_count), style="yellow" if counts.lost_count else ""),
            format_small_ratio(counts.lost_count / counts.offered_count) if counts.offered_count else "-",
            *(map(format_ns, figures) if figures else ("-",) * 3),
        )
    return table
