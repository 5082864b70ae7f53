"""`scripts/bench trend`: how often `nodrop trend` sees a change where there is none, and how soon it sees one that is.

Series are made up with noise of many kinds. Beside nodrop stands what jumpavg, with which FD.io CSIT finds its changes,
makes of the same series.
"""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import exp, floor
from random import Random
from typing import NamedTuple

import jumpavg
from benchmarks.verdict.noise import NOISES, Noise
from benchmarks.verdict.tally import exact
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.analysis import ComparisonOutcome
from nodrop.analysis.trend import TrendPoint, TrendSeries, analyze_trend

PAGE_WIDTH = 150
"""Where there is no terminal to fit."""
STEADY_COUNT = 100
"""Runs in a series without a change."""
STEPS = (0.02, 0.05)
BEFORE_COUNTS = (12, 50)
AFTER_MAX = 40
"""Runs after a step within which it has to be found."""
LEVEL_PPS = 1e6
NOMINAL = 0.05
SOON_STEP, SOON = 0.05, 2
"""A step, and within how many runs it is to be found in 95 % of the series, after a dozen runs with 0.5 % noise."""
WANDERING = ("drift", "wander")
BY_NAME = {noise.name: noise for noise in NOISES if noise.demanded}
GAUSSIAN = NOISES[0].name


class Alarm(NamedTuple):
    """What a series without a change was said to have."""

    ours: bool
    """A change for better or worse."""
    theirs: bool
    """A change, by jumpavg."""


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    began_s = time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.series)
    cases = list(itertools.product(STEPS, BEFORE_COUNTS))
    with ProcessPoolExecutor(options.processes) as pool:
        alarms = {name: list(pool.map(partial(steady, name), seeds, chunksize=10)) for name in BY_NAME}
        _print_alarms(console, alarms)
        delays = {case: list(pool.map(partial(stepped, *case), seeds, chunksize=10)) for case in cases}
        _print_delays(console, delays)
    lines = list(demands(alarms, delays))
    for line in lines:
        console.print(line)
    console.print(f"{len(seeds)} series each, seeds from {seeds.start}; took {time.monotonic() - began_s:.0f} s")
    return int(any(line.startswith("NOT MET") for line in lines))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench trend", description=__doc__)
    parser.add_argument("--series", type=int, default=1000, help="series of each kind (default: 1000)")
    parser.add_argument("--first-seed", type=int, default=0, help="seeds count up from here (default: 0)")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="at a time (default: CPUs)")
    return parser.parse_args()


def steady(name: str, seed: int) -> Alarm:
    """A series without a change."""
    values = _values(BY_NAME[name], Random(f"{name} {seed}"), STEADY_COUNT)
    return Alarm(bool(analyze_trend(_series(values)).changes), len(jumpavg.classify(values)) > 1)


def stepped(step: float, before_count: int, seed: int) -> tuple[int, int]:
    """How many runs after a step down it is found, by `nodrop trend` and by jumpavg."""
    values = _values(BY_NAME[GAUSSIAN], Random(f"{step} {before_count} {seed}"), before_count + AFTER_MAX)
    values = [value * (1 - step) if at >= before_count else value for at, value in enumerate(values)]
    counts = range(before_count + 1, len(values) + 1)
    ours = next((count for count in counts if _is_worse(values[:count])), len(values) + 1)
    theirs = next((count for count in counts if len(jumpavg.classify(values[:count])) > 1), len(values) + 1)
    return ours - before_count, theirs - before_count


def _is_worse(values: Sequence[float]) -> bool:
    return analyze_trend(_series(values)).verdict is ComparisonOutcome.WORSE


def _values(noise: Noise, rng: Random, count: int) -> list[float]:
    """Rates that searches find, on their grid where they have one."""
    level = rng.uniform(0.0, 0.1)  # so that it is anywhere between the loads of a grid
    places = [level + off for off in noise.draw(rng, count)]
    return [LEVEL_PPS * exp(floor(at / noise.grid) * noise.grid if noise.grid else at) for at in places]


def _series(values: Sequence[float]) -> TrendSeries:
    points = (
        TrendPoint(run_id=str(number), started_at=f"{number:09}", moment=str(number), value=value)
        for number, value in enumerate(values)
    )
    return TrendSeries(key="ndr", text="NDR", unit="pps", better="higher", points=tuple(points))


def _print_alarms(console: Console, alarms: dict[str, list[Alarm]]) -> None:
    title = f"False changes: % of steady series of {STEADY_COUNT} runs (95 % interval)"
    table = Table(box=SIMPLE_HEAD, header_style="dim", title_justify="left", title=title)
    for heading, side in (("runs", "left"), ("", "left"), ("nodrop", "right"), ("jumpavg", "right")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    for name, found in alarms.items():
        counts = sum(alarm.ours for alarm in found), sum(alarm.theirs for alarm in found)
        wanders = name in WANDERING
        table.add_row(
            name + (" *" if wanders else ""), BY_NAME[name].text, *(_share_text(count, len(found)) for count in counts)
        )
    console.print(table)
    console.print("* these do change from run to run: what is seen there is true\n")


def _share_text(count: int, of: int) -> str:
    low, high = exact(count, of)
    return f"{count / of * 100:.1f} ({low * 100:.1f}-{high * 100:.1f})"


def _print_delays(console: Console, delays: dict[tuple[float, int], list[tuple[int, int]]]) -> None:
    title = "Runs after a step until it is found, 0.5 % noise"
    table = Table(box=SIMPLE_HEAD, header_style="dim", title_justify="left", title=title)
    for heading in ("step", "runs before", "median", "in 95 % by", "jumpavg: median", "in 95 % by"):
        table.add_column(heading, justify="right")
    for (step, before_count), found in delays.items():
        ours, theirs = zip(*found, strict=True)
        shown = (_share(ours, 0.5), _share(ours, 0.95), _share(theirs, 0.5), _share(theirs, 0.95))
        table.add_row(f"-{step * 100:g} %", str(before_count), *map(_count_text, shown))
    console.print(table)


def _share(counts: Sequence[int], share: float) -> int:
    """As many runs as that share of the series needed at most."""
    return sorted(counts)[max(0, -int(-share * len(counts) // 1) - 1)]


def _count_text(count: int) -> str:
    return str(count) if count <= AFTER_MAX else f"> {AFTER_MAX}"


def demands(alarms: dict[str, list[Alarm]], delays: dict[tuple[float, int], list[tuple[int, int]]]) -> Iterator[str]:
    """A line for each demand: met or not, with the figure found."""
    share = sum(alarm.ours for alarm in alarms[GAUSSIAN]) / len(alarms[GAUSSIAN])
    yield _line(
        share <= NOMINAL, f"gaussian noise, false changes in at most 5 % of series of {STEADY_COUNT} runs: {share:.1%}"
    )
    needed = _share([ours for ours, _ in delays[SOON_STEP, BEFORE_COUNTS[0]]], 0.95)
    text = f"{SOON_STEP:.0%} lower after {BEFORE_COUNTS[0]} runs found within {SOON} in 95 %: {_count_text(needed)}"
    yield _line(needed <= SOON, text)


def _line(met: bool, text: str) -> str:
    return f"{'met' if met else 'NOT MET'}: {text}"


if __name__ == "__main__":
    sys.exit(main())
