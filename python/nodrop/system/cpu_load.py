"""CPU time that other processes take on each CPU, from `/proc`."""

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
BUSY_FIELDS = slice(0, 3)
"""user, nice and system, in `cpu<n> user nice system idle iowait irq softirq steal ...` (proc_stat(5))."""
TIME_FIELDS = slice(0, 8)
SAMPLE_S = 1.0
"""Shortest time of a sample."""
NOTABLE_RATIO = 0.1
"""Share of a CPU above which other work on it is worth a line."""
PF_KTHREAD = 0x00200000
"""Flag of kernel threads (linux/sched.h)."""


class CpuUse(NamedTuple):
    """Other work on a CPU."""

    cpu: int
    busy_ratio: float
    """Share of the time in [0, 1]."""
    processes: tuple[str, ...]
    """Names of the processes that took most of it and still ran at the end, longest first."""
    kernel_ratio: float = 0.0
    """Share of the time of kernel threads, part of `busy_ratio`."""

    @property
    def is_by_kernel(self) -> bool:
        """Whether it would not be notable without the kernel's threads."""
        return self.busy_ratio - self.kernel_ratio <= NOTABLE_RATIO


class _ProcessTime(NamedTuple):
    name: str
    parent: int
    is_kernel: bool
    cpu: int
    ticks: int
    ended_children_ticks: int


class _CpuTime(NamedTuple):
    busy: int
    total: int


class CpuLoadMeter:
    """Measures since its creation how busy each CPU was with work other than this process and its descendants."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._cpus, self._processes = _read_cpus(proc), _read_processes(proc)

    def read(self) -> tuple[CpuUse, ...]:
        """Return the use of each CPU, in order; nothing without time since the creation."""
        cpus, processes = _read_cpus(self._proc), _read_processes(self._proc)
        own = _find_descendants(processes, os.getpid())
        spent: dict[int, Counter[str]] = {cpu: Counter() for cpu in cpus}
        kernel: Counter[int] = Counter()
        own_ticks = 0
        for pid, now in processes.items():
            before = self._processes.get(pid)
            ticks = now.ticks - (before.ticks if before and before.name == now.name else 0)
            if pid in own:
                own_ticks += ticks + now.ended_children_ticks - (before.ended_children_ticks if before else 0)
            elif ticks > 0 and now.cpu in spent:
                spent[now.cpu][now.name] += ticks
                kernel[now.cpu] += ticks * now.is_kernel
        uses = []
        for cpu, now_time in cpus.items():
            then = self._cpus.get(cpu, now_time)
            total = now_time.total - then.total
            if total > 0:
                busy = max(0, now_time.busy - then.busy)
                # Own processes ended, or moved to another CPU: they account for time that no other process explains.
                unexplained = max(0, busy - spent[cpu].total())
                own_share = min(own_ticks, unexplained)
                own_ticks -= own_share
                busy -= own_share
                names = tuple(name for name, _ in spent[cpu].most_common(3))
                uses.append(CpuUse(cpu, min(1.0, busy / total), names, min(1.0, kernel[cpu] / total)))
        return tuple(uses)


class CpuSample:
    """Measures other work on each CPU from its creation, or the last reading, on; for `SAMPLE_S` at least."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._meter, self._end_s = CpuLoadMeter(), time.monotonic() + SAMPLE_S

    def read(self) -> tuple[CpuUse, ...]:
        """Return the use of each CPU, in order; waits for the rest of the time."""
        time.sleep(max(0.0, self._end_s - time.monotonic()))
        uses = self._meter.read()
        self._begin()
        return uses


def list_notable_uses(uses: tuple[CpuUse, ...], cpus: frozenset[int] | None = None) -> tuple[CpuUse, ...]:
    """Return the uses that may disturb a measurement on these CPUs; None: on any."""
    return tuple(use for use in uses if use.busy_ratio > NOTABLE_RATIO and (cpus is None or use.cpu in cpus))


def format_use(use: CpuUse) -> str:
    """Return a use as text: `CPU 1 is 93 % busy (cc1plus, ld)`."""
    names = f" ({', '.join(use.processes)})" if use.processes else ""
    return f"CPU {use.cpu} is {100 * use.busy_ratio:.0f} % busy{names}"


def _read_cpus(proc: Path) -> dict[int, _CpuTime]:
    times = {}
    for line in (proc / "stat").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu") and name[3:].isdigit():
            ticks = [int(field) for field in rest.split()][TIME_FIELDS]
            times[int(name[3:])] = _CpuTime(sum(ticks[BUSY_FIELDS]), sum(ticks))
    return times


def _read_processes(proc: Path) -> dict[int, _ProcessTime]:
    """Return every process; proc_pid_stat(5) has its fields."""
    processes = {}
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = (entry / "stat").read_text().rpartition(")")
        except OSError:  # it ended meanwhile
            continue
        fields = tail.split()
        processes[int(entry.name)] = _ProcessTime(
            name=head.partition("(")[2],
            parent=int(fields[1]),
            is_kernel=bool(int(fields[6]) & PF_KTHREAD),
            cpu=int(fields[36]),
            ticks=int(fields[11]) + int(fields[12]),
            ended_children_ticks=int(fields[13]) + int(fields[14]),
        )
    return processes


def _find_descendants(processes: Mapping[int, _ProcessTime], root: int) -> set[int]:
    found, added = {root}, {root}
    while added:
        added = {pid for pid, process in processes.items() if process.parent in added} - found
        found |= added
    return found
