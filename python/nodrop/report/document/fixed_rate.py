"""The trial of a run at a fixed rate: by direction, in a sentence, and what the tester could not send."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.expectations import FIXED_RATE_MIN
from nodrop.formatting import format_small_ratio, format_wire_rate
from nodrop.model.chain_counts import ChainCounts, count_by_chain
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Cell, Table
from nodrop.units import format_count, format_pps, format_ratio, format_seconds

COLUMNS = (
    cells.make_text_column("way"),
    cells.make_number_column("intended", "pps"),
    cells.make_number_column("sent", "pps"),
    cells.make_number_column("on the wire", "bps"),
    cells.make_number_column("received", "pps"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("loss", "ratio"),
)


def build_direction_table(result: RunResult, trial: TrialResult) -> Table:
    """Return intended, sent and received rates by direction, with a total if there are several."""
    counts = count_by_chain(result.plan.traffic, trial)
    ways = sorted({(each.tx_port, each.rx_port) for each in counts}, key=lambda way: (min(way), way))
    rows = [
        _build_row(
            f"{way[0]}→{way[1]}", [each for each in counts if (each.tx_port, each.rx_port) == way], result, trial
        )
        for way in ways
    ]
    if len(ways) > 1:
        rows.append(_build_row("all", counts, result, trial))
    return Table(caption="Rate by direction", columns=COLUMNS, rows=tuple(rows))


def _build_row(way: str, counts: Sequence[ChainCounts], result: RunResult, trial: TrialResult) -> tuple[Cell, ...]:
    intended = sum(each.intended_count for each in counts)
    offered = sum(each.offered_count for each in counts)
    received = sum(each.received_count for each in counts)
    duration_s = trial.duration_s or 1.0
    lost = offered - received
    return (
        cells.make_text_cell(way),
        cells.make_rate_cell(intended / duration_s),
        cells.make_rate_cell(offered / duration_s),
        cells.make_text_cell(
            format_wire_rate(offered / duration_s, result.plan.traffic, {each.tx_port for each in counts})
        ),
        cells.make_rate_cell(received / duration_s),
        cells.make_loss_cell(lost),
        cells.make_ratio_cell(lost / offered if offered else None, "caution" if lost else "good"),
    )


def describe_fixed_trial(trial: TrialResult) -> str:
    """Return sent and lost frames of the trial, at the rate the tester sent, in a sentence."""
    lost = trial.lost_count
    loss = "none was lost" if not lost else f"{format_count(lost, 'of them was', 'of them were')} lost"
    ratio = f" ({format_small_ratio(lost / trial.offered_count)})" if lost and trial.offered_count else ""
    sent = format_count(trial.offered_count, "frame was", "frames were")
    return f"{sent} sent in {format_seconds(trial.duration_s)}, {format_pps(trial.offered_load_pps)}; {loss}{ratio}."


def describe_short_offer(result: RunResult) -> str:
    """Return that the tester did not reach the fixed rate, for the headline; empty if it did."""
    trial = result.fixed_trial
    ratio = trial.offered_ratio if trial else 1.0
    return f"the tester sent only {format_ratio(ratio)} of the rate" if ratio < FIXED_RATE_MIN else ""


def list_shortfalls(result: RunResult) -> Iterator[str]:
    """Yield a warning if the tester sent less than the fixed rate."""
    trial = result.fixed_trial
    if trial is None or not trial.has_shortfall:
        return
    yield (
        f"the tester sent {format_ratio(trial.offered_ratio)} of the intended frames, "
        f"{format_pps(trial.offered_load_pps)} instead of {format_pps(trial.trial.intended_load_pps)}; "
        "loss and latency are those at the lower rate"
    )
