"""Where frames were lost: in a line, and hop by hop."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.model.ledger import Hop, LossLedger
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.units import format_count, format_pps, format_seconds

TOLD_MAX = 3
"""Places that are named in a line; the table has all."""
UNATTRIBUTED = "no counter says why"


def bound_lines(result: RunResult) -> Iterator[str]:
    """Where the frames went that decided each upper bound, once for goals that share the trial."""
    labels: dict[int, list[str]] = {}
    for found in result.goals:
        if found.upper:
            labels.setdefault(found.upper.trial_index, []).append(found.goal.label)
    for index, concerned in sorted(labels.items()):
        if line := loss_line(result.trials[index]):
            yield f"{' and '.join(concerned)} upper bound, trial #{index}: {line}"


def loss_line(trial: TrialResult) -> str:
    """`lost 1,204 of 500,000: 1,204 at the VNF's receive ring of sut0 (the ring was full)`; empty without loss."""
    ledger = trial.ledger
    if ledger is None or not ledger.lost_count:
        return ""
    losses = sorted(_losses(ledger), key=lambda loss: -loss.lost_count)
    told = [f"{format_count(loss.lost_count)} at {_joined(loss.places)} ({loss.text})" for loss in losses[:TOLD_MAX]]
    elsewhere_count = sum(loss.lost_count for loss in losses[TOLD_MAX:])
    told += [f"{format_count(elsewhere_count)} elsewhere"] if elsewhere_count else []
    asked_count = trial.offered_count + trial.unsent_count
    return f"lost {format_count(ledger.lost_count)} of {format_count(asked_count)}: {', '.join(told)}"


def ledger_table(trial: TrialResult) -> RenderableType:
    """The whole ledger of a trial, every way hop by hop."""
    asked = trial.trial
    headline = f"Trial #{trial.index}: {format_pps(asked.intended_load_pps)} for {format_seconds(trial.duration_s)}"
    ledger = trial.ledger
    if ledger is None:
        return Text(f"{headline}\nno host's counters were read in this trial")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("way", no_wrap=True)
    table.add_column("hop")
    for count in ("came", "passed", "lost"):
        table.add_column(count, justify="right", no_wrap=True)
    table.add_column("why")
    for way in ledger.ways:
        for hop in way.hops:
            table.add_row(f"{way.tx_port}→{way.rx_port}", *_cells(hop))
    remarks = [f"- {remark}" for remark in ledger.remarks]
    reading = f"counters read in {ledger.reading_s * 1e3:.1f} ms, before and after the trial"
    return Group(Text(f"{headline}: {loss_line(trial) or 'nothing lost'}"), "", table, *remarks, Text(reading, "dim"))


class _Loss(NamedTuple):
    """What was lost for one reason at the same hop of every way."""

    text: str
    places: tuple[str, ...]
    lost_count: int


def _losses(ledger: LossLedger) -> Iterator[_Loss]:
    found: dict[tuple[int, str], dict[str, int]] = {}
    for position, hop in ((position, hop) for way in ledger.ways for position, hop in enumerate(way.hops)):
        for text, count in _reasons(hop):
            found.setdefault((position, text), {})[hop.place] = count
    for (_, text), counts in found.items():
        yield _Loss(text, tuple(counts), sum(counts.values()))


def _reasons(hop: Hop) -> Iterator[tuple[str, int]]:
    """Frames lost at a hop by cause, the unknown one last."""
    yield from ((cause.text, cause.count) for cause in hop.causes)
    if hop.unattributed_count:
        yield UNATTRIBUTED, hop.unattributed_count


def _joined(places: Sequence[str]) -> str:
    """`the tester's sender on tester0 and tester1`: what places begin with is said once."""
    heads = {place.rpartition(" ")[0] for place in places}
    if len(heads) > 1:
        return " and ".join(places)
    return f"{heads.pop()} {' and '.join(place.rpartition(' ')[2] for place in places)}"


def _cells(hop: Hop) -> tuple[str | Text, ...]:
    why = "\n".join(f"{format_count(count)} {text}" for text, count in _reasons(hop))
    lost = Text(format_count(hop.lost_count), style="yellow" if hop.lost_count else "dim")
    return hop.place, format_count(hop.in_count), format_count(hop.out_count), lost, why
