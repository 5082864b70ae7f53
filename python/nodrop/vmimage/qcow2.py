"""Image files."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from nodrop.errors import ImageError
from nodrop.vmimage.build import VmImage
from nodrop.vmimage.manifest import Manifest
from nodrop.vmimage.packages import compute_sha256

TIMEOUT_S = 300


def check_writable(file: Path, form: str) -> None:
    """Check that an image can be written, before it is built.

    Raises: ImageError if it cannot.
    """
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
    return image.manifest.model_copy(update={"format": form, "bytes": len(content), "sha256": compute_sha256(content)})


def _convert_to_qcow2(raw: Path) -> Path:
    qcow2 = raw.with_name("qcow2")
    command = [_find_qemu_img(), "convert", "-f", "raw", "-O", "qcow2", "-c", str(raw), str(qcow2)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
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
