"""Other work on the CPUs of tester and SUT before the first trial: seen, reported, or waited for."""

import time
from collections.abc import Callable, Sequence

from nodrop.errors import BusyError
from nodrop.model.facts import CpuLoad
from nodrop.model.plan import Plan
from nodrop.run.machine_lock import find_other_runs
from nodrop.system.cpu_load import CpuSample, CpuUse, format_use, list_notable_uses
from nodrop.units import format_seconds

KERNEL_WORK_SAMPLES_MAX = 3
"""Samples, of a second each, within which work of the kernel alone, such as the removal of a lab, may end."""


def list_measured_cpus(plans: Sequence[Plan]) -> frozenset[int] | None:
    """Return the CPUs that tester and SUT are pinned to; None if they may use any."""
    pinned = [core for plan in plans for core in (*plan.engine.cores, *plan.lab.sut_cores)]
    return frozenset(pinned) or None


class CpuWatch:
    """Other work on the CPUs of a plan, and other runs."""

    def __init__(self, plan: Plan, sample: CpuSample) -> None:
        self._cpus = list_measured_cpus([plan])
        self._other_runs = find_other_runs()
        self._sample = sample

    def read(self) -> tuple[CpuLoad, ...]:
        """Return the notable loads; waits for the rest of the sample's time, and for the end of work of the kernel."""
        for _ in range(KERNEL_WORK_SAMPLES_MAX):
            notable = list_notable_uses(self._sample.read(), self._cpus)
            if not notable or not all(use.is_by_kernel for use in notable):
                break
        return tuple(CpuLoad(cpu=use.cpu, busy_ratio=use.busy_ratio, processes=use.processes) for use in notable)

    def describe_other_runs(self) -> tuple[str, ...]:
        """Return a line for each other run that began before the watch, or measures now."""
        runs = sorted(self._other_runs | find_other_runs(), key=lambda run: run.process.pid)
        return tuple(
            f"another run measured on this machine at the same time, with which caches and memory were shared: "
            f"{run.text()}"
            for run in runs
        )


def await_idle_cpus(
    plans: Sequence[Plan],
    limit_s: float,
    on_wait: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    measure: Callable[[], tuple[CpuUse, ...]] | None = None,
) -> None:
    """Wait until no other work disturbs the CPUs of tester and SUT for a second.

    Args:
        plans: the runs.
        limit_s: longest wait.
        on_wait: receives a line whenever the reason to wait changes.
        clock: seconds that pass.
        measure: watches all CPUs for a second.

    Raises: BusyError if the time is over.
    """
    cpus, end_s = list_measured_cpus(plans), clock() + limit_s
    last: frozenset[int] = frozenset()
    while busy := list_notable_uses(measure() if measure else CpuSample().read(), cpus):
        text = "; ".join(map(format_use, busy))
        if clock() >= end_s:
            raise BusyError(
                f"--wait-idle: other work did not end within {format_seconds(limit_s)}: {text}; stop it, allow more "
                "time, or measure beside it (without --wait-idle)"
            )
        if (now := frozenset(use.cpu for use in busy)) != last:
            on_wait(f"waiting for idle CPUs: {text}")
            last = now
