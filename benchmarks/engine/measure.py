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

    group: str
    contestant: str
    frame_bytes: int
    round: int
    window_s: float
    sent_pps: float
    """By the kernel's counter of the sending port; of a DPDK port by the contestant's own."""
    received_pps: float | None
    """By the contestant's own count of what it accepted."""
    cpu_cores: float | None
    """CPU time of all its processes per second, user and system; None where that is not known."""
    softirq_cores: float
    """Time the whole machine spent in soft interrupts; on some kernels a part of cpu_cores, on others beside it."""
    busy_cores: float
    """CPU time the machine spent on anything, this included."""
    steal_cores: float
    """CPU time the hypervisor withheld."""
    account: dict[str, float]
    """What the contestant says of its whole run."""

    @property
    def rate_pps(self) -> float:
        """What was received; sent, where nobody receives."""
        return self.sent_pps if self.received_pps is None else self.received_pps

    @property
    def cpu_ns_per_frame(self) -> float | None:
        """CPU time of all its processes for each frame, the kernel's work in their name included."""
        return None if self.cpu_cores is None else 1e9 * self.cpu_cores / self.rate_pps

    @property
    def other_cores(self) -> float | None:
        """CPU time the machine spent on anything else."""
        return None if self.cpu_cores is None else max(0.0, self.busy_cores - self.cpu_cores)


@dataclass(frozen=True)
class _Reading:
    at_s: float
    sent: tuple[float, int]
    received: tuple[float, int] | None
    cpu_s: float
    machine: dict[str, float]


def measure(contestant: Contestant, group: str, frame: Frame, number: int, window_s: float) -> Measurement:
    """Run a contestant once, as one of a group. Raises ContestantError when it cannot."""
    with contestant.run(frame) as run:
        _await_first_frame(run)
        time.sleep(WARM_UP_S)
        before = _read(run)
        time.sleep(window_s)
        after = _read(run)
        run.check_running()
        rates = _rates(before, after)
        return Measurement(
            group=group,
            contestant=contestant.name,
            frame_bytes=frame.frame_bytes,
            round=number,
            **rates,
            account=run.finish(),
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
    return _Reading(time.monotonic(), run.sent(), received, run.cpu_s(), machine_cpu_s())


def machine_cpu_s() -> dict[str, float]:
    """CPU time of the whole machine so far, by what it went to (proc(5), /proc/stat)."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) / TICKS_PER_S for field in fields)
    return {"busy": user + nice + system + irq + softirq, "softirq": softirq, "steal": steal}


def machine_cores(before: dict[str, float], after: dict[str, float], window_s: float) -> dict[str, Any]:
    """CPUs busy between two readings of `machine_cpu_s`, as fields of a Measurement."""
    return {f"{key}_cores": (after[key] - before[key]) / window_s for key in after}


def _rates(before: _Reading, after: _Reading) -> dict[str, Any]:
    """The fields of a Measurement that two readings give."""
    window_s = after.at_s - before.at_s
    return machine_cores(before.machine, after.machine, window_s) | {
        "window_s": window_s,
        "sent_pps": _pps(before.sent, after.sent),
        "received_pps": _pps(before.received, after.received) if before.received and after.received else None,
        "cpu_cores": (after.cpu_s - before.cpu_s) / window_s,
    }


def _pps(before: tuple[float, int], after: tuple[float, int]) -> float:
    return (after[1] - before[1]) / (after[0] - before[0])
