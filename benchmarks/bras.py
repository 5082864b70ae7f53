"""`scripts/bench bras`: forwarding rate and memory of nodrop's BRAS with few and with many subscribers.

Each case is a lab of its own. In every round each case is sent more than it can forward, so that its rate is that of
the forwarder; the ratios compare cases of the same round.
"""

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nodrop import plan as planning
from nodrop.config.load import build_config
from nodrop.errors import NodropError
from nodrop.generator import open_generator
from nodrop.generator.base import Measurer
from nodrop.model.trial import FIXED, Trial
from nodrop.run.local_planning import make_local_resolvers
from nodrop.stage.netns import NetnsStage

SUBSCRIBER_COUNTS = (1, 1024, 65536)
REFERENCE_COUNT = 1024
RATIO_MIN = 0.75
"""Required rate with the most subscribers, as a share of that of the reference."""
MEMORY_MAX_BYTES = 2**30
OVERLOAD_PPS = 3e6


class BrasCase(NamedTuple):
    """A BRAS that is up, and its rates by round."""

    subscriber_count: int
    pid: int
    measurer: Measurer
    rates_pps: list[float]

    def measure(self, seconds: float) -> None:
        """Add the rate of a round."""
        result = self.measurer.measure(Trial(intended_load_pps=OVERLOAD_PPS, duration_s=seconds), 0, FIXED, _ignore)
        self.rates_pps.append(result.received_count / result.duration_s)

    def read_memory_bytes(self) -> int:
        """Return the most memory that the BRAS has had (VmHWM, proc_pid_status(5))."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def main() -> int:
    """Measure and print all cases; return 1 if a requirement is not met."""
    options = _parse_options()
    try:
        with contextlib.ExitStack() as labs, tempfile.TemporaryDirectory(prefix="nodrop-bench-") as directory:
            cases = [labs.enter_context(_bring_up(count, directory)) for count in SUBSCRIBER_COUNTS]
            for number in range(options.rounds):
                for case in cases[number % len(cases) :] + cases[: number % len(cases)]:
                    case.measure(options.seconds)
            memory = {case.subscriber_count: case.read_memory_bytes() for case in cases}
    except NodropError as error:
        print(error, file=sys.stderr)
        return 1
    rates = {case.subscriber_count: case.rates_pps for case in cases}
    ratios = {count: _compute_ratio(rates, count) for count in rates}
    _print_table(rates, ratios, memory)
    if options.json:
        record = {count: {"rates_pps": rates[count], "memory_bytes": memory[count]} for count in rates}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    is_met = ratios[max(rates)] >= RATIO_MIN and max(memory.values()) <= MEMORY_MAX_BYTES
    requirement = (
        f"{max(rates):,} subscribers at {RATIO_MIN:.0%} or more of the rate with {REFERENCE_COUNT:,}, and at most "
        f"{MEMORY_MAX_BYTES >> 20} MiB"
    )
    print(f"{'met' if is_met else 'NOT MET'}: {requirement}")
    return 0 if is_met else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench bras", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", metavar="N", type=int, default=9, help="trials of each case (default: %(default)s)")
    parser.add_argument(
        "--seconds", metavar="S", type=float, default=2.0, help="duration of a trial (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements to FILE")
    return parser.parse_args()


@contextlib.contextmanager
def _bring_up(subscriber_count: int, directory: str) -> Iterator[BrasCase]:
    keys = {"workload": "bras", "bras.subscribers": subscriber_count, "results_dir": directory}
    plan = planning.build_plan(build_config((), keys), make_local_resolvers(directory))
    with NetnsStage(plan.lab, "bench") as stage, open_generator(plan, stage) as measurer:
        measurer.check_path()
        yield BrasCase(subscriber_count, stage.facts.sut_processes[0].pid, measurer, [])


def _ignore(*_: object) -> None:
    """Take a report of progress."""


def _compute_ratio(rates: dict[int, list[float]], count: int) -> float:
    """Return the median ratio to the reference over the rounds."""
    return statistics.median(rate / base for rate, base in zip(rates[count], rates[REFERENCE_COUNT], strict=True))


def _print_table(rates: dict[int, list[float]], ratios: dict[int, float], memory: dict[int, int]) -> None:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("subscribers", "forwarded, kpps", "lowest to highest", f"of {REFERENCE_COUNT:,}", "memory, MiB"):
        table.add_column(heading, justify="right")
    for count, values in rates.items():
        kpps = [value / 1e3 for value in values]
        spread = f"{min(kpps):.0f} to {max(kpps):.0f}"
        table.add_row(
            f"{count:,}",
            f"{statistics.median(kpps):.0f}",
            spread,
            f"{ratios[count]:.1%}",
            f"{memory[count] / 2**20:.0f}",
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    sys.exit(main())
