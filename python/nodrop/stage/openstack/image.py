"""The image of the loopback VMs, uploaded where it is not there."""

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from nodrop.errors import StageError
from nodrop.model.cloud import CloudImage
from nodrop.stage.openstack import inventory, request_bodies, rest
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.rest import Json, Post

BLOCK_BYTES = 1 << 20
PROGRESS_EVERY_S = 2.0
QCOW2 = b"QFI\xfb"
"""The first bytes of a QCOW image. Source: QEMU, docs/interop/qcow2.txt."""
ACTIVE = "active"


def disk_format(head: bytes) -> str:
    """Glance's name for the format of an image that begins like this."""
    return "qcow2" if head.startswith(QCOW2) else "raw"


def upload_image(
    cloud: Cloud, image: CloudImage, label: str, on_made: Callable[[Json], None], on_sent: Callable[[float], None]
) -> Json:
    """The image, from its file.

    Args:
        cloud: where to.
        image: whose file it is.
        label: of what is made.
        on_made: is told of it before its bytes are sent, so that half an image can be taken away.
        on_sent: is told every so often which share of them is sent.

    Raises StageError.
    """
    path = _path(image)
    with path.open("rb") as file:
        head = file.read(len(QCOW2))
        file.seek(0)
        post = Post("image", "/images", request_bodies.image_body(image, label, disk_format(head)))
        made = rest.create(cloud, f"create image {image.name}", post, lambda: _queued(cloud, image.name))
        on_made(made)
        reader = _HashingReader(file, path.stat().st_size, on_sent)
        rest.upload(cloud, f"upload {path} as image {image.name}", "image", f"/images/{made['id']}/file", reader)
    found = rest.get(cloud, f"read image {image.name}", "image", f"/images/{made['id']}")
    _check(cloud, image, found, reader)
    return found


def set_properties(cloud: Cloud, image: CloudImage, found: Json) -> None:
    """Set those of an image of nodrop's own that are not as they are to be. Raises StageError."""
    missing = {key: value for key, value in image.properties.items() if found.get(key) != value}
    if missing:
        pairs = ", ".join(f"{key}={value}" for key, value in missing.items())
        with cloud.reporting_errors(f"give image {image.name} the properties {pairs}"):
            cloud.sdk.image.update_image(found["id"], **missing)


def _path(image: CloudImage) -> Path:
    if image.file is None:
        raise StageError(
            f"image {image.name} asked, Glance has none of this name; name the file to upload (openstack.image.file), "
            "as nodrop vm-image build makes it"
        )
    path = Path(image.file).expanduser()
    if not path.is_file():
        raise StageError(
            f"image {image.name} asked, Glance has none of this name and {path} is no file; make one: "
            f"nodrop vm-image build -o {path}"
        )
    return path


def _queued(cloud: Cloud, name: str) -> Json | None:
    return next((image for image in inventory.list_images(cloud, name) if image["status"] == "queued"), None)


def _check(cloud: Cloud, image: CloudImage, found: Json, reader: "_HashingReader") -> None:
    """That what Glance holds is what was sent."""
    if found["status"] != ACTIVE:
        raise StageError(
            f"cloud {cloud.name}: image {image.name} uploaded, it is {found['status']}; look into Glance's log"
        )
    algorithm, told = (
        ("md5", found.get("checksum"))
        if not found.get("os_hash_value")
        else (
            found["os_hash_algo"],
            found["os_hash_value"],
        )
    )
    if told and algorithm in reader.digests and reader.digests[algorithm].hexdigest() != told:
        raise StageError(
            f"cloud {cloud.name}: image {image.name} uploaded, its {algorithm} there is {told} and of the file "
            f"{reader.digests[algorithm].hexdigest()}; try again"
        )


class _HashingReader:
    """The bytes of an image as they are sent, from the beginning each time they are asked for."""

    def __init__(self, file: BinaryIO, size_bytes: int, tell: Callable[[float], None]) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._tell = tell
        self.digests = {name: hashlib.new(name, usedforsecurity=False) for name in ("md5", "sha256", "sha512")}

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        self.digests = {name: hashlib.new(name, usedforsecurity=False) for name in self.digests}
        sent_bytes, told_s = 0, time.monotonic()
        while block := self._file.read(BLOCK_BYTES):
            for digest in self.digests.values():
                digest.update(block)
            yield block
            sent_bytes += len(block)
            if time.monotonic() - told_s >= PROGRESS_EVERY_S:
                told_s = time.monotonic()
                self._tell(sent_bytes / self._size_bytes)
