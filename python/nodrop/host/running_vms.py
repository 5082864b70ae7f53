"""Running VMs: threads, memory and devices of QEMU processes, from procfs."""

import re
from collections.abc import Iterator

from nodrop.errors import ConfigError
from nodrop.host.file_tree import FileTree
from nodrop.model.deployment import RunningVm, VmMemory, VmThread
from nodrop.system.cpu_sets import parse_cpu_list

VCPU = re.compile(r"CPU (\d+)/(KVM|TCG|HVF)")
"""Thread names of QEMU with debug-threads=on, which libvirt always sets."""
NAME = re.compile(r"(?:guest=)?([^,]*)")
GUEST_MIN_BYTES = 32 * 2**20
"""Normal memory in smaller mappings belongs to QEMU and its libraries."""
LARGE_MIN_BYTES = 2**21
PAGES = re.compile(r"N(\d+)=(\d+)")
PAGE_SIZE = re.compile(r"kernelpagesize_kB=(\d+)")
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ")


def read_running_vm(tree: FileTree, vm: str) -> RunningVm:
    """Read a VM by name or process id.

    Raises:
        ConfigError: No VM or several have this name, or the threads do not name their vCPUs.
    """
    pid = int(vm) if vm.isascii() and vm.isdigit() else _find_pid(tree, vm)
    threads = tuple(_list_threads(tree, pid))
    if not threads:
        raise ConfigError(
            f"process {pid}: {tree.failure_reason(f'/proc/{pid}/task') or 'it has no threads'}; is the VM running?"
        )
    vcpus = {int(match[1]): each for each in threads if (match := VCPU.fullmatch(each.name))}
    if not vcpus:
        raise ConfigError(
            f"process {pid}: no thread is named as a vCPU (`CPU 0/KVM`); start QEMU with "
            "-name NAME,debug-threads=on, as libvirt does"
        )
    memory, memory_why = _read_memory(tree, pid)
    devices, devices_why = _read_devices(tree, pid)
    return RunningVm(
        pid=pid,
        name=_read_vm_name(tree, pid) or "",
        vcpus=vcpus,
        others=tuple(each for each in threads if not VCPU.fullmatch(each.name)),
        memory=memory,
        memory_why=memory_why,
        devices=devices,
        devices_why=devices_why,
    )


def _find_pid(tree: FileTree, name: str) -> int:
    names_by_pid = {
        int(each): _read_vm_name(tree, int(each))
        for each in tree.list_directory("/proc")
        if each.isascii() and each.isdigit()
    }
    pids = [pid for pid, each in names_by_pid.items() if each == name]
    if len(pids) == 1:
        return pids[0]
    running = ", ".join(sorted({each for each in names_by_pid.values() if each})) or "none"
    matches_text = (
        f"several processes have this name: {', '.join(map(str, pids))}"
        if pids
        else f"not running here; running VMs: {running}"
    )
    raise ConfigError(f"VM {name!r}: {matches_text}; pass a process id")


def _read_vm_name(tree: FileTree, pid: int) -> str | None:
    """Return the VM's name from QEMU's arguments; None: not QEMU."""
    words = (tree.read_text(f"/proc/{pid}/cmdline") or "").split("\0")
    if "qemu" not in words[0] or "-name" not in words[:-1]:
        return None
    match = NAME.match(words[words.index("-name") + 1])
    return match[1] if match else None


def _list_threads(tree: FileTree, pid: int) -> Iterator[VmThread]:
    for each in tree.list_directory(f"/proc/{pid}/task"):
        directory = f"/proc/{pid}/task/{each}"
        status = tree.read_text(f"{directory}/status") or ""
        match = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE)
        if each.isascii() and each.isdigit() and status:
            cpus = parse_cpu_list(match[1]) if match else None
            yield VmThread(id=int(each), name=tree.read_text(f"{directory}/comm") or "", cpus=cpus)


def _read_memory(tree: FileTree, pid: int) -> tuple[tuple[VmMemory, ...], str]:
    maps, numa_maps = tree.read_text(f"/proc/{pid}/maps"), f"/proc/{pid}/numa_maps"
    pages = tree.read_text(numa_maps)
    if maps is None or pages is None:
        return (), tree.failure_reason(numa_maps) or tree.failure_reason(f"/proc/{pid}/maps")
    lengths = {match[1]: int(match[2], 16) - int(match[1], 16) for match in MAPPING.finditer(maps)}
    bytes_by_node: dict[tuple[int, int], int] = {}
    for line in pages.splitlines():
        size = PAGE_SIZE.search(line)
        page = int(size[1]) * 1024 if size else 0
        length = lengths.get(line.partition(" ")[0].lstrip("0"), 0)
        if page >= LARGE_MIN_BYTES or (page and length >= GUEST_MIN_BYTES and _is_guest_memory(line)):
            for node, count in PAGES.findall(line):
                bytes_by_node[int(node), page] = bytes_by_node.get((int(node), page), 0) + int(count) * page
    memory = (
        VmMemory(node=node, page_bytes=page, size_bytes=size) for (node, page), size in sorted(bytes_by_node.items())
    )
    return tuple(memory), ""


def _is_guest_memory(line: str) -> bool:
    return "file=" not in line or "file=/memfd:" in line


def _read_devices(tree: FileTree, pid: int) -> tuple[tuple[str, ...], str]:
    directory = f"/proc/{pid}/fd"
    numbers = tree.list_directory(directory)
    if not numbers:
        return (), tree.failure_reason(directory) or "it has no open files"
    links = (tree.read_link(f"{directory}/{each}") or "" for each in numbers)
    groups = sorted({each.rpartition("/")[2] for each in links if re.fullmatch(r"/dev/vfio/\d+", each)})
    devices = (name for group in groups for name in tree.list_directory(f"/sys/kernel/iommu_groups/{group}/devices"))
    return tuple(devices), ""
