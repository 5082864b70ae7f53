"""`scripts/bench search`: every search against every simulated SUT, then what is demanded of nodrop's own."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from benchmarks.search.demands import demands
from benchmarks.search.goals import GOAL_SETS
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.simulation import SUTS
from nodrop.simulation.benchmark import Benchmark, EntryScore, GoalScore, run_benchmark
from nodrop.stage.host_facts import read_host

PAGE_WIDTH = 150
"""Where there is no terminal to fit."""


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    host = read_host()
    began_s, started_at = time.monotonic(), datetime.now(UTC).isoformat()
    console.print(f"{host.cpu_model}, {host.core_count} CPUs, Linux {host.kernel}; all times below are simulated")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    suts = {name: make for name, make in SUTS.items() if not options.sut or name in options.sut}
    found: dict[str, Benchmark] = {}
    for name, goal_set in GOAL_SETS.items():
        if options.goals in (None, name):
            found[name] = run_benchmark(goal_set.contenders(), suts, seeds)
            _print(console, name, found[name].scores)
    for line in demands({name: comparison.scores for name, comparison in found.items()}):
        console.print(line)
    console.print(f"{options.seeds} seeds each; took {(time.monotonic() - began_s) / 60:.1f} min")
    if options.json:
        record = {
            "started_at": started_at,
            "host": host.model_dump(),
            "seeds": [seeds.start, seeds.stop],
            "comparisons": {name: comparison.model_dump() for name, comparison in found.items()},
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench search", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="attempts of each search at each SUT (default: 100)")
    parser.add_argument("--first-seed", type=int, default=0, help="seeds count up from here (default: 0)")
    parser.add_argument("--sut", action="append", choices=list(SUTS), help="only this kind; may be repeated")
    parser.add_argument("--goals", choices=list(GOAL_SETS), help="only these goals")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every attempt there too")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("at least one seed is needed")
    return options


def _print(console: Console, name: str, scores: Sequence[EntryScore]) -> None:
    """A line for each SUT and search, and the mean times."""
    table = Table(box=SIMPLE_HEAD, title=f"{name} goals", title_justify="left", header_style="dim")
    for heading in ("SUT", "search"):
        table.add_column(heading, no_wrap=True)
    for heading in ("trials", "traffic s", "wall s"):
        table.add_column(heading, justify="right")
    for label in ("NDR", "PDR"):
        for heading in ("error %", "spread %", "off %"):
            table.add_column(f"{label} {heading}", justify="right")
    before = ""
    for score in scores:
        shown = "" if score.sut == before else score.sut
        before = score.sut
        times = (f"{score.trial_count:.1f}", f"{score.traffic_s:.1f}", f"{score.wall_s:.1f}")
        table.add_row(shown, score.search, *times, *(text for goal in score.goals for text in _goal_texts(goal)))
    console.print(table)
    for search in dict.fromkeys(score.search for score in scores):
        mine = [score for score in scores if score.search == search]
        traffic_s, wall_s = fmean(s.traffic_s for s in mine), fmean(s.wall_s for s in mine)
        console.print(f"{search}: {traffic_s:.1f} s of traffic, {wall_s:.1f} s in all, mean over the SUTs")
    console.print()


def _goal_texts(goal: GoalScore) -> tuple[str, str, str]:
    """Median error, 5 % to 95 % of what was found, and the share more than 1 % off."""
    spread = (goal.high_ratio - goal.low_ratio) * 100
    return f"{goal.error_ratio * 100:+.2f}", f"{spread:.2f}", f"{goal.off_ratio * 100:.0f}"


if __name__ == "__main__":
    sys.exit(main())
