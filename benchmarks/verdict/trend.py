"""`scripts/bench trend`: false changes reported by `nodrop trend`, and the delay until it detects a change.

Series are generated with many kinds of noise. jumpavg, used by FD.io CSIT, analyzes the same series for comparison.
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
from benchmarks.verdict.tally import compute_clopper_pearson
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.analysis import ComparisonOutcome
from nodrop.analysis.trend import TrendPoint, TrendSeries, analyze_trend

PAGE_WIDTH = 150
"""Width of the output if it is not a terminal."""
STEADY_COUNT = 100
"""Length of a series without a change."""
STEPS = (0.02, 0.05)
BEFORE_COUNTS = (12, 50)
AFTER_MAX = 40
"""Number of runs after a step, within which it must be detected."""
LEVEL_PPS = 1e6
NOMINAL = 0.05
REQUIRED_STEP, REQUIRED_DELAY = 0.05, 2
"""A step that must be detected within this number of runs in 95 % of the series, after 12 runs with 0.5 % of noise."""
WANDERING = ("drift", "wander")
BY_NAME = {noise.name: noise for noise in NOISES if noise.has_requirement}
GAUSSIAN = NOISES[0].name


class FalseChange(NamedTuple):
    """Whether a series without a change was reported as having one."""

    by_nodrop: bool
    by_jumpavg: bool


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    start_s = time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.series)
    cases = list(itertools.product(STEPS, BEFORE_COUNTS))
    with ProcessPoolExecutor(options.processes) as pool:
        false_changes = {
            name: list(pool.map(partial(detect_false_change, name), seeds, chunksize=10)) for name in BY_NAME
        }
        _print_false_changes(console, false_changes)
        delays = {case: list(pool.map(partial(measure_delay, *case), seeds, chunksize=10)) for case in cases}
        _print_delays(console, delays)
    lines = list(format_requirements(false_changes, delays))
    for line in lines:
        console.print(line)
    console.print(
        f"{len(seeds)} series of each kind, first seed {seeds.start}; took {time.monotonic() - start_s:.0f} s"
    )
    return int(any(line.startswith("NOT MET") for line in lines))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench trend", description=__doc__)
    parser.add_argument("--series", metavar="N", type=int, default=1000, help="series of each kind (default: 1000)")
    parser.add_argument(
        "--first-seed", metavar="N", type=int, default=0, help="first of consecutive seeds (default: 0)"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of processes (default: number of CPUs)",
    )
    return parser.parse_args()


def detect_false_change(name: str, seed: int) -> FalseChange:
    """Analyze a series without a change."""
    values = _draw_values(BY_NAME[name], Random(f"{name} {seed}"), STEADY_COUNT)
    return FalseChange(bool(analyze_trend(_create_series(values)).changes), len(jumpavg.classify(values)) > 1)


def measure_delay(step: float, before_count: int, seed: int) -> tuple[int, int]:
    """Return the number of runs after a step down until `nodrop trend` and jumpavg detect it."""
    values = _draw_values(BY_NAME[GAUSSIAN], Random(f"{step} {before_count} {seed}"), before_count + AFTER_MAX)
    values = [value * (1 - step) if index >= before_count else value for index, value in enumerate(values)]
    counts = range(before_count + 1, len(values) + 1)
    nodrop_count = next((count for count in counts if _detects_worse(values[:count])), len(values) + 1)
    jumpavg_count = next((count for count in counts if len(jumpavg.classify(values[:count])) > 1), len(values) + 1)
    return nodrop_count - before_count, jumpavg_count - before_count


def _detects_worse(values: Sequence[float]) -> bool:
    return analyze_trend(_create_series(values)).verdict is ComparisonOutcome.WORSE


def _draw_values(noise: Noise, rng: Random, count: int) -> list[float]:
    """Return rates as measured by searches, on the grid of the noise if it has one."""
    level = rng.uniform(0.0, 0.1)  # anywhere between two loads of a grid
    logarithms = [level + deviation for deviation in noise.draw(rng, count)]
    return [LEVEL_PPS * exp(floor(each / noise.grid) * noise.grid if noise.grid else each) for each in logarithms]


def _create_series(values: Sequence[float]) -> TrendSeries:
    points = (
        TrendPoint(run_id=str(number), started_at=f"{number:09}", moment=str(number), value=value)
        for number, value in enumerate(values)
    )
    return TrendSeries(key="ndr", text="NDR", unit="pps", better="higher", points=tuple(points))


def _print_false_changes(console: Console, false_changes: dict[str, list[FalseChange]]) -> None:
    title = f"False changes: % of steady series of {STEADY_COUNT} runs (95 % interval)"
    table = Table(box=SIMPLE_HEAD, header_style="dim", title_justify="left", title=title)
    for heading, side in (("runs", "left"), ("", "left"), ("nodrop", "right"), ("jumpavg", "right")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    for name, series in false_changes.items():
        counts = sum(each.by_nodrop for each in series), sum(each.by_jumpavg for each in series)
        mark = " *" if name in WANDERING else ""
        table.add_row(name + mark, BY_NAME[name].description, *(_format_share(count, len(series)) for count in counts))
    console.print(table)
    console.print("* this noise changes from run to run: the detected changes are real\n")


def _format_share(count: int, total: int) -> str:
    low, high = compute_clopper_pearson(count, total)
    return f"{count / total * 100:.1f} ({low * 100:.1f}-{high * 100:.1f})"


def _print_delays(console: Console, delays: dict[tuple[float, int], list[tuple[int, int]]]) -> None:
    title = "Runs after a step until it is detected, 0.5 % of noise"
    table = Table(box=SIMPLE_HEAD, header_style="dim", title_justify="left", title=title)
    for heading in ("step", "runs before", "nodrop: median", "95 % quantile", "jumpavg: median", "95 % quantile"):
        table.add_column(heading, justify="right")
    for (step, before_count), counts in delays.items():
        quantiles = (_compute_quantile(each, share) for each in zip(*counts, strict=True) for share in (0.5, 0.95))
        table.add_row(f"-{step * 100:g} %", str(before_count), *map(_format_delay, quantiles))
    console.print(table)


def _compute_quantile(counts: Sequence[int], share: float) -> int:
    """Return the number of runs that suffices for this share of the series."""
    return sorted(counts)[max(0, -int(-share * len(counts) // 1) - 1)]


def _format_delay(count: int) -> str:
    return str(count) if count <= AFTER_MAX else f"> {AFTER_MAX}"


def format_requirements(
    false_changes: dict[str, list[FalseChange]], delays: dict[tuple[float, int], list[tuple[int, int]]]
) -> Iterator[str]:
    """Yield a line for each requirement: met or not, with the measured value."""
    share = sum(each.by_nodrop for each in false_changes[GAUSSIAN]) / len(false_changes[GAUSSIAN])
    yield _format_line(
        share <= NOMINAL,
        f"gaussian noise, false changes in series of {STEADY_COUNT} runs: {share:.1%}, required: at most 5 %",
    )
    delay = _compute_quantile([nodrop_count for nodrop_count, _ in delays[REQUIRED_STEP, BEFORE_COUNTS[0]]], 0.95)
    text = (
        f"{REQUIRED_STEP:.0%} lower after {BEFORE_COUNTS[0]} runs: detected after {_format_delay(delay)} "
        f"in 95 % of the series, required: at most {REQUIRED_DELAY}"
    )
    yield _format_line(delay <= REQUIRED_DELAY, text)


def _format_line(met: bool, text: str) -> str:
    return f"{'met' if met else 'NOT MET'}: {text}"


if __name__ == "__main__":
    sys.exit(main())
