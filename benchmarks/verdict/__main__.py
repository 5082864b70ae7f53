"""`scripts/bench verdict`: false alarms of `nodrop compare`, and how often it detects a difference.

In an A/A comparison both sides are runs of one setup, so that every better or worse is a false alarm. Runs are
generated with many kinds of noise, or drawn from searches on simulated SUTs.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.verdict import runs, searches
from benchmarks.verdict.noise import NOISES, Noise
from benchmarks.verdict.tally import Tally, tally_comparisons
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.analysis import ComparisonOutcome, Margins
from nodrop.model.summary import Summary
from nodrop.units import format_count

PAGE_WIDTH = 150
"""Width of the output if it is not a terminal."""
REPEATS = (1, 2, 3, 5, 10)
DECISIVE_REPEATS = tuple(count for count in REPEATS if count > 2)
"""With fewer runs, every comparison is undecided by rule."""
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.05)
SLOWDOWN = 0.02
"""Share by which the capacity of the slower simulated SUTs is reduced."""
MARGIN = Margins().pps
NOMINAL = 0.05
POWER = 0.95
BY_NAME = {noise.name: noise for noise in NOISES}
SEARCHED: dict[tuple[str, float], list[searches.RunMeasures]] = {}
"""Results of the searches by SUT and slowdown, inherited by the processes that compare."""


class Task(NamedTuple):
    """Comparisons of one kind."""

    kind: str
    """`noise` or `search`."""
    name: str
    repeats: int
    effect: float


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    start_s = time.monotonic()
    noises = [noise for noise in NOISES if not options.noise or noise.name in options.noise]
    with ProcessPoolExecutor(options.processes) as pool:
        _run_searches(pool, options.searches)
    seeds = range(options.first_seed, options.first_seed + options.pairs)
    tasks = list(dict.fromkeys(_create_tasks(noises, options.searches > 0)))
    with ProcessPoolExecutor(options.processes) as pool:  # forked with the results of the searches
        tallies = dict(zip(tasks, pool.map(partial(_tally, seeds), tasks), strict=True))
    _print_tables(console, noises, tallies)
    lines = list(format_requirements(tallies))
    for line in lines:
        console.print(line)
    console.print(
        f"{format_count(options.pairs, 'pair')} each, first seed {seeds.start}; took {time.monotonic() - start_s:.0f} s"
    )
    if options.json:
        record = [{"kind": task.kind} | each.model_dump() for task, each in tallies.items()]
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(line.startswith("NOT MET") for line in lines))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench verdict", description=__doc__)
    parser.add_argument("--pairs", metavar="N", type=int, default=1000, help="comparisons in each cell (default: 1000)")
    parser.add_argument(
        "--searches", metavar="N", type=int, default=200, help="searches of each simulated SUT; 0: none (default: 200)"
    )
    parser.add_argument(
        "--first-seed", metavar="N", type=int, default=0, help="first of consecutive seeds (default: 0)"
    )
    parser.add_argument(
        "--noise", action="append", choices=list(BY_NAME), help="limit to this kind of noise; may be repeated"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of processes (default: number of CPUs)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every count to FILE")
    options = parser.parse_args()
    if options.pairs < 1 or options.searches not in (0, *range(2 * max(REPEATS), 10**6)):
        parser.error(f"--pairs must be at least 1, and --searches 0 or at least {2 * max(REPEATS)}")
    return options


def _run_searches(pool: ProcessPoolExecutor, count: int) -> None:
    """Fill SEARCHED with this number of searches of each SUT."""
    for sut in searches.SUTS if count else ():
        for slowdown, first in ((0.0, 0), (SLOWDOWN, count)):
            run = partial(_run_search, sut, slowdown)
            SEARCHED[sut, slowdown] = list(pool.map(run, range(first, first + count), chunksize=10))


def _run_search(sut: str, slowdown: float, seed: int) -> searches.RunMeasures:
    return searches.run_search(sut, seed, slowdown)


def _create_tasks(noises: Sequence[Noise], with_searches: bool) -> Iterator[Task]:
    for noise in noises:
        yield from (Task("noise", noise.name, repeats, 0.0) for repeats in REPEATS)
        yield from (Task("noise", noise.name, repeats, MARGIN) for repeats in DECISIVE_REPEATS)
    for effect in EFFECTS:
        yield from (Task("noise", noises[0].name, repeats, effect) for repeats in REPEATS)
    for sut in searches.SUTS if with_searches else ():
        yield from (Task("search", sut, repeats, effect) for effect in (0.0, SLOWDOWN) for repeats in DECISIVE_REPEATS)


def _tally(seeds: range, task: Task) -> Tally:
    draw = _draw_noise_runs if task.kind == "noise" else _draw_searched_runs
    return tally_comparisons(partial(draw, task), task.name, task.repeats, task.effect, seeds)


def _draw_noise_runs(task: Task, rng: Random) -> tuple[list[Summary], list[Summary]]:
    return runs.draw_runs(BY_NAME[task.name], rng, task.repeats, task.effect)


def _draw_searched_runs(task: Task, rng: Random) -> tuple[list[Summary], list[Summary]]:
    return searches.draw_searched_runs(SEARCHED[task.name, 0.0], SEARCHED[task.name, task.effect], rng, task.repeats)


def _print_tables(console: Console, noises: Sequence[Noise], tallies: dict[Task, Tally]) -> None:
    suts = [sut for sut in searches.SUTS if Task("search", sut, 5, 0.0) in tallies]
    table = _create_table("False alarms: % of A/A comparisons with a better or worse measure (95 % interval)")
    for noise in noises:
        name = noise.name + ("" if noise.has_requirement else " *")
        _add_row(
            table,
            name,
            noise.description,
            (_format_called(tallies[Task("noise", noise.name, n, 0.0)]) for n in REPEATS),
        )
    for sut in suts:
        _add_row(table, sut, "searches", (_format_called(tallies.get(Task("search", sut, n, 0.0))) for n in REPEATS))
    console.print(table)
    console.print("* the values cannot distinguish this noise from a difference; `nodrop compare` warns of the order\n")
    name = noises[0].name
    table = _create_table(
        f"Detected: % of comparisons with a worse NDR; noise {name}, and searches on SUTs with 2 % less capacity"
    )
    for effect in EFFECTS:
        cells = (_format_worse(tallies[Task("noise", name, n, effect)]) for n in REPEATS)
        _add_row(table, name, f"{effect * 100:g} % slower", cells)
    for sut in suts:
        decrease = 1 - searches.compute_true_ndr_pps(sut, SLOWDOWN) / searches.compute_true_ndr_pps(sut, 0.0)
        _add_row(
            table,
            sut,
            f"true NDR {abs(decrease):.1%} lower; searches".replace("%", " %"),
            (_format_worse(tallies.get(Task("search", sut, n, SLOWDOWN))) for n in REPEATS),
        )
    console.print(table)
    table = _create_table(f"NDR equivalent, % of comparisons: A/A / B slower by the margin of {MARGIN:.0%}")
    for noise in noises:
        pairs = [
            (tallies[Task("noise", noise.name, n, 0.0)], tallies.get(Task("noise", noise.name, n, MARGIN)))
            for n in REPEATS
        ]
        _add_row(
            table,
            noise.name,
            noise.description,
            (f"{_format_equivalent(same)} / {_format_equivalent(different)}" for same, different in pairs),
        )
    console.print(table)


def _create_table(title: str) -> Table:
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="dim")
    for heading in ("runs", ""):
        table.add_column(heading)
    for repeats in REPEATS:
        table.add_column(f"{repeats} each", justify="right", no_wrap=True)
    return table


def _add_row(table: Table, name: str, text: str, cells: Iterator[str]) -> None:
    table.add_row(name, text, *cells)


def _format_called(tally: Tally | None) -> str:
    if tally is None:
        return ""
    low, high = tally.compute_interval()
    return f"{tally.called_ratio * 100:.1f} ({low * 100:.1f}-{high * 100:.1f})"


def _format_worse(tally: Tally | None) -> str:
    return "" if tally is None else f"{tally.ndr_ratio(ComparisonOutcome.WORSE) * 100:.1f}"


def _format_equivalent(tally: Tally | None) -> str:
    return "-" if tally is None else f"{tally.ndr_ratio(ComparisonOutcome.EQUIVALENT) * 100:.1f}"


def format_requirements(tallies: dict[Task, Tally]) -> Iterator[str]:
    """Yield a line for each requirement: met or not, with the measured value."""
    alarms = {task: each for task, each in tallies.items() if task.effect == 0.0 and _has_requirement(task)}
    worst = max(alarms, key=lambda task: alarms[task].called_ratio)
    low, high = alarms[worst].compute_interval()
    place = f"{worst.name}, {worst.repeats} each"
    share = alarms[worst].called_ratio
    yield _format_line(
        share <= NOMINAL,
        f"highest share of false alarms: {share:.1%} ({low:.1%} to {high:.1%}) with {place}, required: at most 5 %",
    )
    task = Task("noise", "gaussian", 5, 0.02)
    if task in tallies:
        power = tallies[task].ndr_ratio(ComparisonOutcome.WORSE)
        yield _format_line(
            power >= POWER, f"2 % slower, five repeats, 0.5 % of noise: {power:.1%} detected, required: at least 95 %"
        )
    different = {
        task: each
        for task, each in tallies.items()
        if task.effect == MARGIN and task.kind == "noise" and _has_requirement(task)
    }
    worst = max(different, key=lambda task: different[task].ndr_ratio(ComparisonOutcome.EQUIVALENT))
    share = different[worst].ndr_ratio(ComparisonOutcome.EQUIVALENT)
    place = f"{worst.name}, {worst.repeats} each"
    yield _format_line(
        share <= NOMINAL,
        f"highest share of equivalent at the margin: {share:.1%} with {place}, required: at most 5 %",
    )


def _has_requirement(task: Task) -> bool:
    return task.kind == "search" or BY_NAME[task.name].has_requirement


def _format_line(met: bool, text: str) -> str:
    return f"{'met' if met else 'NOT MET'}: {text}"


if __name__ == "__main__":
    sys.exit(main())
