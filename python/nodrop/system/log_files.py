"""nodrop's log: the logger `nodrop`, its file, and how its lines look. The root logger is left alone."""

import contextlib
import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

LOGGER = logging.getLogger("nodrop")
LOGGER.addHandler(logging.NullHandler())  # without it, warnings would be printed where no program asked for them
FIELDS = "fields"
"""Attribute of a log record that holds what a message says, for programs."""


def timestamp(seconds: float) -> str:
    """A moment in UTC as NFVbench writes it: `2026-01-31T12:00:00.123456+0000`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f%z")


def level_name(levelno: int) -> str:
    """A level as users know it."""
    return logging.getLevelName(levelno)


class TextLines(logging.Formatter):
    """A line for people: when, how bad, what."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a message of several lines is indented from the second on."""
        message = record.getMessage().replace("\n", "\n    ")
        return f"{timestamp(record.created)} {record.levelname:<7} {message}{_trace(record)}"


class JsonLines(logging.Formatter):
    """A line for programs: an object."""

    def format(self, record: logging.LogRecord) -> str:
        """The object, in the words of the records that go to Fluentd, with what the message says as fields."""
        content = {
            "@timestamp": timestamp(record.created),
            "loglevel": record.levelname,
            "message": record.getMessage() + _trace(record),
            **getattr(record, FIELDS, {}),
        }
        return json.dumps(content, ensure_ascii=False, default=str)


class LogLines(logging.StreamHandler[TextIO]):
    """Writes to a stream that is open."""

    def __init__(self, stream: TextIO, as_json: bool) -> None:
        super().__init__(stream)
        self.setFormatter(_formatter(as_json))


class LogFile(logging.FileHandler):
    """Adds to a file; one that can no longer be written is given up, with one sentence on standard error."""

    def __init__(self, path: Path, as_json: bool) -> None:
        """Open it. Raises OSError."""
        super().__init__(path, encoding="utf-8")
        self.setFormatter(_formatter(as_json))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        """Say it, once."""
        error = sys.exception()
        print(f"nodrop: {self.baseFilename}: the log cannot be written: {error}; it ends here", file=sys.stderr)
        LOGGER.removeHandler(self)

    def close(self) -> None:
        """Close it; what a full disk did not take is given up."""
        with contextlib.suppress(OSError):
            super().close()


class SeverityCounter(logging.Handler):
    """Counts warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warning_count = 0
        self.error_count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count it."""
        if record.levelno >= logging.ERROR:
            self.error_count += 1
        else:
            self.warning_count += 1


@contextlib.contextmanager
def attached(*handlers: logging.Handler, debug: bool = False) -> Iterator[None]:
    """Have these told what is logged meanwhile: details too, or from INFO on."""
    before = LOGGER.level
    LOGGER.setLevel(logging.DEBUG if debug else logging.INFO)
    for handler in handlers:
        LOGGER.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            LOGGER.removeHandler(handler)
            handler.close()
        LOGGER.setLevel(before)


def _formatter(as_json: bool) -> logging.Formatter:
    return JsonLines() if as_json else TextLines()


def _trace(record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
