"""`scripts/bench search`: every search on every simulated SUT, and the requirements on nodrop's own search."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean

from benchmarks.search.drawn_suts import DRAWN, create_drawn
from benchmarks.search.goals import GOAL_SETS
from benchmarks.search.requirements import format_requirements
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop.simulation import SUTS
from nodrop.simulation.benchmark import Benchmark, EntryScore, GoalScore, run_benchmark
from nodrop.simulation.disturbances import DISTURBANCES, DisturbedSut
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.stage.host_facts import read_host
from nodrop.units import format_count

PAGE_WIDTH = 150
"""Width of the output if it is not a terminal."""


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    host = read_host()
    start_s, started_at = time.monotonic(), datetime.now(UTC).isoformat()
    console.print(f"{host.cpu_model}, {host.core_count} CPUs, Linux {host.kernel}; all times below are simulated")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    suts = {name: create for name, create in SUTS.items() if not options.sut or name in options.sut}
    if options.drawn:
        suts = {name: partial(create_drawn, name) for name in suts if name in DRAWN}
        console.print("parameters of the SUTs: drawn for each seed")
    if options.disturbance:
        suts = {name: partial(_create_disturbed, create, options.disturbance) for name, create in suts.items()}
        console.print(f"disturbed: {DISTURBANCES[options.disturbance].text}; errors are those of the undisturbed truth")
    benchmarks: dict[str, Benchmark] = {}
    for name, goal_set in GOAL_SETS.items():
        if options.goals in (None, name):
            benchmarks[name] = run_benchmark(goal_set.create_entries(), suts, seeds)
            _print_scores(console, name, benchmarks[name].scores)
    if not options.disturbance and not options.drawn:  # the requirements are those on the default SUTs
        for line in format_requirements({name: benchmark.scores for name, benchmark in benchmarks.items()}):
            console.print(line)
    console.print(f"{format_count(options.seeds, 'seed')} each; took {(time.monotonic() - start_s) / 60:.1f} min")
    if options.json:
        record = {
            "started_at": started_at,
            "host": host.model_dump(),
            "seeds": [seeds.start, seeds.stop],
            "comparisons": {name: benchmark.model_dump() for name, benchmark in benchmarks.items()},
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench search", description=__doc__)
    parser.add_argument(
        "--seeds", metavar="N", type=int, default=100, help="runs of each search on each SUT (default: 100)"
    )
    parser.add_argument(
        "--first-seed", metavar="N", type=int, default=0, help="first of consecutive seeds (default: 0)"
    )
    parser.add_argument("--sut", action="append", choices=list(SUTS), help="limit to this kind of SUT; may be repeated")
    parser.add_argument("--goals", choices=list(GOAL_SETS), help="limit to these goals")
    parser.add_argument(
        "--drawn", action="store_true", help=f"draw the parameters of {', '.join(DRAWN)} for each seed; no other SUTs"
    )
    parser.add_argument("--disturbance", choices=list(DISTURBANCES), help="let other work take the SUT's CPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every run to FILE")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.drawn and options.sut and not set(options.sut) & set(DRAWN):
        parser.error(f"--drawn requires one of {', '.join(DRAWN)}")
    return options


def _create_disturbed(create: Callable[[int], SimulatedForwarder], disturbance: str, seed: int) -> DisturbedSut:
    return DisturbedSut(create(seed), DISTURBANCES[disturbance], seed)


def _print_scores(console: Console, name: str, scores: Sequence[EntryScore]) -> None:
    """Print a row for each SUT and search, and the mean times."""
    table = Table(box=SIMPLE_HEAD, title=f"{name} goals", title_justify="left", header_style="dim")
    for heading in ("SUT", "search"):
        table.add_column(heading, no_wrap=True)
    for heading in ("trials", "traffic s", "wall s"):
        table.add_column(heading, justify="right")
    for label in ("NDR", "PDR"):
        for heading in ("error %", "spread %", "off %"):
            table.add_column(f"{label} {heading}", justify="right")
    previous_sut = ""
    for score in scores:
        sut = "" if score.sut == previous_sut else score.sut
        previous_sut = score.sut
        times = (f"{score.trial_count:.1f}", f"{score.traffic_s:.1f}", f"{score.wall_s:.1f}")
        table.add_row(sut, score.search, *times, *(text for goal in score.goals for text in _format_goal(goal)))
    console.print(table)
    for search in dict.fromkeys(score.search for score in scores):
        matches = [score for score in scores if score.search == search]
        traffic_s, wall_s = fmean(s.traffic_s for s in matches), fmean(s.wall_s for s in matches)
        console.print(f"{search}: traffic {traffic_s:.1f} s, wall {wall_s:.1f} s, mean of the SUTs")
    console.print()


def _format_goal(goal: GoalScore) -> tuple[str, str, str]:
    """Return the median error, the range from the 5 % to the 95 % quantile, and the share more than 1 % off."""
    spread = (goal.high_ratio - goal.low_ratio) * 100
    return f"{goal.error_ratio * 100:+.2f}", f"{spread:.2f}", f"{goal.off_ratio * 100:.0f}"


if __name__ == "__main__":
    sys.exit(main())
