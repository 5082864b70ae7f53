"""nodrop's log: the logger `nodrop`, its file and the format of its lines. The root logger is not changed."""

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
# without this handler, logging prints warnings to standard error in programs that import nodrop
LOGGER.addHandler(logging.NullHandler())
FIELDS = "fields"
"""Attribute of a log record that holds the message's values for programs."""


def format_timestamp(seconds: float) -> str:
    """Format a time in UTC as NFVbench does: `2026-01-31T12:00:00.123456+0000`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f%z")


def format_level_name(levelno: int) -> str:
    """Return the name of a log level."""
    return logging.getLevelName(levelno)


class TextLines(logging.Formatter):
    """Formats a record as a line of text: time, level, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; continuation lines of a message are indented."""
        message = record.getMessage().replace("\n", "\n    ")
        return f"{format_timestamp(record.created)} {record.levelname:<7} {message}{_trace(record)}"


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object, with the field names of the records sent to Fluentd and the message's values as fields."""
        content = {
            "@timestamp": format_timestamp(record.created),
            "loglevel": record.levelname,
            "message": record.getMessage() + _trace(record),
            **getattr(record, FIELDS, {}),
        }
        return json.dumps(content, ensure_ascii=False, default=str)


class LogLines(logging.StreamHandler[TextIO]):
    """Writes to an open stream."""

    def __init__(self, stream: TextIO, as_json: bool) -> None:
        super().__init__(stream)
        self.setFormatter(_build_formatter(as_json))


class LogFile(logging.FileHandler):
    """Appends to a file; on a write error it reports once on standard error and stops."""

    def __init__(self, path: Path, as_json: bool) -> None:
        """Open the file. Raises OSError."""
        super().__init__(path, encoding="utf-8")
        self.setFormatter(_build_formatter(as_json))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        """Report the error once and remove this handler."""
        error = sys.exception()
        print(
            f"nodrop: {self.baseFilename}: cannot write the log ({error}); logging to this file stops", file=sys.stderr
        )
        LOGGER.removeHandler(self)

    def close(self) -> None:
        """Close the file; records that a full disk did not accept are lost."""
        with contextlib.suppress(OSError):
            super().close()


class SeverityCounter(logging.Handler):
    """Counts warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warning_count = 0
        self.error_count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count the record by its level."""
        if record.levelno >= logging.ERROR:
            self.error_count += 1
        else:
            self.warning_count += 1


@contextlib.contextmanager
def attached(*handlers: logging.Handler, debug: bool = False) -> Iterator[None]:
    """Attach handlers to nodrop's logger while the block runs, from DEBUG or from INFO on."""
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


def _build_formatter(as_json: bool) -> logging.Formatter:
    return JsonLines() if as_json else TextLines()


def _trace(record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
