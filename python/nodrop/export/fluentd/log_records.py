"""Log records in NFVbench's format: loglevel, message, @timestamp, runlogdate (docs/reference/fluentd-records.md)."""

import logging
import time
from collections.abc import Mapping
from typing import Any, Protocol

from nodrop.system.log_files import SeverityCounter, format_timestamp

START, RUN_SUMMARY = "START", "RUN_SUMMARY"


class RecordSink(Protocol):
    """A receiver of records to deliver."""

    def enqueue(self, tag: str, record: Mapping[str, Any]) -> None:
        """Enqueue a record for delivery."""


class LogRecords(logging.Handler):
    """A logging handler that sends records to an aggregator with a tag."""

    def __init__(self, sink: RecordSink, tag: str, run_date: str) -> None:
        """Initialize the handler.

        Args:
            sink: receives the records.
            tag: tag of the records.
            run_date: start of the run, the same on all records of the run.
        """
        super().__init__()
        self._sink = sink
        self._tag = tag
        self._run_date = run_date

    def emit(self, record: logging.LogRecord) -> None:
        """Send a log record."""
        self._send(record.levelname, record.getMessage(), record.created)

    def log_start(self) -> None:
        """Send the record of the start of a run."""
        self._send(START, "nodrop run is started", time.time(), numloglevel=0, numerrors=0, numwarnings=0)

    def log_summary(self, tally: SeverityCounter) -> None:
        """Send the summary of a run by its logged errors and warnings."""
        level, message = logging.INFO, "GOOD RUN"
        if tally.error_count:
            level, message = logging.ERROR, "RUN WITH ERRORS"
        elif tally.warning_count:
            level, message = logging.WARNING, "RUN WITH WARNINGS"
        counts = {"numloglevel": level, "numerrors": tally.error_count, "numwarnings": tally.warning_count}
        self._send(RUN_SUMMARY, message, time.time(), **counts)

    def _send(self, level: str, message: str, at_s: float, **more: int) -> None:
        record = {
            "runlogdate": self._run_date,
            "loglevel": level,
            "message": message,
            "@timestamp": format_timestamp(at_s),
        }
        self._sink.enqueue(self._tag, record | more)
