"""`scripts/bench memory`: resident memory of the engine, over many trials and over one long trial."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine import link
from benchmarks.engine.frame import Frame
from benchmarks.engine.nodrop import NodropGenerator
from benchmarks.engine.packet_generator import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.session import EngineSession, start_engine
from benchmarks.engine.tool_process import BenchmarkError
from rich.console import Console

from nodrop.errors import NodropError
from nodrop.units import format_count

LOAD_PPS = 10_000.0
TRIAL_S = 2.0
WINDOW_S = 0.05
"""The default of `nodrop run`: each window of a trial is kept until the trial is reported."""
SAMPLE_COUNT = 300
"""Memory samples per half."""
SETTLING_RATIO = 0.1
"""Share of the samples of each half in which memory is still allocated for the first time."""
GROWTH_MAX_KIB = 1024.0
"""Allowed growth per half by the slope: above the noise of the allocator, below a leak per frame."""


@dataclass(frozen=True)
class Half:
    """Resident memory in one half of the run."""

    name: str
    at_s: tuple[float, ...]
    resident_kib: tuple[int, ...]
    trial_count: int
    offered_count: int
    lost_count: int

    @property
    def growth_kib(self) -> float:
        """The rise of the regression line through the settled samples, over their entire time."""
        settled = int(len(self.at_s) * SETTLING_RATIO)
        at_s, resident_kib = self.at_s[settled:], self.resident_kib[settled:]
        if len(at_s) < 2:
            return 0.0
        return statistics.linear_regression(at_s, resident_kib).slope * (at_s[-1] - at_s[0])

    @property
    def is_flat(self) -> bool:
        """Whether memory grew by at most the allowed amount."""
        return self.growth_kib <= GROWTH_MAX_KIB

    def to_record(self) -> dict[str, Any]:
        """Return the half as written to the JSON file."""
        return asdict(self) | {"growth_kib": self.growth_kib, "flat": self.is_flat}


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, soft_wrap=True)
    try:
        link.move_into_private_namespace()
        halves = list(_measure(options.minutes * 60))
    except (NodropError, BenchmarkError) as error:
        console.print(str(error))
        return 1
    for half in halves:
        console.print(_format_half(half))
    if options.json:
        options.json.write_text(json.dumps([half.to_record() for half in halves], indent=1) + "\n")
    return 0 if all(half.is_flat for half in halves) else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench memory",
        description=f"Resident memory of the engine at {LOAD_PPS:g} frames per second in 256 flows, with the latency "
        f"of every frame: half of the time in trials of {TRIAL_S:g} s, half in one trial.",
    )
    parser.add_argument(
        "--minutes", metavar="N", type=float, default=10.0, help="duration of both halves together (default: 10)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    options = parser.parse_args()
    if not 0.05 <= options.minutes <= 1440:
        parser.error(f"--minutes: {options.minutes:g} is out of range; set 0.05 to 1440")
    return options


def _measure(duration_s: float) -> Iterator[Half]:
    """Measure both halves with one engine, so that the second also shows what the first did not free."""
    generator = NodropGenerator("nodrop", queue_slots=4096)
    with start_engine({SEND_CPU, RECEIVE_CPU}) as process:
        session = EngineSession(process, generator.create_open_request(Frame(64)))
        half_s = duration_s / 2
        yield _measure_half("short trials", session, process.pid, min(TRIAL_S, half_s / 3), half_s)
        yield _measure_half("one long trial", session, process.pid, half_s, half_s)


def _measure_half(name: str, session: EngineSession, pid: int, trial_s: float, half_s: float) -> Half:
    """Run trials until the time is over, and sample the memory meanwhile."""
    samples: list[tuple[float, int]] = []
    counts = {"offered_count": 0, "lost_count": 0}
    start_s, trial_count = time.monotonic(), 0
    while trial_count == 0 or time.monotonic() - start_s + trial_s <= half_s:
        session.start_trial([LOAD_PPS], trial_s, window_s=WINDOW_S, latency_every=1, histograms=True)
        trial_count += 1
        while (reply := session.read_reply(1.0)) is None or reply["reply"] != "trial":
            elapsed_s = time.monotonic() - start_s
            if elapsed_s >= len(samples) * half_s / SAMPLE_COUNT:
                samples.append((elapsed_s, _read_resident_kib(pid)))
        for key in counts:
            counts[key] += sum(stream[key] for stream in reply["streams"])
    at_s, resident_kib = zip(*samples, strict=True)
    return Half(name=name, at_s=at_s, resident_kib=resident_kib, trial_count=trial_count, **counts)


def _read_resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _format_half(half: Half) -> str:
    kib = half.resident_kib
    outcome = "flat    " if half.is_flat else "NOT FLAT"
    return (
        f"{outcome} {half.name} ({format_count(half.trial_count, 'trial')}, {half.at_s[-1]:.0f} s, "
        f"{format_count(half.offered_count, 'frame')}, {format_count(half.lost_count)} lost): "
        f"resident first {kib[0]} KiB, last {kib[-1]} KiB, highest {max(kib)} KiB; "
        f"growth by the slope {half.growth_kib:+.0f} KiB, allowed {GROWTH_MAX_KIB:.0f} KiB"
    )


if __name__ == "__main__":
    sys.exit(main())
