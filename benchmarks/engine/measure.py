"""The measurement of a generator at full rate over a window, with the same counters for all generators."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine.frame import Frame
from benchmarks.engine.packet_generator import GeneratorRun, PacketGenerator
from benchmarks.engine.tool_process import TICKS_PER_S, BenchmarkError

WARM_UP_S = 0.5
FIRST_FRAME_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class RateMeasurement:
    """Rates and CPU time of one generator in one window."""

    group: str
    generator: str
    frame_bytes: int
    round: int
    window_s: float
    sent_pps: float
    """Send rate by the kernel's counter of the port; on a DPDK port by the generator's own counter."""
    received_pps: float | None
    """Receive rate by the generator's own counter of accepted frames."""
    cpu_cores: float | None
    """CPU time of all its processes per second, user and system; None if unknown."""
    softirq_cores: float
    """Time of the entire machine in softirqs per second; depending on the kernel included in cpu_cores or not."""
    busy_cores: float
    """CPU time of the entire machine per second, the generator included."""
    steal_cores: float
    """CPU time withheld by the hypervisor per second."""
    account: dict[str, float]
    """The generator's own counters of its entire run."""

    @property
    def rate_pps(self) -> float:
        """The receive rate; the send rate of a generator without receiver."""
        return self.sent_pps if self.received_pps is None else self.received_pps

    @property
    def cpu_ns_per_frame(self) -> float | None:
        """CPU time of all its processes per frame, including kernel work on their behalf."""
        return None if self.cpu_cores is None else 1e9 * self.cpu_cores / self.rate_pps

    @property
    def other_cores(self) -> float | None:
        """CPU time of everything else on the machine per second."""
        return None if self.cpu_cores is None else max(0.0, self.busy_cores - self.cpu_cores)

    def to_record(self) -> dict[str, Any]:
        """Return the measurement as written to the JSON file."""
        record = {"contestant" if key == "generator" else key: value for key, value in asdict(self).items()}
        return record | {"cpu_ns_per_frame": self.cpu_ns_per_frame}


@dataclass(frozen=True)
class _CounterReading:
    time_s: float
    sent: tuple[float, int]
    received: tuple[float, int] | None
    cpu_s: float
    machine: dict[str, float]


def measure(generator: PacketGenerator, group: str, frame: Frame, round_index: int, window_s: float) -> RateMeasurement:
    """Run a generator once as a member of a group. Raises BenchmarkError if it fails."""
    with generator.run(frame) as run:
        _await_first_frame(run)
        time.sleep(WARM_UP_S)
        before = _read_counters(run)
        time.sleep(window_s)
        after = _read_counters(run)
        run.check_running()
        rates = _compute_rates(before, after)
        return RateMeasurement(
            group=group,
            generator=generator.name,
            frame_bytes=frame.frame_bytes,
            round=round_index,
            **rates,
            account=run.stop(),
        )


def _await_first_frame(run: GeneratorRun) -> None:
    before = run.read_sent()[1]
    deadline = time.monotonic() + FIRST_FRAME_TIMEOUT_S
    while run.read_sent()[1] == before:
        run.check_running()
        if time.monotonic() > deadline:
            raise BenchmarkError(f"no frame was sent within {FIRST_FRAME_TIMEOUT_S:g} s")
        time.sleep(0.02)


def _read_counters(run: GeneratorRun) -> _CounterReading:
    received = run.read_received()
    return _CounterReading(time.monotonic(), run.read_sent(), received, run.read_cpu_s(), read_machine_cpu_s())


def read_machine_cpu_s() -> dict[str, float]:
    """Return the CPU time of the entire machine since boot by kind (proc(5), /proc/stat)."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) / TICKS_PER_S for field in fields)
    return {"busy": user + nice + system + irq + softirq, "softirq": softirq, "steal": steal}


def compute_machine_cores(before: dict[str, float], after: dict[str, float], window_s: float) -> dict[str, Any]:
    """Return the CPU use between two results of `read_machine_cpu_s`, as fields of a RateMeasurement."""
    return {f"{key}_cores": (after[key] - before[key]) / window_s for key in after}


def _compute_rates(before: _CounterReading, after: _CounterReading) -> dict[str, Any]:
    """Return the fields of a RateMeasurement that follow from two readings."""
    window_s = after.time_s - before.time_s
    return compute_machine_cores(before.machine, after.machine, window_s) | {
        "window_s": window_s,
        "sent_pps": _compute_pps(before.sent, after.sent),
        "received_pps": _compute_pps(before.received, after.received) if before.received and after.received else None,
        "cpu_cores": (after.cpu_s - before.cpu_s) / window_s,
    }


def _compute_pps(before: tuple[float, int], after: tuple[float, int]) -> float:
    return (after[1] - before[1]) / (after[0] - before[0])
