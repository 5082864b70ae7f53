"""Debian packages: downloaded once, verified, and read without installation.

Source: deb(5) and ar(5) for the format, deb822(5) for the control fields.
"""

import contextlib
import gzip
import hashlib
import io
import lzma
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nodrop.errors import ImageError

AR_MAGIC = b"!<arch>\n"
AR_HEADER_BYTES = 60
APT_TIMEOUT_S = 600


class Deb:
    """A package file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._parts = dict(_iter_ar_members(path.read_bytes()))
        except (OSError, ValueError) as error:
            raise ImageError(f"{path}: not a readable Debian package: {error}") from error
        self._unpacked: dict[str, bytes] = {}

    @cached_property
    def fields(self) -> dict[str, str]:
        """Control fields: Package, Version, Source, Depends and others, without folded lines."""
        with self._tar("control.tar") as control:
            name = next(each for each in control.getnames() if each.removeprefix("./") == "control")
            file = control.extractfile(name)
            assert file is not None
            lines = file.read().decode().splitlines()
        pairs = (line.split(":", 1) for line in lines if ":" in line and not line.startswith((" ", "\t")))
        return {key: value.strip() for key, value in pairs}

    @property
    def name(self) -> str:
        """Package name."""
        return self.fields["Package"]

    @property
    def source(self) -> str:
        """Name and version of the source package."""
        named, _, version = self.fields.get("Source", self.name).partition(" ")
        return f"{named} {version.strip('()') or self.fields['Version']}"

    @cached_property
    def sha256(self) -> str:
        """Of the file."""
        return compute_sha256(self.path.read_bytes())

    def files(self, is_wanted: Callable[[str], bool]) -> dict[str, bytes]:
        """Return selected files by path without a leading slash; links to them are followed."""
        files = {}
        with self._tar("data.tar") as data:
            for member in data.getmembers():
                path = member.name.removeprefix("./")
                if member.isdir() or not is_wanted(path):
                    continue
                with contextlib.suppress(KeyError):  # a link to what another package has
                    if (file := data.extractfile(member)) is not None:
                        files[path] = file.read()
        return files

    def file(self, path: str) -> bytes:
        """Return one file. Raises: ImageError if it does not exist."""
        files = self.files(path.__eq__)
        if path not in files:
            raise ImageError(f"{self.path.name}: {path} is not in this package; use another version of it")
        return files[path]

    def _tar(self, stem: str) -> tarfile.TarFile:
        if stem not in self._unpacked:
            name, content = next((each for each in self._parts.items() if each[0].startswith(stem)), ("", b""))
            try:
                self._unpacked[stem] = DECOMPRESSORS.get(Path(name).suffix, bytes)(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
                raise ImageError(f"{self.path}: cannot unpack {stem}: {error}") from error
        try:
            return tarfile.open(fileobj=io.BytesIO(self._unpacked[stem]))
        except tarfile.TarError as error:
            raise ImageError(f"{self.path}: cannot read {stem}: {error}") from error


def compute_sha256(content: bytes) -> str:
    """Return the hexadecimal SHA-256."""
    return hashlib.sha256(content).hexdigest()


def _iter_ar_members(content: bytes) -> Iterator[tuple[str, bytes]]:
    if not content.startswith(AR_MAGIC):
        raise ValueError("it does not begin as one")
    at = len(AR_MAGIC)
    while at + AR_HEADER_BYTES <= len(content):
        head = content[at : at + AR_HEADER_BYTES]
        at, size = at + AR_HEADER_BYTES, int(head[48:58])
        yield head[:16].decode().strip().rstrip("/"), content[at : at + size]
        at += size + size % 2


def _decompress_zstd(content: bytes) -> bytes:
    """Decompress zstd, as used by Ubuntu; Python has no zstd before 3.14."""
    program = shutil.which("zstd")
    if not program:
        raise ImageError(
            "the package is compressed with zstd, which is not installed; install it: apt-get install zstd"
        )
    return subprocess.run([program, "-dc"], input=content, stdout=subprocess.PIPE, check=True).stdout


DECOMPRESSORS = {".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": _decompress_zstd}


class AptOffer(NamedTuple):
    """A file that apt would download."""

    file: str
    sha256: str
    """Empty if apt does not know it."""


class Packages:
    """A source of packages: a directory, or apt with a cache."""

    def __init__(self, directory: Path | None, cache: Path | None = None) -> None:
        """Take a directory with all packages, for offline use, or the download cache."""
        self._directory = directory
        self._cache = cache or _find_default_cache()
        self._offers: dict[str, AptOffer] = {}

    def prepare(self, names: Iterable[str]) -> None:
        """Query several packages at once to save time; errors are reported by `find`."""
        requested = [name for name in names if name not in self._offers]
        if requested and not self._directory:
            with contextlib.suppress(ImageError):
                self._offers |= _query_apt(requested)

    def find(self, name: str) -> Deb:
        """Return the package of that name. Raises: ImageError if it is not available."""
        return self._in_directory(self._directory, name) if self._directory else self._downloaded(name)

    def dependencies(self, deb: Deb) -> Sequence[str]:
        """Return the names of required packages, of alternatives the first."""
        requested = ",".join(deb.fields.get(key, "") for key in ("Pre-Depends", "Depends"))
        names = (each.split("|")[0].split("(")[0].split(":")[0].strip() for each in requested.split(","))
        return tuple(dict.fromkeys(name for name in names if name))

    def _in_directory(self, directory: Path, name: str) -> Deb:
        matches = sorted(directory.glob(f"{name}_*.deb"))
        if not matches:
            raise ImageError(
                f"--packages {directory}: no {name}_*.deb for package {name}; "
                f"download it on a machine with network access: apt-get download {name}"
            )
        if len(matches) > 1:
            raise ImageError(
                f"--packages {directory}: {len(matches)} files for package {name}: "
                f"{', '.join(each.name for each in matches)}; keep one of them"
            )
        return Deb(matches[0])

    def _downloaded(self, name: str) -> Deb:
        offer = self._offer(name)
        path = self._cache / offer.file
        if not self._is_intact(path, offer):
            self._cache.mkdir(parents=True, exist_ok=True)
            _run_apt("download", "-qq", f"{name}:amd64", directory=self._cache)
        if not self._is_intact(path, offer):
            raise ImageError(f"{path}: hash mismatch after download; remove the file and try again")
        return Deb(path)

    def _is_intact(self, path: Path, offer: AptOffer) -> bool:
        return path.exists() and (not offer.sha256 or compute_sha256(path.read_bytes()) == offer.sha256)

    def _offer(self, name: str) -> AptOffer:
        offer = self._offers.get(name) or _query_apt([name]).get(name)
        if offer is None:
            raise ImageError(f"package {name}: not known to apt; try apt-get update")
        return offer


def _query_apt(names: Sequence[str]) -> dict[str, AptOffer]:
    """Return apt's offers by name, from lines of 'URI' FILE SIZE ALGORITHM:DIGEST."""
    reported = _run_apt("--print-uris", "-qq", "download", *(f"{name}:amd64" for name in names), directory=Path("/"))
    offers = {}
    for line in reported.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1].endswith(".deb"):
            kind, _, digest = words[3].partition(":") if len(words) > 3 else ("", "", "")
            offers[words[1].split("_")[0]] = AptOffer(words[1], digest if kind == "SHA256" else "")
    return offers


def _find_default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "nodrop" / "packages"


def _run_apt(*arguments: str, directory: Path) -> str:
    if not shutil.which("apt-get"):
        raise ImageError(
            "Debian packages require apt-get, which is not installed; build on a Debian system, "
            "or download the packages there and pass their directory: --packages DIR"
        )
    command = ["apt-get", *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=directory,
        timeout=APT_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        message = next((line for line in done.stderr.splitlines() if line.startswith("E:")), done.stderr.strip())
        raise ImageError(
            f"{' '.join(command)} failed: {message.removeprefix('E: ')}; "
            "try apt-get update, or pass a directory with the packages: --packages DIR"
        )
    return done.stdout
