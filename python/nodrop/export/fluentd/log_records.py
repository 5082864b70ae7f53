"""Log records as NFVbench sends them: loglevel, message, @timestamp, runlogdate (docs/reference/fluentd-records.md)."""

import logging
import time
from collections.abc import Mapping
from typing import Any, Protocol

from nodrop.system.log_files import SeverityCounter, timestamp

START, RUN_SUMMARY = "START", "RUN_SUMMARY"


class RecordSink(Protocol):
    """Whoever has records delivered."""

    def keep(self, tag: str, record: Mapping[str, Any]) -> None:
        """Have a record delivered."""


class LogRecords(logging.Handler):
    """Sends what is logged to an aggregator, under a tag."""

    def __init__(self, keeper: RecordSink, tag: str, run_date: str) -> None:
        """Send to a keeper.

        Args:
            keeper: takes the records.
            tag: what they are labelled with.
            run_date: when the run began; the same on all its records.
        """
        super().__init__()
        self._keeper = keeper
        self._tag = tag
        self._run_date = run_date

    def emit(self, record: logging.LogRecord) -> None:
        """Send one."""
        self._send(record.levelname, record.getMessage(), record.created)

    def started(self) -> None:
        """Say that a run begins."""
        self._send(START, "nodrop run is started", time.time(), numloglevel=0, numerrors=0, numwarnings=0)

    def summarize(self, tally: SeverityCounter) -> None:
        """Say how the run went, by what was logged."""
        level, message = logging.INFO, "GOOD RUN"
        if tally.error_count:
            level, message = logging.ERROR, "RUN WITH ERRORS"
        elif tally.warning_count:
            level, message = logging.WARNING, "RUN WITH WARNINGS"
        counts = {"numloglevel": level, "numerrors": tally.error_count, "numwarnings": tally.warning_count}
        self._send(RUN_SUMMARY, message, time.time(), **counts)

    def _send(self, level: str, message: str, at_s: float, **more: int) -> None:
        record = {"runlogdate": self._run_date, "loglevel": level, "message": message, "@timestamp": timestamp(at_s)}
        self._keeper.keep(self._tag, record | more)
