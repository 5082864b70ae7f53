"""Captures: archives of a machine's files, sufficient to describe it on another machine, for bug reports and tests.

A capture contains only what a description read; of files with secrets, only the required lines.
"""

import contextlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.host.cpuid import Cpuid, parse_dump
from nodrop.host.describe import describe_host, open_local_source
from nodrop.host.file_tree import FILE_BYTES_MAX, FileTree
from nodrop.host.inputs import Source
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import ObservationTime

ABOUT_FILE = "nodrop-capture.json"
CPUID_FILE = "cpuid.txt"
"""Format of `cpuid -r`."""
UNAME_FILES = tuple(f"/proc/sys/kernel/{name}" for name in ("hostname", "osrelease", "arch"))
"""Files whose content a live machine takes from uname(2)."""
FILES_MAX = 500_000
TOTAL_BYTES_MAX = 512 << 20


def capture_host(file: Path, eligible_cpus: tuple[int, ...] | None = None) -> HostDescriptor:
    """Describe this machine and store all files read for it in a tar archive, compressed according to its suffix.

    Raises: ConfigError if the file cannot be written.
    """
    source = open_local_source()
    host = describe_host(source, eligible_cpus)
    for path in UNAME_FILES:
        source.tree.read_text(path)
    try:
        with tarfile.open(file, _build_tar_mode(file)) as archive:  # type: ignore[call-overload]
            _add(archive, ABOUT_FILE, json.dumps(_describe_capture(source), indent=1).encode())
            if source.cpuid:
                _add(archive, CPUID_FILE, _dump_cpuid(source.cpuid).encode())
            _add_tree(archive, source.tree)
    except OSError as error:
        raise ConfigError(f"--capture: cannot write {file}: {error.strerror}; name a writable file") from None
    return host


@contextlib.contextmanager
def open_capture(place: Path) -> Iterator[Source]:
    """Open a capture: a directory, or an archive unpacked to a temporary directory.

    Raises: ConfigError if it is neither.
    """
    if place.is_dir():
        yield _build_source(place)
        return
    with tempfile.TemporaryDirectory(prefix="nodrop-capture-") as directory:
        _unpack(place, Path(directory))
        yield _build_source(Path(directory))


def _build_source(directory: Path) -> Source:
    """Return the source in a directory, or in its only subdirectory, as other tools pack it."""
    root = directory
    inside = [each for each in directory.iterdir() if each.is_dir()]
    if not {"sys", "proc"} & {each.name for each in inside}:
        if len(inside) != 1 or not any((inside[0] / each).is_dir() for each in ("sys", "proc")):
            raise ConfigError(
                f"--root: {directory} contains neither sys/ nor proc/; "
                "name a directory with these, or an archive written by `nodrop host describe --capture`"
            )
        root = inside[0]
    about, dump = FileTree(root).read_text(f"/{ABOUT_FILE}"), FileTree(root).read_text(f"/{CPUID_FILE}")
    at, refused = _read_about(about or "{}")
    return Source(FileTree(root, refused), ObservationTime(at), cpuid=parse_dump(dump) if dump else None)


def _describe_capture(source: Source) -> Mapping[str, object]:
    return {"nodrop": __version__, "at": source.moment.at, "refused": dict(source.tree.failures)}


def _read_about(text: str) -> tuple[str, Mapping[str, str]]:
    """Return capture time and read errors; captures of other tools have neither."""
    try:
        about = json.loads(text)
        at, refused = about["at"], about["refused"]
    except (ValueError, KeyError, TypeError):
        return "", {}
    fits = isinstance(refused, dict) and all(isinstance(reason, str) for reason in refused.values())
    return str(at), refused if fits else {}


def _add_tree(archive: tarfile.TarFile, tree: FileTree) -> None:
    """Add the files, links and directories that were read, each once."""
    archived = set[str]()
    for path, content in sorted(tree.touched.items()):
        place = _add_links(archive, path, archived)
        if place in archived:
            continue
        if content is not None:
            archived.add(place)
            _add(archive, place[1:], content)
        elif os.path.isdir(place):
            for name in tree.list_directory(place):
                _add_links(archive, f"{place}/{name}", archived)


def _add_links(archive: tarfile.TarFile, path: str, archived: set[str]) -> str:
    """Add every link and directory on a path; return the resolved path."""
    place, left = "", path.strip("/").split("/")
    for _ in range(400):
        if not left:
            break
        part = left.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            place = os.path.dirname(place).rstrip("/")
            continue
        step = f"{place}/{part}"
        if os.path.islink(step):
            target = os.readlink(step)
            if step not in archived:
                archived.add(step)
                link = tarfile.TarInfo(step[1:])
                link.type, link.linkname = tarfile.SYMTYPE, target
                archive.addfile(link)
            place = "" if target.startswith("/") else place
            left = target.strip("/").split("/") + left
            continue
        place = step
        if place not in archived and os.path.isdir(place):
            archived.add(place)
            directory = tarfile.TarInfo(place[1:])
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(directory)
    return place


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _build_tar_mode(file: Path) -> str:
    return "w:" + {".gz": "gz", ".tgz": "gz", ".xz": "xz", ".bz2": "bz2"}.get(file.suffix, "")


def _dump_cpuid(cpuid: Cpuid) -> str:
    line = "   {:#010x} {:#04x}: eax={:#010x} ebx={:#010x} ecx={:#010x} edx={:#010x}\n"
    return "".join(line.format(*leaf, *registers) for leaf, registers in cpuid.leaves.items())


def _unpack(archive: Path, directory: Path) -> None:
    """Unpack files and directories first, links last, so that nothing is written through a link; skip devices."""
    links, total_bytes = dict[Path, str](), 0
    try:
        with tarfile.open(archive) as opened:
            for count, entry in enumerate(opened):
                total_bytes += entry.size
                if count >= FILES_MAX or total_bytes > TOTAL_BYTES_MAX:
                    raise ConfigError(
                        f"--root: {archive} has more than {FILES_MAX} files or {TOTAL_BYTES_MAX >> 20} MiB; "
                        "not a capture of a machine"
                    )
                place = _resolve_inside(directory, entry.name)
                if place is None:
                    continue
                if entry.issym():
                    links[place] = entry.linkname
                elif entry.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                elif entry.isreg() and (content := opened.extractfile(entry)):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read(FILE_BYTES_MAX))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise ConfigError(
            f"--root: cannot read {archive}: {_format_reason(error)}; name a directory or a tar archive"
        ) from None
    for place, target in links.items():
        with contextlib.suppress(OSError, ValueError):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)


def _resolve_inside(directory: Path, name: str) -> Path | None:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return directory.joinpath(*parts) if parts and ".." not in parts and "\0" not in name else None


def _format_reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "not a tar archive, or truncated"
