"""The kernel's files, live or captured."""

import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

FILE_BYTES_MAX = 4 << 20
"""Limit per file; the rest is not read."""
_NUMBER = re.compile(r"[+-]?\d{1,20}|0[xX][0-9a-fA-F]{1,16}")
_DIGITS = re.compile(r"(\d+)")


class FileTree:
    """Reads files below a root as if it were `/`.

    Never raises, never blocks, never leaves the root; symbolic links of a captured tree resolve inside it.
    `failure_reason` returns the reason for a failed read.
    """

    def __init__(self, root: Path | str = "/", refused: Mapping[str, str] | None = None) -> None:
        """Read below this directory.

        Args:
            refused: reasons for files missing from the capture, as recorded on the machine.
        """
        self.root = Path(os.path.realpath(root))
        self.live = self.root == Path("/")
        """Whether these are this machine's own files, not captured ones."""
        self.touched: dict[str, bytes | None] = {}
        """Every path accessed with its content (None for non-files), to be stored in a capture."""
        self._refused: dict[str, str] = {}
        self._missing = refused or {}
        self._places: dict[str, str] = {}

    def read_bytes(self, path: str, reduce: Callable[[bytes], bytes] | None = None) -> bytes | None:
        """Return the content of a file, at most the first 4 MiB; None: see `failure_reason`.

        Args:
            reduce: reduces the content to the required part, for files with secrets.
        """
        try:
            content = self._read(path)
            content = reduce(content) if reduce else content
        except OSError as error:
            self._record_failure(path, error)
            content = None
        self.touched[path] = content
        return content

    def read_text(self, path: str, reduce: Callable[[bytes], bytes] | None = None) -> str | None:
        """Return the content of a file as text, stripped of blanks and NULs; None: see `failure_reason`."""
        content = self.read_bytes(path, reduce)
        return None if content is None else content.decode(errors="replace").strip(" \t\r\n\0")

    def read_number(self, path: str) -> int | None:
        """Return the integer in a file, decimal or `0x...`; None: see `failure_reason`."""
        text = self.read_text(path)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text):
            self._refused[path] = f"holds {_quote_start(text)}, a number expected"
            return None
        return int(text, 16 if text[:2] in ("0x", "0X") else 10)

    def list_directory(self, directory: str) -> tuple[str, ...]:
        """Return the entries of a directory in natural order; empty if there is no such directory."""
        try:
            entries = os.listdir(self._locate(directory))
        except OSError as error:
            self._record_failure(directory, error)
            entries = []
        self.touched.setdefault(directory, None)
        return tuple(sorted(entries, key=_build_natural_order))

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        self.touched.setdefault(path, None)
        try:
            os.stat(self._locate(path))
        except OSError as error:
            self._record_failure(path, error)
            return False
        return True

    def read_link(self, path: str) -> str | None:
        """Return the target of a symbolic link as written; None: not a link."""
        self.touched.setdefault(path, None)
        directory, name = os.path.split(path.rstrip("/"))
        try:
            return os.readlink(os.path.join(self._locate(directory), name))
        except OSError as error:
            self._record_failure(path, error)
            return None

    def resolve_path(self, path: str) -> str | None:
        """Return the path with all links resolved, relative to the root; None: does not exist."""
        self.touched.setdefault(path, None)
        try:
            place = self._locate(path)
            os.stat(place)
        except OSError as error:
            self._record_failure(path, error)
            return None
        place = os.path.realpath(place) if self.live else place
        return place if self.live else "/" + os.path.relpath(place, self.root)

    def failure_reason(self, path: str) -> str:
        """Return why the last access to a path failed: `no such file`, `needs root`, `holds ...`."""
        return self._refused.get(path, "")

    @property
    def failures(self) -> Mapping[str, str]:
        """The reasons of all failed accesses by path."""
        return self._refused

    def record_unexpected(self, path: str, content: str, expected: str) -> None:
        """Record that a file has unexpected content, for `failure_reason`."""
        self._refused[path] = f"holds {_quote_start(content)}, {expected} expected"

    def _read(self, path: str) -> bytes:
        file = os.open(self._locate(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise IsADirectoryError
            parts, length = [], 0
            while length < FILE_BYTES_MAX and (part := os.read(file, min(1 << 16, FILE_BYTES_MAX - length))):
                parts.append(part)
                length += len(part)
            return b"".join(parts)
        finally:
            os.close(file)

    def _locate(self, path: str) -> str:
        """Return the path on this machine; links of a captured tree are resolved below its root."""
        if self.live:
            return path
        directory, _, name = path.rpartition("/")
        if directory not in self._places:
            self._places[directory] = self._resolve(str(self.root), directory)
        return self._resolve(self._places[directory], name)

    def _resolve(self, place: str, path: str) -> str:
        """Resolve a path from a place, following every link."""
        root = str(self.root)
        left = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        for _ in range(10_000):
            if not left:
                return place
            part = left.pop()
            if part == "..":
                place = place if place == root else os.path.dirname(place)
                continue
            step = os.path.join(place, part)
            if not os.path.islink(step):
                place = step
                continue
            target = os.readlink(step)
            place = root if target.startswith("/") else place
            left.extend(each for each in reversed(target.split("/")) if each not in ("", "."))
            if len(left) > 1000:
                break
        raise OSError("links without an end")

    def _record_failure(self, path: str, error: OSError) -> None:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            reason = "no such file" if self.live else self._missing.get(path, "not in the capture")
        elif isinstance(error, PermissionError):
            reason = "needs root" if os.geteuid() else "refused even to root"
        else:
            reason = "unreadable" + (f": {error.strerror.lower()}" if error.strerror else "")
        self._refused[path] = reason


def _build_natural_order(name: str) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(name))


def _quote_start(text: str) -> str:
    """Return the start of a file's content, quoted for a message."""
    return repr(text if len(text) <= 40 else text[:40] + "…") if text else "nothing"
