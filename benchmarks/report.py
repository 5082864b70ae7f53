"""`scripts/bench report`: how long `nodrop report` takes, from its start to the file, and how large the file is.

Of a result that was measured: as it is, with its search made longer by trials of its own, and as eight frame sizes. The
time is that of the whole command, with Python's start and the start of the renderer.
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
"""What is demanded: a report of a result with so many trials takes less."""
LIMIT_BYTES = 3_000_000
LONG = 400
SIZES = (64, 128, 256, 512, 1024, 1280, 1518, 9000)


class Case(NamedTuple):
    """What is reported."""

    name: str
    results: tuple[RunResult, ...]


class Figures(NamedTuple):
    """What it took."""

    name: str
    times_s: tuple[float, ...]
    size_bytes: int


def main() -> int:
    """Measure, print, and fail where a demand is not met."""
    options = _parse()
    with tempfile.TemporaryDirectory(prefix="nodrop-bench-") as directory:
        result = store.load(options.result) if options.result else _measured(Path(directory))
        figures = [_figures(case, Path(directory), options.rounds) for case in _cases(result)]
    _show(figures)
    if options.json:
        Path(options.json).write_text(json.dumps([each._asdict() for each in figures], indent=1) + "\n")
    failures = [each.name for each in figures if each.size_bytes > LIMIT_BYTES]
    failures += [each.name for each in figures if each.name == f"{TRIALS} trials" and min(each.times_s) > LIMIT_S]
    print(f"missed: {', '.join(failures)}" if failures else f"under {LIMIT_S:g} s with {TRIALS} trials, all under 3 MB")
    return 1 if failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench report", description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", help="a result.json of a search; without, one is measured")
    parser.add_argument("--rounds", type=int, default=5, help="how often each report is made (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    return parser.parse_args()


def _measured(directory: Path) -> RunResult:
    subprocess.run(
        [sys.executable, "-m", "nodrop", "run", "-q", "--results-dir", str(directory)], check=True, stdout=sys.stderr
    )
    return store.load("latest", directory)


def _cases(result: RunResult) -> Sequence[Case]:
    """The result as it is, longer, and of several sizes."""
    sized = [
        result.model_copy(
            update={
                "run_id": f"{result.run_id}-{size}",
                "plan": result.plan.model_copy(update={"frame_size": str(size)}),
            }
        )
        for size in SIZES
    ]
    return (
        Case(f"{len(result.trials)} trials, as measured", (result,)),
        *(Case(f"{count} trials", (of_length(result, count),)) for count in (TRIALS, LONG)),
        Case(f"{len(SIZES)} frame sizes", tuple(sized)),
    )


def of_length(result: RunResult, count: int) -> RunResult:
    """The result with so many trials: the first of its search again and again, or fewer of those no figure rests on."""
    rests = {bound.trial_index for found in result.goals for bound in (found.lower, found.upper) if bound}
    rests |= {latency.trial_index for latency in result.latencies}
    spare = [trial for trial in result.trials if trial.index not in rests]
    wanted = max(count - len(rests), 0)
    before = [spare[number % len(spare)] for number in range(wanted)]
    order = [*before, *(trial for trial in result.trials if trial.index in rests)]
    trials = tuple(trial.model_copy(update={"index": index}) for index, trial in enumerate(order))
    moved = {trial.index: index for index, trial in enumerate(order)}
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
                found.model_copy(
                    update={
                        side: bound and bound.model_copy(update={"trial_index": moved[bound.trial_index]})
                        for side, bound in (("lower", found.lower), ("upper", found.upper))
                    }
                )
                for found in result.goals
            ),
            "latencies": tuple(
                latency.model_copy(update={"trial_index": moved[latency.trial_index]}) for latency in result.latencies
            ),
        }
    )


def _figures(case: Case, directory: Path, rounds: int) -> Figures:
    files = []
    for number, result in enumerate(case.results):
        files.append(directory / f"{number}-{len(result.trials)}.json")
        files[-1].write_text(store.to_json(result), encoding="utf-8")
    page = directory / "report.html"
    command = [sys.executable, "-m", "nodrop", "report", *map(str, files), "-o", str(page)]
    times = []
    for _ in range(rounds):
        began_s = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(round(time.monotonic() - began_s, 3))
    return Figures(case.name, tuple(times), page.stat().st_size)


def _show(figures: Sequence[Figures]) -> None:
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for column in ("report of", "least", "median", "most", "size"):
        table.add_column(column, justify="left" if column == "report of" else "right")
    for each in figures:
        times = (min(each.times_s), median(each.times_s), max(each.times_s))
        table.add_row(each.name, *(f"{value:.2f} s" for value in times), f"{each.size_bytes / 1e6:.2f} MB")
    Console(highlight=False).print(table)


if __name__ == "__main__":
    sys.exit(main())
