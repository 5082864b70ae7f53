"""The image of the loopback VM: READ THIS FIRST.

    packages of Debian ──┬─► kernel, modules, busybox ─┐
    nodrop-vnf ──────────┼─────────────────────────────┼─► file system in memory ─┬─► disk ─► qcow2 or raw
    guest/ (its scripts) ┘                             └─ two loaders ────────────┘

The guest has no disk to write to: all of it is unpacked into memory when it boots.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from nodrop import __version__
from nodrop.errors import ImageError
from nodrop.vmimage.disk import build_loader_files, write_disk
from nodrop.vmimage.initrd import InitrdEntry, build_archive, find_libraries, link_entry, make_executable_entry
from nodrop.vmimage.manifest import FileUsed, Manifest, describe_package, read_copyright
from nodrop.vmimage.modules import GUEST_MODULES, KernelModules
from nodrop.vmimage.packages import Deb, Packages, compute_sha256
from nodrop.vmimage.testpmd import MODULES as TESTPMD_MODULES
from nodrop.vmimage.testpmd import collect_testpmd

KERNEL = "linux-image-cloud-amd64"
PACKAGES = ("busybox-static", "mtools", "syslinux", "systemd-boot-efi")
EPOCH_S = 315532800
"""1980-01-01, the first date of FAT."""
COMMAND_LINE = (
    # What it says is on the serial console, where Nova's console log has it, and on the screen.
    "console=tty0 console=ttyS0,115200 quiet loglevel=3 panic=1 net.ifnames=0 "
    # It forwards frames of a test and holds nothing secret: the path under test shall not wait for it.
    "mitigations=off"
)
SCRIPTS = ("known", "user-data", "manage", "forward", "status")
"""Scripts called by `init`, in lib/nodrop of the guest."""
EXTRA_FORWARDERS = ("testpmd",)
"""Forwarders packaged by Debian, in addition to nodrop-vnf; VPP is not packaged."""
TIMEOUT_S = 300


class Recipe(NamedTuple):
    """Inputs of an image."""

    packages: Packages
    vnf: Path
    """nodrop-vnf, for x86-64."""
    kernel: str = KERNEL
    """Kernel package, or one that depends on it."""
    extra_forwarders: frozenset[str] = frozenset()
    """Forwarders in addition to nodrop-vnf: names in EXTRA_FORWARDERS."""
    epoch_s: int = EPOCH_S


class VmImage(NamedTuple):
    """A built image."""

    disk: bytes
    manifest: Manifest
    """Of the raw disk."""


def build_image(recipe: Recipe, on_progress: Callable[[str], None] = lambda _: None) -> VmImage:
    """Build an image; equal recipes produce identical bytes. Raises: ImageError if something is missing."""
    shared = find_libraries(recipe.vnf)
    on_progress("packages of Debian")
    recipe.packages.prepare((recipe.kernel, *PACKAGES))
    kernel = _find_kernel(recipe)
    busybox, mtools, syslinux, boot = (recipe.packages.find(name) for name in PACKAGES)
    added, added_from = collect_testpmd(recipe.packages) if "testpmd" in recipe.extra_forwarders else ({}, ())
    version, vmlinuz, modules = _read_kernel_files(kernel, GUEST_MODULES + (TESTPMD_MODULES if added else ()))
    on_progress("file system in memory")
    entries = {
        **added,
        "bin/busybox": make_executable_entry(busybox.file("bin/busybox")),
        "bin/nodrop-vnf": make_executable_entry(recipe.vnf.read_bytes()),
        **{path.lstrip("/"): make_executable_entry(content) for path, content in shared.items()},
        **{f"lib/modules/{version}/{path}": InitrdEntry(content) for path, content in modules.items()},
        **_list_scripts(),
        "sbin": link_entry("bin"),
        "etc/nodrop-vm": InitrdEntry(f"nodrop {__version__}\n".encode()),
    }
    debs = (kernel, busybox, boot, syslinux, mtools, *added_from)
    on_progress("disk")
    files = {
        "vmlinuz": vmlinuz,
        "initrd.gz": build_archive(entries, recipe.epoch_s),
        **build_loader_files(boot.file("usr/lib/systemd/boot/efi/systemd-bootx64.efi"), COMMAND_LINE),
        **{f"licences/{deb.source.split()[0]}.txt": read_copyright(deb) for deb in debs},
    }
    content = write_disk(files, mtools, syslinux, recipe.epoch_s)
    local_files = {str(recipe.vnf): recipe.vnf.read_bytes(), **shared}
    return VmImage(
        content,
        Manifest(
            nodrop=__version__,
            format="raw",
            bytes=len(content),
            sha256=compute_sha256(content),
            kernel=version,
            command_line=COMMAND_LINE,
            built_at_epoch_s=recipe.epoch_s,
            forwarders=("vnf-l2", "vnf-l3", "vnf-bras", *sorted(recipe.extra_forwarders)),
            packages=tuple(describe_package(deb) for deb in debs),
            vnf=tuple(FileUsed(path=path, sha256=compute_sha256(each)) for path, each in local_files.items()),
            modules=tuple(Path(path).stem for path in modules if path.endswith(".ko")),
        ),
    )


def _find_kernel(recipe: Recipe) -> Deb:
    """Return the package with the kernel itself, resolving a metapackage."""
    named = recipe.packages.find(recipe.kernel)
    if named.name.startswith("linux-image-") and "linux-image-" in named.fields.get("Depends", ""):
        real = next(each for each in recipe.packages.dependencies(named) if each.startswith("linux-image-"))
        return recipe.packages.find(real)
    return named


def _read_kernel_files(kernel: Deb, names: tuple[str, ...]) -> tuple[str, bytes, dict[str, bytes]]:
    """Return version, kernel image, and the modules for the guest."""
    files = kernel.files(lambda path: path.startswith("boot/vmlinuz-") or "lib/modules/" in path)
    image = next((path for path in files if path.startswith("boot/vmlinuz-")), None)
    if image is None:
        raise ImageError(f"{kernel.path.name}: this package contains no kernel; select another one with --kernel")
    version = image.removeprefix("boot/vmlinuz-")
    below = f"lib/modules/{version}/"
    modules = {path.partition(below)[2]: content for path, content in files.items() if below in path}
    return version, files[image], KernelModules(modules).select(names)


def _list_scripts() -> dict[str, InitrdEntry]:
    guest = resources.files("nodrop.vmimage") / "guest"
    targets = {"init": "init", **{name: f"lib/nodrop/{name}" for name in SCRIPTS}}
    return {target: make_executable_entry((guest / name).read_bytes()) for name, target in targets.items()}


def check_writable(file: Path, form: str) -> None:
    """Check that an image can be written, before it is built. Raises: ImageError if it cannot."""
    if not file.parent.is_dir():
        raise ImageError(f"{file}: directory {file.parent} does not exist; create it")
    if form == "qcow2":
        _find_qemu_img()


def write_image(image: VmImage, file: Path, form: str) -> Manifest:
    """Write an image atomically; return its manifest.

    Raises: ImageError if it cannot be written, or qcow2 is requested without qemu-img.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".nodrop-vm-image-", dir=file.parent) as scratch:
            raw = Path(scratch) / "raw"
            raw.write_bytes(image.disk)
            converted = raw if form == "raw" else _convert_to_qcow2(raw)
            content = converted.read_bytes()
            converted.replace(file)
    except OSError as error:
        raise ImageError(f"{file}: cannot be written: {error.strerror}") from error
    return image.manifest.replace(format=form, bytes=len(content), sha256=compute_sha256(content))


def _convert_to_qcow2(raw: Path) -> Path:
    qcow2 = raw.with_name("qcow2")
    command = [_find_qemu_img(), "convert", "-f", "raw", "-O", "qcow2", "-c", str(raw), str(qcow2)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        raise ImageError(f"qemu-img convert failed: {done.stderr.strip()}")
    return qcow2


def _find_qemu_img() -> str:
    program = shutil.which("qemu-img")
    if not program:
        raise ImageError(
            "format qcow2 requires qemu-img, which is not installed; install it (apt-get install qemu-utils) or use "
            "--format raw"
        )
    return program
