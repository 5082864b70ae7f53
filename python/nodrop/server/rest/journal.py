"""The run records of the server: `<results dir>/server/<id>/` holds run.json, events.jsonl and worker.log of a run."""

import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.server.rest.schemas import RunEntry

ID = re.compile(r"[0-9a-f]{32}")
READ_BYTES = 2**16
"""Approximate size of one read of events."""


class Journal:
    """Stores every run of the server; a context manager that locks the directory for one server."""

    def __init__(self, results_dir: str | Path) -> None:
        self.directory = Path(results_dir).absolute() / "server"
        self._lock = -1

    def __enter__(self) -> Self:
        """Create and lock the directory. Raises ConfigError."""
        store.require_writable(self.directory, "--results-dir")
        self._lock = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise ConfigError(
                f"--results-dir: {self.directory.parent} is in use by another server; choose another directory"
            ) from None
        return self

    def __exit__(self, *exc: object) -> None:
        """Unlock the directory."""
        os.close(self._lock)

    def entries(self) -> list[RunEntry]:
        """Return all recorded runs, oldest first, without unreadable ones."""
        entries = []
        for file in self.directory.glob("*/run.json"):
            if not ID.fullmatch(file.parent.name):
                continue
            try:
                entries.append(RunEntry.model_validate_json(file.read_bytes()))
            except (OSError, ValidationError):
                continue
        return sorted(entries, key=lambda entry: (entry.created_at, entry.id))

    def save(self, entry: RunEntry) -> None:
        """Write a run record atomically. Raises ConfigError."""
        store.write_text(self.directory / entry.id / "run.json", entry.model_dump_json(indent=1) + "\n")

    def log_file(self, run_id: str) -> Path:
        """Return the path of the worker's log."""
        return self.directory / run_id / "worker.log"

    def append_event(self, run_id: str, name: str, content: Any) -> None:
        """Append an event; its number is its line, from 1."""
        line = json.dumps({"event": name, "data": content}, ensure_ascii=False, allow_nan=False)
        self.append_line(run_id, line.encode() + b"\n")

    def append_line(self, run_id: str, line: bytes) -> None:
        """Append an encoded event."""
        with self._events(run_id).open("ab") as file:
            file.write(line)

    def events_after(self, run_id: str, offset: int) -> tuple[list[bytes], int]:
        """Return some events from a byte offset on, and the offset after them."""
        try:
            with self._events(run_id).open("rb") as file:
                file.seek(offset)
                lines = file.readlines(READ_BYTES)
        except FileNotFoundError:
            return [], offset
        return lines, offset + sum(map(len, lines))

    def event_count(self, run_id: str) -> int:
        """Count the events of a run so far."""
        count = offset = 0
        while True:
            lines, offset = self.events_after(run_id, offset)
            if not lines:
                return count
            count += len(lines)

    def truncate_partial_event(self, run_id: str) -> None:
        """Drop the incomplete last line of a server that was killed while writing."""
        try:
            with self._events(run_id).open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        except FileNotFoundError:
            return

    def _events(self, run_id: str) -> Path:
        return self.directory / run_id / "events.jsonl"
