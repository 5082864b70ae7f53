"""A disk that boots by BIOS and UEFI: one FAT file system with kernel, initrd and two loaders.

SYSLINUX boots it by BIOS, systemd-boot by UEFI; both load the same kernel. mtools and syslinux, which write the disk,
run from their packages: nothing has to be installed, and the same packages write the same bytes.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nodrop.errors import ImageError
from nodrop.vmimage.packages import Deb

MIB = 2**20
OVERHEAD_BYTES = MIB
"""Space for the file system itself and SYSLINUX."""
SERIAL = "4e4f4452"
LABEL = "NODROP"
ENTRY = "loader/entries/nodrop.conf"
MEDIUM = "0xf8"
"""FAT media descriptor of a fixed disk; with others Glance mistakes the file system for a broken partition table."""
TIMEOUT_S = 120


def build_loader_files(systemd_boot: bytes, command_line: str) -> dict[str, bytes]:
    """Return the files of the two loaders, for a kernel `vmlinuz` with `initrd.gz`."""
    syslinux = f"DEFAULT nodrop\nLABEL nodrop\n KERNEL /vmlinuz\n INITRD /initrd.gz\n APPEND {command_line}\n"
    entry = f"title nodrop\nlinux /vmlinuz\ninitrd /initrd.gz\noptions {command_line}\n"
    return {
        "syslinux.cfg": syslinux.encode(),
        "EFI/BOOT/BOOTX64.EFI": systemd_boot,
        "loader/loader.conf": b"timeout 0\n",
        ENTRY: entry.encode(),
    }


def write_disk(files: Mapping[str, bytes], mtools: Deb, syslinux: Deb, epoch_s: int) -> bytes:
    """Return the bytes of a disk with these files.

    Raises: ImageError if a program of the packages does not run here.
    """
    with tempfile.TemporaryDirectory(prefix="nodrop-vm-image-") as scratch:
        return _DiskWriter(Path(scratch), mtools, syslinux, epoch_s).write(files)


class _DiskWriter:
    """Writes one disk in a scratch directory."""

    def __init__(self, scratch: Path, mtools: Deb, syslinux: Deb, epoch_s: int) -> None:
        self._scratch, self._epoch_s = scratch, epoch_s
        self._bin = scratch / "bin"
        self._bin.mkdir()
        for name, content in {
            "mtools": mtools.file("usr/bin/mtools"),
            "syslinux": syslinux.file("usr/bin/syslinux"),
        }.items():
            (self._bin / name).write_bytes(content)
            (self._bin / name).chmod(0o755)
        for name in ("mcopy", "mformat", "mmd", "mattrib", "mmove"):
            (self._bin / name).symlink_to("mtools")
        self._disk = scratch / "disk"

    def write(self, files: Mapping[str, bytes]) -> bytes:
        size = sum(-(-len(content) // 4096) * 4096 for content in files.values()) + OVERHEAD_BYTES
        mebibytes = -(-size // MIB)
        with self._disk.open("wb") as file:
            file.truncate(mebibytes * MIB)
        geometry = ["-t", str(mebibytes), "-h", "64", "-n", "32"]  # cylinders of 1 MiB
        self._run("mformat", "-i", "disk", *geometry, "-N", SERIAL, "-v", LABEL, "-c", "8", "-m", MEDIUM, "::")
        for directory in sorted({str(parent) for path in files for parent in Path(path).parents} - {"."}):
            self._run("mmd", "-i", "disk", f"::{directory}")
        for path, content in files.items():
            source = self._scratch / "file"
            source.write_bytes(content)
            os.utime(source, (self._epoch_s, self._epoch_s))
            self._run("mcopy", "-m", "-i", "disk", "file", f"::{path}")
        self._run("syslinux", "--install", "disk")
        return self._disk.read_bytes()

    def _run(self, program: str, *arguments: str) -> None:
        surroundings = {
            "PATH": f"{self._bin}:/usr/bin:/bin",
            "SOURCE_DATE_EPOCH": str(self._epoch_s),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            "MTOOLSRC": "/dev/null",
            "MTOOLS_SKIP_CHECK": "1",
        }
        try:
            done = subprocess.run(
                [self._bin / program, *arguments],
                capture_output=True, encoding="utf-8", errors="replace", cwd=self._scratch, env=surroundings,
                timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except OSError as error:
            raise ImageError(
                f"{program} from Debian's package does not run here ({error.strerror}); "
                "build on Linux for x86-64 with a glibc no older than the packages'"
            ) from error
        if done.returncode:
            raise ImageError(f"{program} {' '.join(arguments)} failed: {(done.stderr or done.stdout).strip()}")
