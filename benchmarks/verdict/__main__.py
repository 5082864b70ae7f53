"""`scripts/bench verdict`: how often `nodrop compare` is wrong where nothing differs, and how often it finds what does.

A/A: both sides are runs of one set-up, so anything called better or worse is a false alarm. Runs are made up with noise
of many kinds, and made by real searches against simulated SUTs.
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
from benchmarks.verdict.tally import Tally, tally
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.analysis import ComparisonOutcome, Margins
from nodrop.model.summary import Summary

PAGE_WIDTH = 150
"""Where there is no terminal to fit."""
REPEATS = (1, 2, 3, 5, 10)
DECISIVE = tuple(count for count in REPEATS if count > 2)
"""Fewer runs decide nothing, by rule."""
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.05)
SLOWER = 0.02
"""Of the capacity of simulated SUTs."""
MARGIN = Margins().pps
NOMINAL = 0.05
POWER = 0.95
BY_NAME = {noise.name: noise for noise in NOISES}
FOUND: dict[tuple[str, float], list[searches.Found]] = {}
"""What searches found, for the processes that compare."""


class Task(NamedTuple):
    """Comparisons of one kind."""

    kind: str
    """`noise` or `search`."""
    name: str
    repeats: int
    effect: float


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    began_s = time.monotonic()
    noises = [noise for noise in NOISES if not options.noise or noise.name in options.noise]
    with ProcessPoolExecutor(options.processes) as pool:
        _search(pool, options.searches)
    seeds = range(options.first_seed, options.first_seed + options.pairs)
    tasks = list(dict.fromkeys(_tasks(noises, options.searches > 0)))
    with ProcessPoolExecutor(options.processes) as pool:  # begins with what the searches found
        tallies = list(pool.map(partial(_tally, seeds), tasks))
    found = dict(zip(tasks, tallies, strict=True))
    _print(console, noises, found)
    lines = list(demands(found))
    for line in lines:
        console.print(line)
    console.print(f"{options.pairs} pairs each, seeds from {seeds.start}; took {time.monotonic() - began_s:.0f} s")
    if options.json:
        record = [{"kind": task.kind} | each.model_dump() for task, each in found.items()]
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(line.startswith("NOT MET") for line in lines))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench verdict", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000, help="comparisons in each cell (default: 1000)")
    parser.add_argument(
        "--searches", type=int, default=200, help="searches of each simulated SUT; 0: none (default: 200)"
    )
    parser.add_argument("--first-seed", type=int, default=0, help="seeds count up from here (default: 0)")
    parser.add_argument("--noise", action="append", choices=list(BY_NAME), help="only this kind; may be repeated")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="at a time (default: CPUs)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every count there too")
    options = parser.parse_args()
    if options.pairs < 1 or options.searches not in (0, *range(2 * max(REPEATS), 10**6)):
        parser.error(f"at least one pair, and no searches or at least {2 * max(REPEATS)}, are needed")
    return options


def _search(pool: ProcessPoolExecutor, count: int) -> None:
    for sut in searches.SUTS if count else ():
        for slower, first in ((0.0, 0), (SLOWER, count)):
            make = partial(_one_search, sut, slower)
            FOUND[sut, slower] = list(pool.map(make, range(first, first + count), chunksize=10))


def _one_search(sut: str, slower: float, seed: int) -> searches.Found:
    return searches.search(sut, seed, slower)


def _tasks(noises: Sequence[Noise], with_searches: bool) -> Iterator[Task]:
    for noise in noises:
        yield from (Task("noise", noise.name, repeats, 0.0) for repeats in REPEATS)
        yield from (Task("noise", noise.name, repeats, MARGIN) for repeats in DECISIVE)
    for effect in EFFECTS:
        yield from (Task("noise", noises[0].name, repeats, effect) for repeats in REPEATS)
    for sut in searches.SUTS if with_searches else ():
        yield from (Task("search", sut, repeats, effect) for effect in (0.0, SLOWER) for repeats in DECISIVE)


def _tally(seeds: range, task: Task) -> Tally:
    make = _of_noise if task.kind == "noise" else _of_searches
    return tally(partial(make, task), task.name, task.repeats, task.effect, seeds)


def _of_noise(task: Task, rng: Random) -> tuple[list[Summary], list[Summary]]:
    return runs.draw(BY_NAME[task.name], rng, task.repeats, task.effect)


def _of_searches(task: Task, rng: Random) -> tuple[list[Summary], list[Summary]]:
    return searches.dealt(FOUND[task.name, 0.0], FOUND[task.name, task.effect], rng, task.repeats)


def _print(console: Console, noises: Sequence[Noise], found: dict[Task, Tally]) -> None:
    """Every table."""
    suts = [sut for sut in searches.SUTS if Task("search", sut, 5, 0.0) in found]
    table = _table("False alarms: % of A/A comparisons that call anything better or worse (95 % interval)")
    for noise in noises:
        name = noise.name + ("" if noise.demanded else " *")
        _row(table, name, noise.text, (_called(found[Task("noise", noise.name, n, 0.0)]) for n in REPEATS))
    for sut in suts:
        _row(table, sut, "searches", (_called(found.get(Task("search", sut, n, 0.0))) for n in REPEATS))
    console.print(table)
    console.print("* cannot be distinguished from a difference by its figures; `nodrop compare` warns of the order\n")
    name = noises[0].name
    table = _table(
        f"Found: % of comparisons that call NDR worse; noise {name}, and SUTs of 2 % less capacity, searched"
    )
    for effect in EFFECTS:
        row = (_worse(found[Task("noise", name, n, effect)]) for n in REPEATS)
        _row(table, name, f"{effect * 100:g} % slower", row)
    for sut in suts:
        lower = 1 - searches.true_ndr_pps(sut, SLOWER) / searches.true_ndr_pps(sut, 0.0)
        _row(
            table,
            sut,
            f"true NDR {abs(lower):.1%} lower; searches".replace("%", " %"),
            (_worse(found.get(Task("search", sut, n, SLOWER))) for n in REPEATS),
        )
    console.print(table)
    table = _table(f"NDR called equivalent, %: where nothing differs / where B is slower by the margin, {MARGIN:.0%}")
    for noise in noises:
        pairs = [
            (found[Task("noise", noise.name, n, 0.0)], found.get(Task("noise", noise.name, n, MARGIN))) for n in REPEATS
        ]
        _row(table, noise.name, noise.text, (f"{_alike(same)} / {_alike(apart)}" for same, apart in pairs))
    console.print(table)


def _table(title: str) -> Table:
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="dim")
    for heading in ("runs", ""):
        table.add_column(heading)
    for repeats in REPEATS:
        table.add_column(f"{repeats} each", justify="right", no_wrap=True)
    return table


def _row(table: Table, name: str, text: str, cells: Iterator[str]) -> None:
    table.add_row(name, text, *cells)


def _called(found: Tally | None) -> str:
    if found is None:
        return ""
    low, high = found.interval()
    return f"{found.called_ratio * 100:.1f} ({low * 100:.1f}-{high * 100:.1f})"


def _worse(found: Tally | None) -> str:
    return "" if found is None else f"{found.ndr_ratio(ComparisonOutcome.WORSE) * 100:.1f}"


def _alike(found: Tally | None) -> str:
    return "-" if found is None else f"{found.ndr_ratio(ComparisonOutcome.EQUIVALENT) * 100:.1f}"


def demands(found: dict[Task, Tally]) -> Iterator[str]:
    """A line for each demand: met or not, with the figure found."""
    alarms = {task: each for task, each in found.items() if task.effect == 0.0 and _demanded(task)}
    worst = max(alarms, key=lambda task: alarms[task].called_ratio)
    low, high = alarms[worst].interval()
    where = f"{worst.name}, {worst.repeats} each"
    share = alarms[worst].called_ratio
    yield _line(share <= NOMINAL, f"false alarms at most 5 %: {share:.1%} ({low:.1%} to {high:.1%}) at worst, {where}")
    task = Task("noise", "gaussian", 5, 0.02)
    if task in found:
        power = found[task].ndr_ratio(ComparisonOutcome.WORSE)
        yield _line(power >= POWER, f"2 % slower, five repeats, 0.5 % noise found in at least 95 %: {power:.1%}")
    apart = {
        task: each for task, each in found.items() if task.effect == MARGIN and task.kind == "noise" and _demanded(task)
    }
    worst = max(apart, key=lambda task: apart[task].ndr_ratio(ComparisonOutcome.EQUIVALENT))
    share = apart[worst].ndr_ratio(ComparisonOutcome.EQUIVALENT)
    where = f"{worst.name}, {worst.repeats} each"
    yield _line(share <= NOMINAL, f"called equivalent at the margin in at most 5 %: {share:.1%} at worst, {where}")


def _demanded(task: Task) -> bool:
    return task.kind == "search" or BY_NAME[task.name].demanded


def _line(met: bool, text: str) -> str:
    return f"{'met' if met else 'NOT MET'}: {text}"


if __name__ == "__main__":
    sys.exit(main())
