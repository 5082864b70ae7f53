"""Utilization over a short window: CPUs by /proc/stat, memory bandwidth by resctrl. Other probes run meanwhile."""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

WINDOW_S = 0.3
STAT = "/proc/stat"
RESCTRL = "/sys/fs/resctrl"
SINGLE_CAPTURE = "a capture is of one moment, this is measured over a while"

NOT_MEASURED = "not measured: nodrop itself was at work"


class LoadCounters(NamedTuple):
    """Counter values at a time."""

    at_s: float
    cpus: Mapping[int, tuple[int, int]]
    """Busy ticks and all ticks of each CPU."""
    memory: Mapping[int, int]
    """Bytes transferred between each last-level cache and memory."""


class HostLoad(NamedTuple):
    """Utilization between two readings."""

    window_s: float
    busy_ratio: Mapping[int, float]
    memory_bytes_per_s: Mapping[int, float]
    why: str = ""
    """Why nothing was measured."""

    def observe_cpu(self, source: Source, cpu: int) -> Observation[float]:
        """Return the busy share of a CPU within the window."""
        if self.why:
            return source.moment.unknown(self.why, STAT)
        if cpu not in self.busy_ratio:
            return source.moment.unknown(source.tree.failure_reason(STAT) or f"no cpu{cpu} whose ticks grew", STAT)
        return source.moment.seen(self.busy_ratio[cpu], STAT, "measured", f"over {self.window_s:.2f} s")


def start_measurement(source: Source) -> LoadCounters:
    """Take the first reading."""
    return read_counters(source.tree)


def finish_measurement(source: Source, first: LoadCounters | None) -> HostLoad:
    """Wait for the end of the window and take the second reading; without a first one, return why."""
    if first is None:
        return HostLoad(0, {}, {}, NOT_MEASURED if source.live else SINGLE_CAPTURE)
    time.sleep(max(0.0, first.at_s + WINDOW_S - time.monotonic()))
    return compute_load(first, read_counters(source.tree))


def read_counters(tree: FileTree) -> LoadCounters:
    """Read the current counters."""
    return LoadCounters(
        time.monotonic(), dict(_read_cpu_ticks(tree.read_text(STAT) or "")), dict(_read_memory_bytes(tree))
    )


def compute_load(first: LoadCounters, second: LoadCounters) -> HostLoad:
    """Compute the utilization between two readings."""
    window_s = second.at_s - first.at_s
    busy = {
        cpu: round(min(1.0, max(0.0, (busy - first.cpus[cpu][0]) / (ticks - first.cpus[cpu][1]))), 3)
        for cpu, (busy, ticks) in second.cpus.items()
        if cpu in first.cpus and ticks > first.cpus[cpu][1]
    }
    memory = {
        cache: (count - first.memory[cache]) / window_s
        for cache, count in second.memory.items()
        if window_s > 0 and count >= first.memory.get(cache, count + 1)
    }
    return HostLoad(window_s, busy, memory)


def _read_cpu_ticks(stat: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield busy and total ticks of each CPU.

    Source: proc_pid_stat(5), /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice; the last
    two are included in the first two.
    """
    for line in stat.splitlines():
        name, *ticks = line.split()
        if (
            name.startswith("cpu")
            and name[3:].isdecimal()
            and all(each.isdecimal() for each in ticks)
            and len(ticks) > 4
        ):
            spent = [int(each) for each in ticks[:8]]
            yield int(name[3:]), (sum(spent) - spent[3] - spent[4], sum(spent))


def _read_memory_bytes(tree: FileTree) -> Iterator[tuple[int, int]]:
    """Yield the bytes by id of the last-level cache, over all control groups; a group's counters include its subgroups.

    Source: Linux, Documentation/arch/x86/resctrl.rst.
    """
    if not tree.exists(f"{RESCTRL}/mon_data"):
        return
    bytes_by_node = dict[int, int]()
    groups = [
        RESCTRL,
        *(f"{RESCTRL}/{name}" for name in tree.list_directory(RESCTRL) if tree.exists(f"{RESCTRL}/{name}/schemata")),
    ]
    for group in groups:
        for name in tree.list_directory(f"{group}/mon_data"):
            count = tree.read_number(f"{group}/mon_data/{name}/mbm_total_bytes")
            if name.startswith("mon_L3_") and name[7:].isdecimal() and count is not None:
                bytes_by_node[int(name[7:])] = bytes_by_node.get(int(name[7:]), 0) + count
    yield from bytes_by_node.items()
