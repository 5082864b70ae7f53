"""`scripts/bench report`: time of the command `nodrop report`, and size of its file.

The result of one search is reported as measured, with other numbers of trials, and with eight frame sizes. The
time includes the start of Python and of the renderer.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop import store
from nodrop.model.result import RunResult

LIMIT_S, TRIALS = 2.0, 30
"""Required time of a report of a result with this number of trials."""
LIMIT_BYTES = 3_000_000
MANY_TRIALS = 400
FRAME_SIZES = (64, 128, 256, 512, 1024, 1280, 1518, 9000)


class ReportCase(NamedTuple):
    """Results that one report contains."""

    name: str
    results: tuple[RunResult, ...]


class ReportMeasurement(NamedTuple):
    """Times and file size of one report."""

    name: str
    times_s: tuple[float, ...]
    size_bytes: int


def main() -> int:
    """Measure and print all reports; return 1 if a requirement is not met."""
    options = _parse_options()
    with tempfile.TemporaryDirectory(prefix="nodrop-bench-") as directory:
        result = store.load(options.result) if options.result else _run_search(Path(directory))
        measurements = [_measure_report(case, Path(directory), options.rounds) for case in _create_cases(result)]
    _print_table(measurements)
    if options.json:
        Path(options.json).write_text(json.dumps([each._asdict() for each in measurements], indent=1) + "\n")
    failures = [each.name for each in measurements if each.size_bytes > LIMIT_BYTES]
    failures += [each.name for each in measurements if each.name == f"{TRIALS} trials" and min(each.times_s) > LIMIT_S]
    requirement = f"at most {LIMIT_S:g} s with {TRIALS} trials, at most {LIMIT_BYTES / 1e6:g} MB each"
    print(f"NOT MET by {', '.join(failures)}: {requirement}" if failures else f"met: {requirement}")
    return 1 if failures else 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench report", description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", help="result.json of a search (default: run a search first)")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=5, help="measurements of each report (default: %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the measurements to FILE")
    return parser.parse_args()


def _run_search(directory: Path) -> RunResult:
    subprocess.run(
        [sys.executable, "-m", "nodrop", "run", "-q", "--results-dir", str(directory)], check=True, stdout=sys.stderr
    )
    return store.load("latest", directory)


def _create_cases(result: RunResult) -> Sequence[ReportCase]:
    """Return the result as measured, with other numbers of trials, and with several frame sizes."""
    by_size = [
        result.model_copy(
            update={
                "run_id": f"{result.run_id}-{size}",
                "plan": result.plan.model_copy(update={"frame_size": str(size)}),
            }
        )
        for size in FRAME_SIZES
    ]
    return (
        ReportCase(f"{len(result.trials)} trials, as measured", (result,)),
        *(ReportCase(f"{count} trials", (resize_search(result, count),)) for count in (TRIALS, MANY_TRIALS)),
        ReportCase(f"{len(FRAME_SIZES)} frame sizes", tuple(by_size)),
    )


def resize_search(result: RunResult, count: int) -> RunResult:
    """Return the result with `count` trials: without some of those that no value refers to, or with copies of them."""
    referenced = {bound.trial_index for goal in result.goals for bound in (goal.lower, goal.upper) if bound}
    referenced |= {latency.trial_index for latency in result.latencies}
    spare = [trial for trial in result.trials if trial.index not in referenced]
    spare_count = max(count - len(referenced), 0)
    fillers = [spare[number % len(spare)] for number in range(spare_count)]
    order = [*fillers, *(trial for trial in result.trials if trial.index in referenced)]
    trials = tuple(trial.model_copy(update={"index": index}) for index, trial in enumerate(order))
    new_indices = {trial.index: index for index, trial in enumerate(order)}
    steps = {step.trial_index: step for step in result.steps}
    return result.model_copy(
        update={
            "trials": trials,
            "steps": tuple(
                steps[trial.index].model_copy(update={"trial_index": index})
                for index, trial in enumerate(order)
                if trial.index in steps
            ),
            "goals": tuple(
                goal.model_copy(
                    update={
                        side: bound and bound.model_copy(update={"trial_index": new_indices[bound.trial_index]})
                        for side, bound in (("lower", goal.lower), ("upper", goal.upper))
                    }
                )
                for goal in result.goals
            ),
            "latencies": tuple(
                latency.model_copy(update={"trial_index": new_indices[latency.trial_index]})
                for latency in result.latencies
            ),
        }
    )


def _measure_report(case: ReportCase, directory: Path, rounds: int) -> ReportMeasurement:
    files = []
    for number, result in enumerate(case.results):
        files.append(directory / f"{number}-{len(result.trials)}.json")
        files[-1].write_text(store.to_json(result), encoding="utf-8")
    page = directory / "report.html"
    command = [sys.executable, "-m", "nodrop", "report", *map(str, files), "-o", str(page)]
    times = []
    for _ in range(rounds):
        start_s = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(round(time.monotonic() - start_s, 3))
    return ReportMeasurement(case.name, tuple(times), page.stat().st_size)


def _print_table(measurements: Sequence[ReportMeasurement]) -> None:
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for column in ("report of", "fastest", "median", "slowest", "size"):
        table.add_column(column, justify="left" if column == "report of" else "right")
    for each in measurements:
        times = (min(each.times_s), median(each.times_s), max(each.times_s))
        table.add_row(each.name, *(f"{value:.2f} s" for value in times), f"{each.size_bytes / 1e6:.2f} MB")
    Console(highlight=False).print(table)


if __name__ == "__main__":
    sys.exit(main())
