"""CPU quotas of this process's control groups (cgroups(7), versions 1 and 2), and the time for which they throttled it.

Containers and pods have such quotas: `docker run --cpus 0.6`, a limit of 600 mCPU. Every group from the process's own
to the root of the mounted hierarchy may have one. Inside a container that sees only its own group, that is the root.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

PROC = Path("/proc")
ROOT = Path("/")
RUN_CPUS = 2
"""CPUs that a run needs: one for the tester, one for the SUT."""


class CpuQuota(NamedTuple):
    """The smallest quota of all groups."""

    cpu_count: float
    """CPU time per time, in CPUs."""
    group: str
    """Path of the group with this quota in its hierarchy."""

    def describe_shortage(self) -> str:
        """Return the quota and the need of a run; empty if it allows one."""
        if self.cpu_count >= RUN_CPUS:
            return ""
        return f"the CPU quota of control group {self.group} allows {self.cpu_count:g} CPUs, and a run needs {RUN_CPUS}"


class _Group(NamedTuple):
    directory: Path
    path: str
    """In its hierarchy."""
    is_unified: bool
    """Version 2."""


class CpuQuotaReader:
    """Reads the quotas and the throttled time of the groups of which this process was a member at the creation."""

    def __init__(self, proc: Path = PROC, root: Path = ROOT) -> None:
        self._groups = tuple(_list_groups(proc, root))

    def read_quota(self) -> CpuQuota | None:
        """Return the smallest quota; None without any."""
        counts = [(_read_cpu_count(group), group.path) for group in self._groups]
        quotas = [CpuQuota(cpu_count, path) for cpu_count, path in counts if cpu_count is not None]
        return min(quotas, default=None, key=lambda quota: quota.cpu_count)

    def read_throttled_s(self) -> float:
        """Return the time for which quotas kept groups off a CPU since their creation, in CPU seconds."""
        return sum(map(_read_throttled_s, self._groups))


def _list_groups(proc: Path, root: Path) -> Iterator[_Group]:
    """Yield the process's groups of the controller `cpu`, from its own to the root of each hierarchy."""
    own = dict(_list_own_paths(proc))
    for is_unified, mount_root, mount_point in _list_hierarchies(proc):
        path = own.get(is_unified)
        if path is None:
            continue
        base = root / mount_point.lstrip("/")
        relative = PurePosixPath(path).relative_to(mount_root) if _is_below(path, mount_root) else PurePosixPath(".")
        # A container without a namespace for groups has the path of the host, and only its own group mounted.
        relative = relative if (base / relative).is_dir() else PurePosixPath(".")
        for each in (relative, *relative.parents):
            yield _Group(base / each, f"/{each}" if str(each) != "." else "/", is_unified)


def _list_own_paths(proc: Path) -> Iterator[tuple[bool, str]]:
    """Yield whether the hierarchy is unified, and the process's path in it (cgroups(7), /proc/pid/cgroup)."""
    for line in _read(proc / "self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(",") or (number == "0" and not controllers):
            yield not controllers, path


def _list_hierarchies(proc: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield whether a hierarchy is unified, its root as mounted, and the mount point (proc_pid_mountinfo(5))."""
    for line in _read(proc / "self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        kind_name, *_, options = kind.split(" ")
        if kind_name == "cgroup2" or (kind_name == "cgroup" and "cpu" in options.split(",")):
            _, _, _, mount_root, mount_point, *_ = fields.split(" ")
            yield kind_name == "cgroup2", mount_root, mount_point


def _is_below(path: str, mount_root: str) -> bool:
    return PurePosixPath(path).is_relative_to(mount_root)


def _read_cpu_count(group: _Group) -> float | None:
    """Return the quota of a group in CPUs; None without one."""
    if group.is_unified:
        quota, _, period = _read(group.directory / "cpu.max").strip().partition(" ")
    else:
        quota = _read(group.directory / "cpu.cfs_quota_us").strip()
        period = _read(group.directory / "cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _read_throttled_s(group: _Group) -> float:
    """Return the throttled time of a group in CPU seconds."""
    name, unit_s = ("throttled_usec", 1e-6) if group.is_unified else ("throttled_time", 1e-9)
    for line in _read(group.directory / "cpu.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value) * unit_s
    return 0.0


def _read(path: Path) -> str:
    """Return the text of a file; empty if this system has no such file or does not let it be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
