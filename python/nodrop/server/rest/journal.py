"""The server's memory on disk: `<results dir>/server/<id>/` holds run.json, events.jsonl and worker.log of each run."""

import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.server.rest.schemas import Entry

ID = re.compile(r"[0-9a-f]{32}")
READ_BYTES = 2**16
"""Events read at once, about."""


class Journal:
    """Keeps every run the server was asked for; a context manager that holds the directory for this server alone."""

    def __init__(self, results_dir: str | Path) -> None:
        self.directory = Path(results_dir).absolute() / "server"
        self._lock = -1

    def __enter__(self) -> Self:
        """Make the directory and take it. Raises ConfigError when it cannot be had."""
        store.require_writable(self.directory, "--results-dir")
        self._lock = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise ConfigError(
                f"--results-dir: {self.directory.parent} asked, another server keeps its runs there; name another one"
            ) from None
        return self

    def __exit__(self, *exc: object) -> None:
        """Let it go."""
        os.close(self._lock)

    def entries(self) -> list[Entry]:
        """All runs on record, oldest first. What cannot be read is left where it is, and out."""
        found = []
        for file in self.directory.glob("*/run.json"):
            if not ID.fullmatch(file.parent.name):
                continue
            try:
                found.append(Entry.model_validate_json(file.read_bytes()))
            except (OSError, ValidationError):
                continue
        return sorted(found, key=lambda entry: (entry.created_at, entry.id))

    def keep(self, entry: Entry) -> None:
        """Write a run down, as a whole. Raises ConfigError."""
        store.write_whole(self.directory / entry.id / "run.json", entry.model_dump_json(indent=1) + "\n")

    def log_file(self, run_id: str) -> Path:
        """Where the worker of a run writes what is no event."""
        return self.directory / run_id / "worker.log"

    def append_event(self, run_id: str, name: str, content: Any) -> None:
        """Write an event down; its number is its line, from 1."""
        line = json.dumps({"event": name, "data": content}, ensure_ascii=False, allow_nan=False)
        self.append_line(run_id, line.encode() + b"\n")

    def append_line(self, run_id: str, line: bytes) -> None:
        """The same, of an event that is a line already."""
        with self._events(run_id).open("ab") as file:
            file.write(line)

    def events_after(self, run_id: str, offset: int) -> tuple[list[bytes], int]:
        """Some events from a byte of the file on, and the byte to go on from; none when it holds no more."""
        try:
            with self._events(run_id).open("rb") as file:
                file.seek(offset)
                lines = file.readlines(READ_BYTES)
        except FileNotFoundError:
            return [], offset
        return lines, offset + sum(map(len, lines))

    def event_count(self, run_id: str) -> int:
        """Events of a run so far."""
        count = offset = 0
        while True:
            lines, offset = self.events_after(run_id, offset)
            if not lines:
                return count
            count += len(lines)

    def mend_events(self, run_id: str) -> None:
        """Drop the half of a line that a server left which was killed while it wrote."""
        try:
            with self._events(run_id).open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        except FileNotFoundError:
            return

    def _events(self, run_id: str) -> Path:
        return self.directory / run_id / "events.jsonl"
