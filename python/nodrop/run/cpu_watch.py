"""Other work on the CPUs of tester and SUT before the first trial: seen, reported, or waited for."""

import threading
import time
from collections.abc import Callable, Sequence

from nodrop.errors import BusyError
from nodrop.model.facts import CpuLoad
from nodrop.model.plan import Plan
from nodrop.system.cpu_load import CpuLoadMeter, CpuUse, format_use, list_notable_uses
from nodrop.units import format_seconds

WATCH_S = 1.0
"""Time for which the CPUs are watched."""


def list_measured_cpus(plans: Sequence[Plan]) -> frozenset[int] | None:
    """Return the CPUs that tester and SUT are pinned to; None if they may use any."""
    pinned = [core for plan in plans for core in (*plan.engine.cores, *plan.lab.sut_cores)]
    return frozenset(pinned) or None


class CpuWatch:
    """Measures other work on the CPUs of a plan in the background, while the path is brought up."""

    def __init__(self, plan: Plan) -> None:
        self._cpus = list_measured_cpus([plan])
        self._uses: tuple[CpuUse, ...] = ()
        self._thread = threading.Thread(target=self._measure, name="cpu-watch", daemon=True)
        self._thread.start()

    def _measure(self) -> None:
        meter = CpuLoadMeter()
        time.sleep(WATCH_S)
        self._uses = meter.read()

    def read(self) -> tuple[CpuLoad, ...]:
        """Return the notable loads; waits for the rest of the time."""
        self._thread.join(2 * WATCH_S)
        notable = list_notable_uses(self._uses, self._cpus)
        return tuple(CpuLoad(cpu=use.cpu, busy_ratio=use.busy_ratio, processes=use.processes) for use in notable)


def await_idle_cpus(
    plans: Sequence[Plan],
    limit_s: float,
    on_wait: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    measure: Callable[[], tuple[CpuUse, ...]] | None = None,
) -> None:
    """Wait until no other work disturbs the CPUs of tester and SUT for `WATCH_S`.

    Args:
        plans: the runs.
        limit_s: longest wait.
        on_wait: receives a line whenever the reason to wait changes.
        clock: seconds that pass.
        measure: watches all CPUs for `WATCH_S`.

    Raises: BusyError if the time is over.
    """
    cpus, end_s = list_measured_cpus(plans), clock() + limit_s
    last: frozenset[int] = frozenset()
    while busy := list_notable_uses((measure or _measure_once)(), cpus):
        text = "; ".join(map(format_use, busy))
        if clock() >= end_s:
            raise BusyError(
                f"--wait-idle: other work did not end within {format_seconds(limit_s)}: {text}; stop it, allow more "
                "time, or measure beside it (without --wait-idle)"
            )
        if (now := frozenset(use.cpu for use in busy)) != last:
            on_wait(f"waiting for idle CPUs: {text}")
            last = now


def _measure_once() -> tuple[CpuUse, ...]:
    meter = CpuLoadMeter()
    time.sleep(WATCH_S)
    return meter.read()
