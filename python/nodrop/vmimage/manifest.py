"""What an image was built from, to the last hash: who has it can build the same again, and knows every licence."""

import re

from nodrop.model.base import Value
from nodrop.vmimage.packages import Deb


class PackageUsed(Value):
    """A package of Debian that something in the image is from, or that wrote it."""

    name: str
    version: str
    source: str
    """Name and version of its source package."""
    sha256: str
    """Of its file."""
    licences: tuple[str, ...]
    """As its copyright file names them; the file itself is on the image, under licenses/."""


class FileUsed(Value):
    """A file of the machine that built it."""

    path: str
    sha256: str


class Manifest(Value):
    """What is in an image, and what it was built from."""

    nodrop: str
    """Version."""
    format: str
    bytes: int
    sha256: str
    """Of the image's file."""
    kernel: str
    command_line: str
    built_at_epoch_s: int
    """Time that files in it bear, not when it was built."""
    forwarders: tuple[str, ...]
    packages: tuple[PackageUsed, ...]
    vnf: tuple[FileUsed, ...]
    """nodrop-vnf, and the libraries it runs with; alone where it is static."""
    modules: tuple[str, ...]
    """Of the kernel."""


def describe_package(deb: Deb) -> PackageUsed:
    """A package as a manifest names it."""
    return PackageUsed(
        name=deb.name,
        version=deb.fields["Version"],
        source=deb.source,
        sha256=deb.sha256,
        licences=list_licences(read_copyright(deb).decode("utf-8", "replace")),
    )


def read_copyright(deb: Deb) -> bytes:
    """A package's copyright file. Source: Debian Policy 12.5."""
    return deb.files(f"usr/share/doc/{deb.name}/copyright".__eq__).get(f"usr/share/doc/{deb.name}/copyright", b"")


def list_licences(copyright_file: str) -> tuple[str, ...]:
    """Short names of all licences that a copyright file has, where it is one that programs can read."""
    named = re.findall(r"^License: *(\S.*?)\s*$", copyright_file, re.MULTILINE)
    return tuple(dict.fromkeys(named)) or ("see its copyright file",)
