"""A guest that boots in seconds and reports its hardware: a kernel, one program, no disk."""

import gzip
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as xml

ROOT = Path(__file__).parent.parent
KERNELS = (ROOT / "target" / "guest" / "boot", Path("/boot"))
"""The directory into which .ci/run unpacks a kernel, and the directory of the machine's kernels."""
BOOT_MAX_S = 120
QEMU_CONF = """stdio_handler = "file"
security_driver = "none"
user = "root"
group = "root"
cgroup_controllers = []
"""
INIT = """#!/bin/busybox sh
bb=/bin/busybox
$bb mkdir -p /proc /sys
$bb mount -t proc proc /proc
$bb mount -t sysfs sysfs /sys
cd /sys/devices/system
for cpu in cpu/cpu[0-9]*; do
  echo "GUEST ${cpu##*/} package=$($bb cat $cpu/topology/physical_package_id)"
done
for node in node/node[0-9]*; do
  echo "GUEST ${node##*/} cpus=$($bb cat $node/cpulist) distance=$($bb cat $node/distance | $bb tr ' ' ,)"
done
for device in /sys/bus/pci/devices/*; do
  echo "GUEST pci class=$($bb cat $device/class) node=$($bb cat $device/numa_node)"
done
echo "GUEST done"
while :; do $bb sleep 1000; done
"""
PREPARE = """set -e
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
mkdir -p "$1"
mount -t hugetlbfs -o pagesize=2M none "$1"
shift
exec "$@"
"""
"""Run in network and mount namespaces of the guest's own."""


class Guest(NamedTuple):
    """A running guest."""

    pid: int
    """Process id of QEMU."""
    seen: tuple[str, ...]
    """The guest's output."""


def kernel() -> Path | None:
    """Return the newest kernel to boot."""
    named = os.environ.get("NODROP_GUEST_KERNEL")
    result = [Path(named)] if named else [each for where in KERNELS for each in sorted(where.glob("vmlinuz-*"))]
    return result[-1] if result else None


@contextmanager
def boot_guest(domain: str, kernel: Path, busybox: Path, scratch: Path) -> Iterator[Guest]:
    """Boot the guest of a domain with libvirt's code, without a daemon; stop it at the end of the block.

    Added to the domain: the boot files, and the console.
    """
    console, file = scratch / "console", scratch / "domain.xml"
    (scratch / "libvirt" / "etc").mkdir(parents=True)
    pages = scratch / "pages"
    conf = f'{QEMU_CONF}hugetlbfs_mount = "{pages}"\n'
    (scratch / "libvirt" / "etc" / "qemu.conf").write_text(conf)
    (scratch / "initrd").write_bytes(_initrd(busybox.read_bytes()))
    file.write_text(_add_boot_files(domain, kernel, scratch / "initrd", console))
    runner = ["virt-qemu-run", "-v", "-r", str(scratch / "libvirt"), str(file)]
    command = ["unshare", "--net", "--mount", "sh", "-c", PREPARE, "prepare", str(pages), *runner]
    with (scratch / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        seen = _wait(process, console, scratch / "log")
        yield Guest(_child(process.pid), seen)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", console: Path, log: Path) -> tuple[str, ...]:
    end = time.monotonic() + BOOT_MAX_S
    while time.monotonic() < end:
        text = console.read_text(errors="replace") if console.exists() else ""
        if "GUEST done" in text:
            return tuple(re.findall(r"GUEST (.*?)\r?$", text, re.MULTILINE))
        if process.poll() is not None:
            raise AssertionError(f"the guest ended: {log.read_text()}")
        time.sleep(0.2)
    raise AssertionError(f"no word of the guest in {BOOT_MAX_S} s: {log.read_text()} {console.read_text()[-2000:]}")


def _child(pid: int) -> int:
    """Return QEMU's process id, whose parent is the runner's process or the first process."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        words = each.read_bytes().split(b"\0")
        if (
            b"qemu-system" in words[0]
            and each.parent.joinpath("ns/net").stat().st_ino == Path(f"/proc/{pid}/ns/net").stat().st_ino
        ):
            return int(each.parent.name)
    raise AssertionError("no process of QEMU")


def _add_boot_files(domain: str, kernel: Path, initrd: Path, console: Path) -> str:
    root = xml.fromstring(domain)
    system, devices = root.find("os"), root.find("devices")
    assert system is not None and devices is not None
    for name, value in (("kernel", kernel), ("initrd", initrd), ("cmdline", "console=ttyS0 quiet panic=-1")):
        xml.SubElement(system, name).text = str(value)
    devices.remove(devices.find("console"))  # type: ignore[arg-type]
    serial = xml.SubElement(devices, "serial", type="file")
    xml.SubElement(serial, "source", path=str(console))
    return xml.tostring(root, encoding="unicode")


def _initrd(busybox: bytes) -> bytes:
    """Return a cpio archive as the kernel unpacks it. Source: Linux, driver-api/early-userspace/buffer-format.rst."""
    parts = [
        _entry("bin", stat.S_IFDIR | 0o755),
        _entry("dev", stat.S_IFDIR | 0o755),
        _entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        _entry("bin/busybox", stat.S_IFREG | 0o755, busybox),
        _entry("init", stat.S_IFREG | 0o755, INIT.encode()),
        _entry("TRAILER!!!", 0),
    ]
    return gzip.compress(b"".join(parts), 1)


def _entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % each for each in fields) + name.encode() + b"\0"
    return _pad(head) + _pad(data)


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
