"""One measurement: a contestant at full rate over a window of time, by counters that are the same for all."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine.contestant import Contestant, Run
from benchmarks.engine.frame import Frame
from benchmarks.engine.tool import TICKS_PER_S, ContestantError

WARM_UP_S = 0.5
FIRST_FRAME_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Measurement:
    """What one contestant did in one window."""

    contestant: str
    frame_bytes: int
    round: int
    window_s: float
    sent_pps: float
    """By the kernel's counter of the sending port; of a DPDK port by the contestant's own."""
    received_pps: float | None
    """By the contestant's own count of what it accepted."""
    cpu_cores: float
    """CPU time of all its processes per second, user and system."""
    softirq_cores: float
    """Time the whole machine spent in soft interrupts; on some kernels a part of cpu_cores, on others beside it."""
    other_cores: float
    """CPU time the machine spent on anything else."""
    steal_cores: float
    """CPU time the hypervisor withheld."""
    account: dict[str, float]
    """What the contestant says of its whole run."""


@dataclass(frozen=True)
class _Reading:
    at_s: float
    sent: tuple[float, int]
    received: tuple[float, int] | None
    cpu_s: float
    machine: dict[str, float]


def measure(contestant: Contestant, frame: Frame, number: int, window_s: float) -> Measurement:
    """Run a contestant once. Raises ContestantError when it cannot."""
    with contestant.run(frame) as run:
        _await_first_frame(run)
        time.sleep(WARM_UP_S)
        before = _read(run)
        time.sleep(window_s)
        after = _read(run)
        run.check_running()
        rates = _rates(before, after)
        return Measurement(
            contestant=contestant.name, frame_bytes=frame.frame_bytes, round=number, **rates, account=run.finish()
        )


def _await_first_frame(run: Run) -> None:
    before = run.sent()[1]
    deadline = time.monotonic() + FIRST_FRAME_TIMEOUT_S
    while run.sent()[1] == before:
        run.check_running()
        if time.monotonic() > deadline:
            raise ContestantError(f"it has sent nothing within {FIRST_FRAME_TIMEOUT_S:g} s")
        time.sleep(0.02)


def _read(run: Run) -> _Reading:
    received = run.received()
    return _Reading(time.monotonic(), run.sent(), received, run.cpu_s(), _machine_cpu_s())


def _machine_cpu_s() -> dict[str, float]:
    """CPU time of the whole machine so far, by what it went to (proc(5), /proc/stat)."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) / TICKS_PER_S for field in fields)
    return {"busy": user + nice + system + irq + softirq, "softirq": softirq, "steal": steal}


def _rates(before: _Reading, after: _Reading) -> dict[str, Any]:
    """The fields of a Measurement that two readings give."""
    window_s = after.at_s - before.at_s
    machine = {key: (after.machine[key] - before.machine[key]) / window_s for key in after.machine}
    cpu_cores = (after.cpu_s - before.cpu_s) / window_s
    return {
        "window_s": window_s,
        "sent_pps": _pps(before.sent, after.sent),
        "received_pps": _pps(before.received, after.received) if before.received and after.received else None,
        "cpu_cores": cpu_cores,
        "softirq_cores": machine["softirq"],
        "other_cores": max(0.0, machine["busy"] - cpu_cores),
        "steal_cores": machine["steal"],
    }


def _pps(before: tuple[float, int], after: tuple[float, int]) -> float:
    return (after[1] - before[1]) / (after[0] - before[0])
