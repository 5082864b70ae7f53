"""`scripts/bench coverage`: how often bounds are on the wrong side, beside the chance that nodrop's own search states.

A lower bound is wrong when most trials of the goal's duration at its load would lose too much, an upper bound when most
would not: when the truth of the simulated SUT is on the other side of it, by however little.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean

from benchmarks.search.goals import GOAL_SETS, GoalSet
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.model.base import Value
from nodrop.search.base import Interval
from nodrop.simulation import Sut
from nodrop.simulation.benchmark import true_pps
from nodrop.simulation.registry import KINDS, create, default_parameters
from nodrop.simulation.search_run import simulate_search

SUTS = tuple(name for name in KINDS if name != "drift")
"""The truth of a SUT that drifts moves while it is looked for."""
EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Of the bins of the chance stated."""
ROUNDING = 1e-7
"""Share of a load by which whole frames may move a threshold."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
LONG_RUN_COUNT = 60
"""Trials that tell the long-run loss ratio at a load."""
LONG_RUN_SEED = 1_000_000
OFFENDERS = 8


class Stated(Value):
    """What a search says of one bound, and what is true."""

    goals: str
    sut: str
    seed: int
    label: str
    side: str
    error_probability: float | None
    is_wrong: bool
    is_off: bool
    """Wrong, and further from the truth than the goal's width."""
    loss_ratio_limit: float | None = None
    """Of a lower bound."""
    loss_ratio: float | None = None
    """The true one there, in the long run; None if not requested."""


class Row(Value):
    """Bounds taken together."""

    name: str
    count: int
    stated_ratio: float
    wrong_ratio: float
    off_ratio: float

    @property
    def excess(self) -> float:
        """Wrong ones beyond those stated, in standard deviations of counting."""
        expected = self.stated_ratio * (1.0 - self.stated_ratio)
        return (self.wrong_ratio - self.stated_ratio) * math.sqrt(self.count / max(expected, 1e-3))


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    began_s = time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    bounds = [each for sut in options.sut or SUTS for each in measure(sut, seeds, long_run=True)]
    _print(console, "Bounds by the chance of being wrong that is stated", by_probability(bounds))
    offenders = sorted(by_kind(bounds), key=lambda row: -row.excess)
    _print(console, "Wrong more often than stated, the worst first", offenders[:OFFENDERS])
    _print(console, "Wrong less often than stated", offenders[: -OFFENDERS - 1 : -1])
    for line in limit_lines(bounds):
        console.print(line)
    console.print(f"{options.seeds} seeds each; took {(time.monotonic() - began_s) / 60:.1f} min")
    if options.json:
        options.json.write_text(json.dumps([each.model_dump() for each in bounds]) + "\n", encoding="utf-8")
    return 0


def measure(kind: str, seeds: Iterable[int], long_run: bool = False) -> Iterator[Stated]:
    """Every bound of nodrop's own search on a kind of SUT, for all goals; `long_run` adds the true loss ratios."""
    for goal_set in GOAL_SETS.values():
        for seed in seeds:
            yield from _search(kind, goal_set, seed, long_run)


def by_probability(bounds: Sequence[Stated]) -> list[Row]:
    """A row for each bin of the chance stated, and one for bounds without."""
    known = [each for each in bounds if each.error_probability is not None]
    rows = []
    for low, high in pairwise(EDGES):
        inside = [each for each in known if low <= (each.error_probability or 0.0) < high]
        if inside:
            rows.append(_row(f"{low:.0%} to {high:.0%}", inside))
    without = [each for each in bounds if each.error_probability is None]
    return [*rows, _row("none stated", without)] if without else rows


def by_kind(bounds: Sequence[Stated]) -> list[Row]:
    """A row for each kind of SUT, goal and side; bounds without a chance left out."""

    def key(each: Stated) -> tuple[str, str, str, str]:
        return each.sut, each.goals, each.label, each.side

    known = sorted((each for each in bounds if each.error_probability is not None), key=key)
    return [_row(", ".join(name), list(group)) for name, group in groupby(known, key=key)]


def limit_lines(bounds: Sequence[Stated]) -> Iterator[str]:
    """How often the true loss ratio is within the limit stated, and the kinds where it is not."""
    reported = [each for each in bounds if each.loss_ratio is not None and each.loss_ratio_limit is not None]
    if reported:
        yield f"loss ratio within its limit: {fmean(map(_is_within, reported)):.1%} of {len(reported)}, 95 % stated"
    for kind, group in groupby(reported, key=lambda each: each.sut):
        mine = list(group)
        share = fmean(map(_is_within, mine))
        if share < 0.95:
            yield f"  less on {kind}: {share:.0%} of {len(mine)}"


def _search(kind: str, goal_set: GoalSet, seed: int, long_run: bool) -> Iterator[Stated]:
    plan = goal_set.plan("nodrop", 2.0)
    sut = _sut(kind, seed)
    done = simulate_search(plan, sut)
    for interval in done.intervals:
        truth_pps = true_pps(plan, interval.goal, sut, done.wall_s)
        for bound in _bounds(interval, truth_pps):
            stated = Stated(goals=goal_set.name, sut=kind, seed=seed, **bound)
            if long_run and stated.side == "lower":
                load_pps = interval.lower_load_pps or 0.0
                ratio = _long_run_ratio(_sut(kind, seed, LONG_RUN_SEED), load_pps, goal_set.final_s, done.wall_s)
                stated = stated.model_copy(update={"loss_ratio": ratio})
            yield stated


def _sut(kind: str, seed: int, offset: int = 0) -> Sut:
    """Every seed has other rates too, or SUTs that do not vary would be the same again and again."""
    factor = 0.8 + 0.4 * (seed * GOLDEN % 1.0)
    rates = {name: value * factor for name, value in default_parameters(kind).items() if name.endswith("_pps")}
    return create(kind, seed + offset, rates)


def _bounds(interval: Interval, truth_pps: float) -> Iterator[dict[str, object]]:
    wide = interval.goal.width_ratio or 0.0
    lower_pps, upper_pps = interval.lower_load_pps, interval.upper_load_pps
    if interval.lower_valid and lower_pps is not None:
        yield {
            "label": interval.goal.label,
            "side": "lower",
            "error_probability": interval.lower_error_probability,
            "is_wrong": lower_pps > truth_pps * (1.0 + ROUNDING),
            "is_off": lower_pps * (1.0 - wide) > truth_pps,
            "loss_ratio_limit": interval.loss_ratio_limit,
        }
    if interval.upper_valid and upper_pps is not None:
        yield {
            "label": interval.goal.label,
            "side": "upper",
            "error_probability": interval.upper_error_probability,
            "is_wrong": upper_pps < truth_pps * (1.0 - ROUNDING),
            "is_off": upper_pps < truth_pps * (1.0 - wide),
        }


def _long_run_ratio(sut: Sut, load_pps: float, duration_s: float, start_s: float) -> float:
    """Lost and unsent share of the frames of many trials at a load, made from some time on."""
    lost_count = 0.0
    for trial in range(LONG_RUN_COUNT):
        course = sut.offer(load_pps, duration_s, start_s + trial * (duration_s + 1.0))
        lost_count += (load_pps - course.offered_pps) * duration_s + course.lost_count[-1]
    return lost_count / (load_pps * duration_s * LONG_RUN_COUNT)


def _is_within(each: Stated) -> bool:
    assert each.loss_ratio is not None and each.loss_ratio_limit is not None
    return each.loss_ratio <= each.loss_ratio_limit


def _row(name: str, bounds: Sequence[Stated]) -> Row:
    return Row(
        name=name,
        count=len(bounds),
        stated_ratio=fmean(each.error_probability or 0.0 for each in bounds),
        wrong_ratio=fmean(each.is_wrong for each in bounds),
        off_ratio=fmean(each.is_off for each in bounds),
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench coverage", description=__doc__)
    parser.add_argument("--seeds", type=int, default=60, help="searches on each kind of SUT (default: 60)")
    parser.add_argument("--first-seed", type=int, default=0, help="seeds count up from here (default: 0)")
    parser.add_argument("--sut", action="append", choices=SUTS, help="only this kind; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every bound there too")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("at least one seed is needed")
    return options


def _print(console: Console, title: str, rows: Sequence[Row]) -> None:
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="dim")
    table.add_column("bounds", no_wrap=True)
    for heading in ("count", "stated %", "wrong %", "by more than the width %"):
        table.add_column(heading, justify="right")
    for row in rows:
        shares = (row.stated_ratio, row.wrong_ratio, row.off_ratio)
        table.add_row(row.name, str(row.count), *(f"{share * 100:.1f}" for share in shares))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
