"""The loopback VM as Nova starts one, without KVM: its image, a config drive, interfaces at taps of a test."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nodrop.errors import ImageError
from nodrop.system.native_binaries import find_binary
from nodrop.vmimage.build import Recipe
from nodrop.vmimage.packages import Packages

BOOT_MAX_S = 120
PACKAGES = os.environ.get("NODROP_PACKAGES")
"""A directory with Debian packages, for machines without a network."""
MACS = ("fa:16:3e:00:0a:01", "fa:16:3e:00:0a:02")
"""Names of a VM's interfaces, left and right."""


class LoopbackVm(NamedTuple):
    """A running VM."""

    process: "subprocess.Popen[bytes]"
    console: Path
    serial: Path
    """Socket of its serial port."""
    started_s: float

    def output(self) -> str:
        """Return all output of its serial console."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def wait_for(self, pattern: str) -> "re.Match[str]":
        """Wait for this output, and return it."""
        end = time.monotonic() + BOOT_MAX_S
        while time.monotonic() < end and self.process.poll() is None:
            if result := re.search(pattern, self.output()):
                return result
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} is not in the output: {self.output()[-3000:]}")

    def type(self, *lines: str) -> None:
        """Type on its serial console."""
        with socket.socket(socket.AF_UNIX) as port:
            port.connect(str(self.serial))
            for line in lines:
                port.sendall(line.encode() + b"\n")
                time.sleep(1)  # A shell that is starting drops earlier input.


@contextmanager
def run_loopback_vm(
    image: Path,
    scratch: Path,
    inside: Sequence[str],
    taps: Mapping[str, str],
    *,
    config_drive: Path | None,
    firmware: Sequence[str] = (),
) -> Iterator[LoopbackVm]:
    """Run a VM with interfaces, by MAC address, at taps that `inside` enters; stop it at the end of the block."""
    console, serial = scratch / "console", scratch / "serial"
    devices = []
    for number, (mac, tap) in enumerate(taps.items()):
        devices += ["-netdev", f"tap,id=n{number},ifname={tap},script=no,downscript=no"]
        devices += ["-device", f"virtio-net-pci,netdev=n{number},mac={mac}"]
    if config_drive:
        kind = "cdrom" if config_drive.suffix == ".iso" else "disk"
        bus = "ide" if kind == "cdrom" else "virtio"
        devices += ["-drive", f"file={config_drive},format=raw,media={kind},if={bus},readonly=on"]
    command = [
        *(*inside, "qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-nodefaults", "-display", "none", *firmware),
        *(
            "-chardev",
            f"socket,id=serial,path={serial},server=on,wait=off,logfile={console}",
            "-serial",
            "chardev:serial",
        ),
        *("-no-reboot", "-snapshot", "-drive", f"file={image},if=virtio", *devices),
    ]
    with subprocess.Popen(command) as process:
        try:
            yield LoopbackVm(process, console, serial, time.monotonic())
        finally:
            process.kill()


def config_drive(scratch: Path, user_data: str, kind: str) -> Path:
    """Build a config drive as Nova does. Source: nova, virt/configdrive.py."""
    tree = scratch / "drive"
    (tree / "openstack" / "latest").mkdir(parents=True)
    (tree / "openstack" / "latest" / "user_data").write_text(user_data)
    if kind == "iso9660":
        file = scratch / "drive.iso"
        options = ["-ldots", "-allow-lowercase", "-allow-multidot", "-l", "-quiet", "-J", "-r", "-V", "config-2"]
        subprocess.run(["genisoimage", "-o", file, *options, tree], check=True, capture_output=True)
        return file
    file = scratch / "drive.vfat"
    with file.open("wb") as disk:
        disk.truncate(4 * 2**20)
    geometry = ["-t", "4", "-h", "64", "-n", "32"]
    subprocess.run(["mformat", "-i", file, *geometry, "-v", "config-2", "::"], check=True)
    subprocess.run(["mcopy", "-s", "-i", file, tree / "openstack", "::"], check=True)
    return file


def make_recipe() -> Recipe:
    """Return the recipe of the image."""
    return Recipe(Packages(Path(PACKAGES) if PACKAGES else None), find_binary("nodrop-vnf", ImageError))


def cloud_config(keys: Mapping[str, str]) -> str:
    """Return user data that has cloud-init write /etc/nfvbenchvm.conf."""
    lines = "".join(f"      {key}={value}\n" for key, value in keys.items())
    return f"#cloud-config\nwrite_files:\n  - path: /etc/nfvbenchvm.conf\n    content: |\n{lines}"
