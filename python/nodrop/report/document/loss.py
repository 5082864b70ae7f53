"""The time and place of frame loss in the trials that figures depend on."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.charts import loss
from nodrop.formatting import format_goal
from nodrop.model.ledger import Hop, LossLedger
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Fold, Paragraph, Table, build_figure
from nodrop.report.document.events import build_event_tables
from nodrop.units import format_count, format_pps, format_seconds

NOT_SENT = "not_sent"
"""Name of the cause of frames that were not sent in time."""
PLACES_MAX = 3
"""Places that a line names; the table has all."""
SHOWN_WAYS_MAX = 2
"""Directions up to which the hops of a trial with loss are not folded."""
UNATTRIBUTED = "unattributed"
HOPS = (
    cells.make_text_column("way"),
    cells.make_text_column("hop"),
    cells.make_number_column("in", "frames"),
    cells.make_number_column("out", "frames"),
    cells.make_number_column("lost", "frames"),
    cells.make_text_column("share of the lost"),
    cells.make_number_column("not sent", "frames"),
    cells.make_prose_column("cause"),
)


def select_key_trials(result: RunResult) -> tuple[tuple[TrialResult, str], ...]:
    """Return the trials behind the upper bounds, or the only trial, each with its role."""
    if trial := result.fixed_trial:
        return ((trial, "the trial"),)
    labels: dict[int, list[str]] = {}
    for goal_result in result.goals:
        if goal_result.upper:
            labels.setdefault(goal_result.upper.trial_index, []).append(format_goal(goal_result.goal))
    return tuple(
        (result.trials[index], f"the upper bound of {' and '.join(labels[index])}") for index in sorted(labels)
    )


def build_loss_blocks(result: RunResult) -> tuple[Block, ...]:
    """Return loss over time, the events of a trial at a fixed rate, then loss by hop for each key trial."""
    events = build_event_tables(result.fixed_trial) if result.fixed_trial else ()
    by_hop = (block for trial, role in select_key_trials(result) for block in _build_trial_blocks(trial, role))
    return (*build_figure(lambda: loss.build_chart(result)), *events, *by_hop)


def build_ledger_blocks(trial: TrialResult) -> tuple[Block, ...]:
    """Return the entire ledger of a trial."""
    load = format_pps(trial.trial.intended_load_pps)
    headline = f"Trial #{trial.index}: {load} for {format_seconds(trial.duration_s)}"
    ledger = trial.ledger
    if ledger is None:
        return (Paragraph(text=headline), Paragraph(text="no host's counters were read in this trial"))
    remarks = (Bullets(items=ledger.remarks),) if ledger.remarks else ()
    duration = f"counters read in {ledger.reading_s * 1e3:.1f} ms, before and after the trial"
    return (
        Paragraph(text=f"{headline}: {describe_loss(trial) or 'nothing lost'}"),
        Table(caption="", columns=HOPS, rows=_build_rows(ledger)),
        *remarks,
        Paragraph(text=duration, tone="quiet"),
    )


def describe_key_losses(result: RunResult) -> Iterator[str]:
    """Yield where the frames of each key trial were lost."""
    for trial, role in select_key_trials(result):
        if line := describe_loss(trial):
            yield f"Trial #{trial.index}, {role}: {line}."


def describe_loss(trial: TrialResult) -> str:
    """Return `lost 1,204 of 500,000: 1,204 at the VNF's receive ring of sut0 (ring full)`; empty without loss.

    Frames that the tester did not send in time are not lost, and named apart.
    """
    ledger = trial.ledger
    if ledger is None or not ledger.lost_count:
        return ""
    every = sorted(_list_losses(ledger), key=lambda each: -each.lost_count)
    losses = [each for each in every if not each.is_unsent]
    unsent = [
        f"{format_count(each.lost_count)} {each.text} by {_join_places(each.places)}"
        for each in every
        if each.is_unsent
    ]
    lost_count = ledger.lost_count - sum(each.lost_count for each in every if each.is_unsent)
    places = [f"{format_count(each.lost_count)} at {_join_places(each.places)} ({each.text})" for each in losses]
    elsewhere_count = sum(each.lost_count for each in losses[PLACES_MAX:])
    parts = places[:PLACES_MAX] + ([f"{format_count(elsewhere_count)} elsewhere"] if elsewhere_count else [])
    lost = f"lost {format_count(lost_count)} of {format_count(trial.offered_count)}{_format_left_out(trial)}"
    lost = f"{lost}: {', '.join(parts)}"
    return "; ".join([*([lost] if losses else []), *unsent])


def _format_left_out(trial: TrialResult) -> str:
    """Return the losses of disturbed time, which do not count in the search; empty without any."""
    left_out_count = trial.lost_count - trial.judged_counts.lost_count
    return f" ({format_count(left_out_count)} in disturbed time)" if left_out_count > 0 else ""


def find_loss_place(trial: TrialResult) -> str:
    """Return where most frames of a trial were lost: `the VNF's receive ring of sut0, the ring was full`."""
    losses = list(_list_losses(trial.ledger)) if trial.ledger and trial.ledger.lost_count else []
    if not losses:
        return ""
    most = max(losses, key=lambda each: (not each.is_unsent, each.lost_count))
    return f"{_join_places(most.places)}, {most.text}"


def _build_trial_blocks(trial: TrialResult, role: str) -> Iterator[Block]:
    ledger = trial.ledger
    if ledger is None or not ledger.ways:
        return
    name = f"Trial #{trial.index}, {role}"
    table = Table(
        caption=f"{name}, hop by hop: {_format_load(trial)} for {format_seconds(trial.duration_s)}",
        columns=HOPS,
        rows=_build_rows(ledger),
        note=" ".join(f"{remark.rstrip('.')}." for remark in ledger.remarks),
    )
    is_shown = ledger.lost_count and len(ledger.ways) <= SHOWN_WAYS_MAX
    if is_shown:
        yield table
        return
    yield Paragraph(text=f"{name}: {describe_loss(trial) or 'nothing was lost'}.")
    yield Fold(title=f"{name}, hop by hop", blocks=(table,))


def _format_load(trial: TrialResult) -> str:
    """Return the load of a trial: the one it tested, or at a fixed rate the one that was sent."""
    return format_pps(trial.offered_load_pps if trial.phase == FIXED else trial.trial.intended_load_pps)


class _Loss(NamedTuple):
    """Frames lost for one reason at the same hop of every direction."""

    text: str
    places: tuple[str, ...]
    lost_count: int
    is_unsent: bool


def _list_losses(ledger: LossLedger) -> Iterator[_Loss]:
    places: dict[tuple[int, str], dict[str, int]] = {}
    unsent = {cause.text for way in ledger.ways for hop in way.hops for cause in hop.causes if cause.name == NOT_SENT}
    for position, hop in ((position, hop) for way in ledger.ways for position, hop in enumerate(way.hops)):
        for text, count in _list_reasons(hop):
            places.setdefault((position, text), {})[hop.place] = count
    for (_, text), counts in places.items():
        yield _Loss(text, tuple(counts), sum(counts.values()), text in unsent)


def _list_reasons(hop: Hop) -> Iterator[tuple[str, int]]:
    """Yield the frames lost at a hop by cause, the unattributed ones last."""
    yield from ((cause.text, cause.count) for cause in hop.causes)
    if hop.unattributed_count:
        yield UNATTRIBUTED, hop.unattributed_count


def _count_unsent(hop: Hop) -> int:
    """Return the frames that the tester did not send in time."""
    return sum(cause.count for cause in hop.causes if cause.name == NOT_SENT)


def _count_lost(hop: Hop) -> int:
    """Return the frames that were sent and did not leave the hop."""
    return hop.lost_count - _count_unsent(hop)


def _join_places(places: Sequence[str]) -> str:
    """Return `the tester's sender on tester0 and tester1`: a common prefix occurs once."""
    heads = {place.rpartition(" ")[0] for place in places}
    if len(heads) > 1:
        return " and ".join(places)
    return f"{heads.pop()} {' and '.join(place.rpartition(' ')[2] for place in places)}"


def _build_rows(ledger: LossLedger) -> tuple[tuple[Cell, ...], ...]:
    lost_count = sum(_count_lost(hop) for way in ledger.ways for hop in way.hops)
    return tuple(_build_row(f"{way.tx_port}→{way.rx_port}", hop, lost_count) for way in ledger.ways for hop in way.hops)


def _build_row(way: str, hop: Hop, lost_count: int) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(way),
        cells.make_text_cell(hop.place),
        cells.count_cell(hop.in_count),
        cells.count_cell(hop.out_count),
        cells.make_loss_cell(_count_lost(hop)),
        cells.make_share_cell(_count_lost(hop), lost_count),
        cells.make_loss_cell(_count_unsent(hop)),
        cells.make_text_cell("; ".join(f"{format_count(count)} {text}" for text, count in _list_reasons(hop))),
    )
