"""`scripts/bench memory`: whether the engine's memory stays what it was, over many trials and over one long one."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.nodrop import Nodrop
from benchmarks.engine.session import Session, start_engine
from benchmarks.engine.tool import ContestantError
from rich.console import Console

from nodrop.errors import NodropError

LOAD_PPS = 10_000.0
TRIAL_S = 2.0
WINDOW_S = 0.05
"""As in `nodrop run`: each window of a trial is kept until the trial is reported."""
SAMPLE_COUNT = 300
"""Over each half."""
SETTLING_RATIO = 0.1
"""Share of the samples of each half in which memory is still taken for the first time."""
GROWTH_MAX_KIB = 1024.0
"""Over each half, as the slope has it: what a measurement may add is noise of the allocator, not frames."""


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
        """What the slope of a straight line through the settled samples makes of their whole time."""
        settled = int(len(self.at_s) * SETTLING_RATIO)
        at_s, resident_kib = self.at_s[settled:], self.resident_kib[settled:]
        if len(at_s) < 2:
            return 0.0
        return statistics.linear_regression(at_s, resident_kib).slope * (at_s[-1] - at_s[0])

    @property
    def flat(self) -> bool:
        """Whether it grew by no more than is allowed."""
        return self.growth_kib <= GROWTH_MAX_KIB


def main() -> int:
    options = _parse()
    console = Console(highlight=False, soft_wrap=True)
    try:
        link.move_into_private_namespace()
        halves = list(_measure(options.minutes * 60))
    except (NodropError, ContestantError) as error:
        console.print(str(error))
        return 1
    for half in halves:
        console.print(_line(half))
    if options.json:
        record = [asdict(half) | {"growth_kib": half.growth_kib, "flat": half.flat} for half in halves]
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(half.flat for half in halves) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench memory",
        description=f"Resident memory of the engine at {LOAD_PPS:g} frames per second in 256 flows, with latency on "
        f"every frame: half of the time in trials of {TRIAL_S:g} s, half in one trial.",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="length of the whole run (default: 10)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there too")
    options = parser.parse_args()
    if not 0.05 <= options.minutes <= 1440:
        parser.error("0.05 to 1440 minutes are needed")
    return options


def _measure(duration_s: float) -> Iterator[Half]:
    """Both halves on one engine, so that the second also sees what the first has left."""
    contestant = Nodrop("nodrop", queue_slots=4096)
    with start_engine({SEND_CPU, RECEIVE_CPU}) as tool:
        session = Session(tool, contestant.open_request(Frame(64)))
        half_s = duration_s / 2
        yield _half("trials one after another", session, tool.pid, min(TRIAL_S, half_s / 3), half_s)
        yield _half("one long trial", session, tool.pid, half_s, half_s)


def _half(name: str, session: Session, pid: int, trial_s: float, half_s: float) -> Half:
    """Trials until the time is over, with memory read now and then."""
    samples: list[tuple[float, int]] = []
    counts = {"offered_count": 0, "lost_count": 0}
    start_s, trial_count = time.monotonic(), 0
    while trial_count == 0 or time.monotonic() - start_s + trial_s <= half_s:
        session.begin([LOAD_PPS], trial_s, window_s=WINDOW_S, latency_every=1, histograms=True)
        trial_count += 1
        while (reply := session.next_reply(1.0)) is None or reply["reply"] != "trial":
            elapsed_s = time.monotonic() - start_s
            if elapsed_s >= len(samples) * half_s / SAMPLE_COUNT:
                samples.append((elapsed_s, _resident_kib(pid)))
        for key in counts:
            counts[key] += sum(stream[key] for stream in reply["streams"])
    at_s, resident_kib = zip(*samples, strict=True)
    return Half(name=name, at_s=at_s, resident_kib=resident_kib, trial_count=trial_count, **counts)


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _line(half: Half) -> str:
    kib: Sequence[int] = half.resident_kib
    verdict = "flat    " if half.flat else "NOT FLAT"
    return (
        f"{verdict} {half.name} ({half.trial_count}, {half.at_s[-1]:.0f} s, {half.offered_count} frames, "
        f"{half.lost_count} lost): resident first {kib[0]} KiB, last {kib[-1]} KiB, highest {max(kib)} KiB; "
        f"the slope makes {half.growth_kib:+.0f} KiB of it once settled, allowed {GROWTH_MAX_KIB:.0f} KiB"
    )


if __name__ == "__main__":
    sys.exit(main())
