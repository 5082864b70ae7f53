"""Events of a run as JSON lines in a file (docs/reference/events.md)."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from nodrop.formatting.messages import AS_SENTENCES
from nodrop.model.event import Event, RunStarted


class JsonlWriter:
    """Appends one line per event to a file; lines of concurrent writers do not interleave. Raises OSError."""

    def __init__(self, path: Path) -> None:
        """Open the file; an incomplete last line is terminated first."""
        self._run_id = ""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        end = os.fstat(self._file).st_size
        if end and os.pread(self._file, 1, end - 1) != b"\n":
            os.write(self._file, b"\n")

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if isinstance(event, RunStarted):
            self._run_id = event.run_id
        fields = event.model_dump(mode="json", context=AS_SENTENCES)
        line = json.dumps(
            {
                "event": type(event).__name__,
                "at": datetime.now(UTC).isoformat(timespec="microseconds"),
                "run_id": self._run_id,
                **{key: value for key, value in fields.items() if key != "run_id"},
            },
            separators=(",", ":"),
        )
        rest = line.encode() + b"\n"
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
