"""Manifest of an image: all inputs with their hashes, for reproducible builds and license compliance."""

import re

from nodrop.model.base import Value
from nodrop.vmimage.packages import Deb


class PackageUsed(Value):
    """A Debian package contained in the image or used to write it."""

    name: str
    version: str
    source: str
    """Name and version of its source package."""
    sha256: str
    """Of its file."""
    licences: tuple[str, ...]
    """Names in its copyright file, which is on the image under licences/."""


class FileUsed(Value):
    """A file of the build machine."""

    path: str
    sha256: str


class Manifest(Value):
    """Content and inputs of an image."""

    nodrop: str
    """Version."""
    format: str
    bytes: int
    sha256: str
    """Of the image file."""
    kernel: str
    command_line: str
    built_at_epoch_s: int
    """Timestamp of the files in it, not the build time."""
    forwarders: tuple[str, ...]
    packages: tuple[PackageUsed, ...]
    vnf: tuple[FileUsed, ...]
    """nodrop-vnf and its libraries; a single entry if it is static."""
    modules: tuple[str, ...]
    """Kernel modules."""


def describe_package(deb: Deb) -> PackageUsed:
    """Describe a package for the manifest."""
    return PackageUsed(
        name=deb.name,
        version=deb.fields["Version"],
        source=deb.source,
        sha256=deb.sha256,
        licences=list_licenses(read_copyright(deb).decode("utf-8", "replace")),
    )


def read_copyright(deb: Deb) -> bytes:
    """Return a package's copyright file. Source: Debian Policy 12.5."""
    return deb.files(f"usr/share/doc/{deb.name}/copyright".__eq__).get(f"usr/share/doc/{deb.name}/copyright", b"")


def list_licenses(copyright_file: str) -> tuple[str, ...]:
    """Return the short names of all licenses in a machine-readable copyright file."""
    named = re.findall(r"^License: *(\S.*?)\s*$", copyright_file, re.MULTILINE)
    return tuple(dict.fromkeys(named)) or ("see its copyright file",)
