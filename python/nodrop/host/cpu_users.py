"""Who runs on which CPUs: virtual machines, and programs that poll."""

import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.host.file_tree import Tree
from nodrop.system.cpu_sets import listed

TIME_LIMIT_S = 0.5
"""To look at all threads of a busy host."""
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""Source: Linux, include/linux/proc_ns.h, PROC_PID_INIT_INO."""
_VCPU = re.compile(r"CPU \d+/(?:KVM|TCG|HVF)|fc_vcpu \d+|vcpu\d+|cloud-hyperviso")
_POLLS = re.compile(r"(?:lcore-(?:worker|slave)-|vpp_wk_|pmd-?c?)\d+.*|vpp_main|dpdk-worker\d*|rte_.*worker.*")
_MACHINES = re.compile(r"qemu-.*|kvm|firecracker|cloud-hyperviso.*|crosvm")
_NAME = re.compile(r"(?:^|\0)-name\0(?:guest=)?([^,\0]+)")
_SYSTEM = re.compile(rb"^(?:Name|Pid|Cpus_allowed_list|Cpus_allowed|VmSize):[^\n]*$", re.MULTILINE)


class Thread(NamedTuple):
    """A thread that has CPUs, and whose it is."""

    owner: str
    cpus: tuple[int, ...]
    """It may run on."""


class Seen(NamedTuple):
    """Threads that occupy CPUs, and what may have been missed."""

    threads: tuple[Thread, ...]
    hidden: str = ""
    """Why there may be others; empty: there are none."""


def look(tree: Tree, isolated: frozenset[int]) -> Seen:
    """Virtual CPUs, polling threads, and whatever a program runs on isolated CPUs only."""
    names = [name for name in tree.names("/proc") if name.isdecimal()]
    if not names:
        return Seen((), tree.why("/proc") or "no processes in the capture")
    found, until = list[Thread](), time.monotonic() + TIME_LIMIT_S
    for pid in names:
        if time.monotonic() > until:
            return Seen(tuple(found), f"not all processes were looked at within {TIME_LIMIT_S:g} s")
        found += _of_process(tree, pid, isolated)
    return Seen(tuple(found), _hidden(tree))


def _hidden(tree: Tree) -> str:
    namespace = tree.link("/proc/self/ns/pid")
    if namespace != FIRST_PID_NAMESPACE:
        return (
            "in a container: processes outside are not seen"
            if namespace
            else "processes: " + tree.why("/proc/self/ns/pid")
        )
    return "" if tree.exists("/proc/1/status") else "processes of others are hidden (hidepid)"


def _of_process(tree: Tree, pid: str, isolated: frozenset[int]) -> Iterator[Thread]:
    """Threads of a process that hold CPUs; kernel threads, which have no memory of their own, never do."""
    name = tree.text(f"/proc/{pid}/comm") or ""
    machine = bool(_MACHINES.fullmatch(name))
    if not machine and not isolated and not _may_poll(tree, pid, name):
        return
    threads = [_status(tree, f"/proc/{pid}/task/{thread}/status") for thread in tree.names(f"/proc/{pid}/task")]
    tells_vcpus = any(_VCPU.fullmatch(each.get("Name", "")) for each in threads)
    for status in threads:
        cpus, label = listed(status.get("Cpus_allowed_list", "")), status.get("Name", "")
        if not cpus or "VmSize" not in status:
            continue
        if machine:
            holds = not tells_vcpus or bool(_VCPU.fullmatch(label))
        else:
            holds = bool(_POLLS.fullmatch(label)) or isolated.issuperset(cpus)
        if holds:
            yield Thread(owner(tree, pid, name), cpus)


def _may_poll(tree: Tree, pid: str, name: str) -> bool:
    """A program of DPDK or VPP by the names of its threads."""
    if not tree.exists(f"/proc/{pid}/task"):
        return False
    return any(
        _POLLS.fullmatch(tree.text(f"/proc/{pid}/task/{thread}/comm") or "")
        for thread in tree.names(f"/proc/{pid}/task")[:64]
    ) or bool(_POLLS.fullmatch(name))


def _status(tree: Tree, path: str) -> Mapping[str, str]:
    text = tree.text(path, keep=lambda held: b"\n".join(_SYSTEM.findall(held))) or ""
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def owner(tree: Tree, pid: str, name: str) -> str:
    """A VM by its name, anything else by its program and process."""
    text = (tree.raw(f"/proc/{pid}/cmdline", keep=_name_only) or b"").decode(errors="replace")
    found = _NAME.search(text)
    return f"VM {found[1]}" if found else f"{name} ({pid})"


def _name_only(held: bytes) -> bytes:
    """Of a command line the VM's name: the rest may hold secrets."""
    found = re.search(rb"\0-name\0[^\0]*", held)
    return found[0] if found else b""
