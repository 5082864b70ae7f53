"""`scripts/bench coverage`: how often bounds are wrong, compared with the probability that nodrop's own search states.

A lower bound is wrong if most trials of the goal's duration at its load would lose too much, an upper bound if most
would not, i.e. if the truth of the simulated SUT is on the other side of the bound, by however little.
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
from nodrop.simulation.benchmark import compute_true_pps
from nodrop.simulation.registry import KINDS, create, get_default_parameters
from nodrop.simulation.search_run import simulate_search
from nodrop.units import format_count

SUTS = tuple(name for name in KINDS if name != "drift")
"""Kinds without drift, which changes the truth during the search."""
BIN_EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Edges of the bins of the stated probability."""
ROUNDING_RATIO = 1e-7
"""Share of a load by which rounding to whole frames may move a threshold."""
GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
LONG_RUN_COUNT = 60
"""Number of trials from which the long-run loss ratio at a load is computed."""
LONG_RUN_SEED = 1_000_000
OUTLIER_COUNT = 8
"""Number of rows at either end of the list by deviation."""


class StatedBound(Value):
    """A bound with its stated probability of being wrong, and the truth."""

    goals: str
    sut: str
    seed: int
    label: str
    side: str
    error_probability: float | None
    is_wrong: bool
    is_off: bool
    """Whether the bound is wrong by more than the goal's width."""
    loss_ratio_limit: float | None = None
    """The stated limit of a lower bound."""
    loss_ratio: float | None = None
    """The true long-run loss ratio at the bound; None if not requested."""


class CalibrationRow(Value):
    """Stated and actual error rate of a group of bounds."""

    name: str
    count: int
    stated_ratio: float
    wrong_ratio: float
    off_ratio: float

    @property
    def excess(self) -> float:
        """Wrong bounds in excess of the stated probability, in standard deviations of their number."""
        expected = self.stated_ratio * (1.0 - self.stated_ratio)
        return (self.wrong_ratio - self.stated_ratio) * math.sqrt(self.count / max(expected, 1e-3))


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    start_s = time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    bounds = [each for sut in options.sut or SUTS for each in measure_bounds(sut, seeds, long_run=True)]
    _print_rows(console, "Bounds by stated probability of being wrong", group_by_probability(bounds))
    rows = sorted(group_by_kind(bounds), key=lambda row: -row.excess)
    _print_rows(console, "Wrong more often than stated, largest deviation first", rows[:OUTLIER_COUNT])
    _print_rows(console, "Wrong less often than stated, largest deviation first", rows[: -OUTLIER_COUNT - 1 : -1])
    for line in format_limit_coverage(bounds):
        console.print(line)
    console.print(f"{format_count(options.seeds, 'seed')} each; took {(time.monotonic() - start_s) / 60:.1f} min")
    if options.json:
        options.json.write_text(json.dumps([each.model_dump() for each in bounds]) + "\n", encoding="utf-8")
    return 0


def measure_bounds(kind: str, seeds: Iterable[int], long_run: bool = False) -> Iterator[StatedBound]:
    """Yield the bounds of nodrop's own search on a kind of SUT, for all goals; `long_run` adds true loss ratios."""
    for goal_set in GOAL_SETS.values():
        for seed in seeds:
            yield from _measure_search(kind, goal_set, seed, long_run)


def group_by_probability(bounds: Sequence[StatedBound]) -> list[CalibrationRow]:
    """Return a row for each bin of the stated probability, and one for bounds without a stated probability."""
    with_probability = [each for each in bounds if each.error_probability is not None]
    rows = []
    for low, high in pairwise(BIN_EDGES):
        inside = [each for each in with_probability if low <= (each.error_probability or 0.0) < high]
        if inside:
            rows.append(_create_row(f"{low:.0%} to {high:.0%}", inside))
    without = [each for each in bounds if each.error_probability is None]
    return [*rows, _create_row("none stated", without)] if without else rows


def group_by_kind(bounds: Sequence[StatedBound]) -> list[CalibrationRow]:
    """Return a row for each kind of SUT, goal and side, without bounds that have no stated probability."""

    def group_key(each: StatedBound) -> tuple[str, str, str, str]:
        return each.sut, each.goals, each.label, each.side

    with_probability = sorted((each for each in bounds if each.error_probability is not None), key=group_key)
    return [_create_row(", ".join(name), list(group)) for name, group in groupby(with_probability, key=group_key)]


def format_limit_coverage(bounds: Sequence[StatedBound]) -> Iterator[str]:
    """Yield lines: how often the true loss ratio is within its stated limit, and the kinds with less than 95 %."""
    limited = [each for each in bounds if each.loss_ratio is not None and each.loss_ratio_limit is not None]
    if limited:
        share = fmean(map(_is_within, limited))
        yield f"loss ratio within its limit: {share:.1%} of {format_count(len(limited), 'bound')}, stated: 95 %"
    for kind, group in groupby(limited, key=lambda each: each.sut):
        members = list(group)
        share = fmean(map(_is_within, members))
        if share < 0.95:
            yield f"  less on {kind}: {share:.0%} of {len(members)}"


def _measure_search(kind: str, goal_set: GoalSet, seed: int, long_run: bool) -> Iterator[StatedBound]:
    plan = goal_set.plan("nodrop", 2.0)
    sut = _create_sut(kind, seed)
    simulated = simulate_search(plan, sut)
    for interval in simulated.intervals:
        truth_pps = compute_true_pps(plan, interval.goal, sut, simulated.wall_s)
        for fields in _compare_bounds(interval, truth_pps):
            bound = StatedBound(goals=goal_set.name, sut=kind, seed=seed, **fields)
            if long_run and bound.side == "lower":
                load_pps = interval.lower_load_pps or 0.0
                long_run_sut = _create_sut(kind, seed, LONG_RUN_SEED)
                ratio = _measure_long_run_ratio(long_run_sut, load_pps, goal_set.final_s, simulated.wall_s)
                bound = bound.model_copy(update={"loss_ratio": ratio})
            yield bound


def _create_sut(kind: str, seed: int, offset: int = 0) -> Sut:
    """Return a SUT with rates that depend on the seed; otherwise SUTs without variation would be the same each time."""
    factor = 0.8 + 0.4 * (seed * GOLDEN_RATIO % 1.0)
    rates = {name: value * factor for name, value in get_default_parameters(kind).items() if name.endswith("_pps")}
    return create(kind, seed + offset, rates)


def _compare_bounds(interval: Interval, truth_pps: float) -> Iterator[dict[str, object]]:
    """Yield the fields of a StatedBound for each valid bound."""
    width_ratio = interval.goal.width_ratio or 0.0
    lower_pps, upper_pps = interval.lower_load_pps, interval.upper_load_pps
    if interval.lower_valid and lower_pps is not None:
        yield {
            "label": interval.goal.label,
            "side": "lower",
            "error_probability": interval.lower_error_probability,
            "is_wrong": lower_pps > truth_pps * (1.0 + ROUNDING_RATIO),
            "is_off": lower_pps * (1.0 - width_ratio) > truth_pps,
            "loss_ratio_limit": interval.loss_ratio_limit,
        }
    if interval.upper_valid and upper_pps is not None:
        yield {
            "label": interval.goal.label,
            "side": "upper",
            "error_probability": interval.upper_error_probability,
            "is_wrong": upper_pps < truth_pps * (1.0 - ROUNDING_RATIO),
            "is_off": upper_pps < truth_pps * (1.0 - width_ratio),
        }


def _measure_long_run_ratio(sut: Sut, load_pps: float, duration_s: float, start_s: float) -> float:
    """Return the lost and unsent share of the frames of many trials at a load, the first of which begins at a time."""
    lost_count = 0.0
    for trial in range(LONG_RUN_COUNT):
        losses = sut.offer(load_pps, duration_s, start_s + trial * (duration_s + 1.0))
        lost_count += (load_pps - losses.offered_pps) * duration_s + losses.lost_count[-1]
    return lost_count / (load_pps * duration_s * LONG_RUN_COUNT)


def _is_within(each: StatedBound) -> bool:
    assert each.loss_ratio is not None and each.loss_ratio_limit is not None
    return each.loss_ratio <= each.loss_ratio_limit


def _create_row(name: str, bounds: Sequence[StatedBound]) -> CalibrationRow:
    return CalibrationRow(
        name=name,
        count=len(bounds),
        stated_ratio=fmean(each.error_probability or 0.0 for each in bounds),
        wrong_ratio=fmean(each.is_wrong for each in bounds),
        off_ratio=fmean(each.is_off for each in bounds),
    )


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench coverage", description=__doc__)
    parser.add_argument("--seeds", metavar="N", type=int, default=60, help="searches on each kind of SUT (default: 60)")
    parser.add_argument(
        "--first-seed", metavar="N", type=int, default=0, help="first of consecutive seeds (default: 0)"
    )
    parser.add_argument("--sut", action="append", choices=SUTS, help="limit to this kind of SUT; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every bound to FILE")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    return options


def _print_rows(console: Console, title: str, rows: Sequence[CalibrationRow]) -> None:
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="dim")
    table.add_column("bounds", no_wrap=True)
    for heading in ("count", "stated %", "wrong %", "wrong by more than the width %"):
        table.add_column(heading, justify="right")
    for row in rows:
        shares = (row.stated_ratio, row.wrong_ratio, row.off_ratio)
        table.add_row(row.name, str(row.count), *(f"{share * 100:.1f}" for share in shares))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
