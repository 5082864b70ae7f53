"""Processes that hold user-space devices: /dev/vfio, /dev/uio."""

import re
from typing import NamedTuple

from nodrop.host import cpu_users
from nodrop.host.cpu_users import FIRST_PID_NAMESPACE
from nodrop.host.file_tree import FileTree

FILES_MAX = 50_000
"""Limit of open files to scan."""
_DEVICE = re.compile(r"/dev/(vfio/|uio)")


class DeviceUsers(NamedTuple):
    """Processes by the device files they hold open."""

    processes: dict[str, tuple[int, ...]]
    why: str
    """Why there may be more; empty: all processes were scanned."""

    def find_processes(self, files: tuple[str, ...]) -> tuple[int, ...]:
        """Return the processes that hold any of these files open."""
        return tuple(sorted({process for file in files for process in self.processes.get(file, ())}))


def find_device_users(tree: FileTree) -> DeviceUsers:
    """Return the users among all visible processes."""
    users: dict[str, list[int]] = {}
    hidden, left = "", FILES_MAX
    processes = [name for name in tree.list_directory("/proc") if name.isdigit()]
    for process in processes:
        directory = f"/proc/{process}/fd"
        files = tree.list_directory(directory)
        if not files and tree.failure_reason(directory) not in ("", "no such file"):
            hidden = tree.failure_reason(directory)
        left -= len(files)
        if left < 0:
            return DeviceUsers(_freeze(users), f"more than {FILES_MAX} open files")
        for file in files:
            target = tree.read_link(f"{directory}/{file}") or ""
            if _DEVICE.match(target):
                users.setdefault(target, []).append(int(process))
    if not tree.live and "1" not in processes:
        hidden = "processes are not in the capture"
    elif tree.live and tree.read_link("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
        hidden = hidden or "processes outside this container are not seen"
    return DeviceUsers(_freeze(users), hidden)


def name_process(tree: FileTree, process: int) -> str:
    """Return a label for a process, e.g. `VM bng`, `dpdk-testpmd (812)`."""
    return cpu_users.name_owner(tree, str(process), tree.read_text(f"/proc/{process}/comm") or "process")


def _freeze(users: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {file: tuple(processes) for file, processes in users.items()}
