"""Upload of the loopback VMs' image, if Glance does not have it."""

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


def detect_disk_format(head: bytes) -> str:
    """Return Glance's name for the format of an image that begins with these bytes."""
    return "qcow2" if head.startswith(QCOW2) else "raw"


def upload_image(
    cloud: Cloud, image: CloudImage, label: str, on_created: Callable[[Json], None], on_sent: Callable[[float], None]
) -> Json:
    """Upload an image from its file and return it.

    Args:
        cloud: the cloud.
        image: the planned image with its file.
        label: label of the run's resources.
        on_created: receives the image before its bytes are sent, so that a partial image can be deleted.
        on_sent: receives the share of bytes sent from time to time.

    Raises StageError.
    """
    path = _find_path(image)
    with path.open("rb") as file:
        head = file.read(len(QCOW2))
        file.seek(0)
        post = Post("image", "/images", request_bodies.build_image_body(image, label, detect_disk_format(head)))
        created = rest.create_resource(
            cloud, f"create image {image.name}", post, lambda: _find_queued(cloud, image.name)
        )
        on_created(created)
        reader = _HashingReader(file, path.stat().st_size, on_sent)
        rest.upload_file(
            cloud, f"upload {path} as image {image.name}", "image", f"/images/{created['id']}/file", reader
        )
    uploaded = rest.get_resource(cloud, f"read image {image.name}", "image", f"/images/{created['id']}")
    _check(cloud, image, uploaded, reader)
    return uploaded


def set_properties(cloud: Cloud, image: CloudImage, existing: Json) -> None:
    """Set missing properties of an image that nodrop created. Raises StageError."""
    missing = {key: value for key, value in image.properties.items() if existing.get(key) != value}
    if missing:
        pairs = ", ".join(f"{key}={value}" for key, value in missing.items())
        with cloud.reporting_errors(f"set the properties {pairs} of image {image.name}"):
            cloud.sdk.image.update_image(existing["id"], **missing)


def _find_path(image: CloudImage) -> Path:
    if image.file is None:
        raise StageError(
            f"openstack.image.file: image {image.name} is not in Glance and no file is set; name the file to upload, "
            "as built by nodrop vm-image build"
        )
    path = Path(image.file).expanduser()
    if not path.is_file():
        raise StageError(
            f"openstack.image.file: image {image.name} is not in Glance and {path} does not exist; build it: nodrop "
            f"vm-image build -o {path}"
        )
    return path


def _find_queued(cloud: Cloud, name: str) -> Json | None:
    return next((image for image in inventory.list_images(cloud, name) if image["status"] == "queued"), None)


def _check(cloud: Cloud, image: CloudImage, uploaded: Json, reader: "_HashingReader") -> None:
    """Check that Glance stored the bytes that were sent."""
    if uploaded["status"] != ACTIVE:
        raise StageError(
            f"cloud {cloud.name}: image {image.name} is {uploaded['status']} after its upload; see Glance's log"
        )
    algorithm, reported = uploaded.get("os_hash_algo"), uploaded.get("os_hash_value")
    if not reported:
        algorithm, reported = "md5", uploaded.get("checksum")
    if reported and algorithm in reader.digests and reader.digests[algorithm].hexdigest() != reported:
        raise StageError(
            f"cloud {cloud.name}: the {algorithm} of image {image.name} differs after its upload (Glance {reported}, "
            f"file {reader.digests[algorithm].hexdigest()}); try again"
        )


class _HashingReader:
    """Yields the bytes of an image and hashes them, starting over on each iteration."""

    def __init__(self, file: BinaryIO, size_bytes: int, on_sent: Callable[[float], None]) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._on_sent = on_sent
        self.digests = {name: hashlib.new(name, usedforsecurity=False) for name in ("md5", "sha256", "sha512")}

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        self.digests = {name: hashlib.new(name, usedforsecurity=False) for name in self.digests}
        sent_bytes, reported_s = 0, time.monotonic()
        while block := self._file.read(BLOCK_BYTES):
            for digest in self.digests.values():
                digest.update(block)
            yield block
            sent_bytes += len(block)
            if time.monotonic() - reported_s >= PROGRESS_EVERY_S:
                reported_s = time.monotonic()
                self._on_sent(sent_bytes / self._size_bytes)
