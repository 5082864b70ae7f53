"""Users of CPUs, virtual machines and polling programs; processes that hold user-space devices."""

import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.host.file_tree import FileTree
from nodrop.system.cpu_sets import parse_cpu_list

TIME_LIMIT_S = 0.5
"""Limit for the scan of all threads of a busy host."""
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""Source: Linux, include/linux/proc_ns.h, PROC_PID_INIT_INO."""
_VCPU = re.compile(r"CPU \d+/(?:KVM|TCG|HVF)|fc_vcpu \d+|vcpu\d+|cloud-hyperviso")
_POLLING_THREAD = re.compile(r"(?:lcore-(?:worker|slave)-|vpp_wk_|pmd-?c?)\d+.*|vpp_main|dpdk-worker\d*|rte_.*worker.*")
_VM_PROGRAMS = re.compile(r"qemu-.*|kvm|firecracker|cloud-hyperviso.*|crosvm")
_NAME = re.compile(r"(?:^|\0)-name\0(?:guest=)?([^,\0]+)")
_STATUS_LINES = re.compile(rb"^(?:Name|Pid|Cpus_allowed_list|Cpus_allowed|VmSize):[^\n]*$", re.MULTILINE)
FILES_MAX = 50_000
"""Limit of open files to scan."""
_DEVICE = re.compile(r"/dev/(vfio/|uio)")


class CpuThread(NamedTuple):
    """A thread that occupies CPUs, with its owner."""

    owner: str
    cpus: tuple[int, ...]
    """CPUs that the thread may run on."""


class CpuUsers(NamedTuple):
    """Threads that occupy CPUs, and whether some may be missing."""

    threads: tuple[CpuThread, ...]
    hidden: str = ""
    """Why there may be more; empty: there are none."""


def find_cpu_users(tree: FileTree, isolated: frozenset[int]) -> CpuUsers:
    """Find vCPU threads, polling threads, and threads confined to isolated CPUs."""
    names = [name for name in tree.list_directory("/proc") if name.isdecimal()]
    if not names:
        return CpuUsers((), tree.failure_reason("/proc") or "no processes in the capture")
    threads, until = list[CpuThread](), time.monotonic() + TIME_LIMIT_S
    for pid in names:
        if time.monotonic() > until:
            return CpuUsers(tuple(threads), f"not all processes were looked at within {TIME_LIMIT_S:g} s")
        threads += _list_process_threads(tree, pid, isolated)
    return CpuUsers(tuple(threads), _explain_hidden(tree))


def _explain_hidden(tree: FileTree) -> str:
    namespace = tree.read_link("/proc/self/ns/pid")
    if namespace != FIRST_PID_NAMESPACE:
        return (
            "in a container: processes outside are not seen"
            if namespace
            else "processes: " + tree.failure_reason("/proc/self/ns/pid")
        )
    return "" if tree.exists("/proc/1/status") else "processes of others are hidden (hidepid)"


def _list_process_threads(tree: FileTree, pid: str, isolated: frozenset[int]) -> Iterator[CpuThread]:
    """Yield the threads of a process that occupy CPUs; kernel threads (which have no memory of their own) never do."""
    name = tree.read_text(f"/proc/{pid}/comm") or ""
    machine = bool(_VM_PROGRAMS.fullmatch(name))
    if not machine and not isolated and not _may_poll(tree, pid, name):
        return
    threads = [
        _read_status(tree, f"/proc/{pid}/task/{thread}/status") for thread in tree.list_directory(f"/proc/{pid}/task")
    ]
    has_vcpu_names = any(_VCPU.fullmatch(each.get("Name", "")) for each in threads)
    for status in threads:
        cpus, label = parse_cpu_list(status.get("Cpus_allowed_list", "")), status.get("Name", "")
        if not cpus or "VmSize" not in status:
            continue
        if machine:
            holds = not has_vcpu_names or bool(_VCPU.fullmatch(label))
        else:
            holds = bool(_POLLING_THREAD.fullmatch(label)) or isolated.issuperset(cpus)
        if holds:
            yield CpuThread(name_owner(tree, pid, name), cpus)


def _may_poll(tree: FileTree, pid: str, name: str) -> bool:
    """Return whether thread names indicate a DPDK or VPP program."""
    if not tree.exists(f"/proc/{pid}/task"):
        return False
    return any(
        _POLLING_THREAD.fullmatch(tree.read_text(f"/proc/{pid}/task/{thread}/comm") or "")
        for thread in tree.list_directory(f"/proc/{pid}/task")[:64]
    ) or bool(_POLLING_THREAD.fullmatch(name))


def _read_status(tree: FileTree, path: str) -> Mapping[str, str]:
    text = tree.read_text(path, reduce=lambda content: b"\n".join(_STATUS_LINES.findall(content))) or ""
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def name_owner(tree: FileTree, pid: str, name: str) -> str:
    """Return the name of a VM, otherwise program and process id."""
    text = (tree.read_bytes(f"/proc/{pid}/cmdline", reduce=_keep_vm_name) or b"").decode(errors="replace")
    match = _NAME.search(text)
    return f"VM {match[1]}" if match else f"{name} ({pid})"


def _keep_vm_name(content: bytes) -> bytes:
    """Reduce a command line to the VM's name: the rest may contain secrets."""
    match = re.search(rb"\0-name\0[^\0]*", content)
    return match[0] if match else b""


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
    return name_owner(tree, str(process), tree.read_text(f"/proc/{process}/comm") or "process")


def _freeze(users: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {file: tuple(processes) for file, processes in users.items()}
