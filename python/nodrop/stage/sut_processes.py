"""The processes of an external SUT on this machine, named by their pids or by their control groups."""

from collections.abc import Iterator
from pathlib import Path

from nodrop.errors import StageError
from nodrop.model.facts import SutProcess
from nodrop.model.lab_plan import LabPlan

PROC = Path("/proc")
CGROUP_ROOT = Path("/sys/fs/cgroup")
CGROUP_CONTROLLER = "cpu"
"""With cgroups v1, the hierarchy that paths are relative to (cgroups(7))."""


def find_sut_processes(plan: LabPlan, proc: Path = PROC, cgroup_root: Path = CGROUP_ROOT) -> tuple[SutProcess, ...]:
    """Return the processes that the plan names, each once. Raises StageError for a pid or group without any."""
    named = [(pid, _read_name(pid, proc)) for pid in plan.sut_pids]
    for pid, name in named:
        if name is None:
            raise StageError(
                f"sut_pids: no process {pid} runs on this machine; 'pgrep -a' lists processes with their pids"
            )
    for group in plan.sut_cgroups:
        pids = list(_list_members(_find_group(group, cgroup_root)))
        if not pids:
            raise StageError(f"sut_cgroups: {group} has no processes; start the SUT, or name the group that it runs in")
        named += [(pid, _read_name(pid, proc)) for pid in pids]
    return tuple(SutProcess(name=f"{name} ({pid})", pid=pid) for pid, name in dict(named).items() if name is not None)


def _find_group(group: str, root: Path) -> Path:
    """Return the directory of a group: a path as in /proc/pid/cgroup, or of the directory. Raises StageError."""
    relative = group.removeprefix(str(root)).lstrip("/")
    for base in (root, root / CGROUP_CONTROLLER):
        directory = base / relative
        if relative and (directory / "cgroup.procs").is_file():
            return directory
    raise StageError(
        f"sut_cgroups: no control group {group} is below {root}; /proc/<pid>/cgroup has the path of a process's group, "
        "e.g. /system.slice/openvswitch-switch.service"
    )


def _list_members(directory: Path) -> Iterator[int]:
    """Yield the processes of a group and of the groups below it."""
    for file in sorted(directory.rglob("cgroup.procs")):
        try:
            yield from map(int, file.read_text(encoding="utf-8").split())
        except OSError:  # the group was removed, or is a threaded one (cgroup-v2: EOPNOTSUPP)
            continue


def _read_name(pid: int, proc: Path) -> str | None:
    """Return a process's name (proc_pid_comm(5)); None if no process has this pid."""
    try:
        return (proc / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
