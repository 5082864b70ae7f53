"""Destinations of events besides the terminal and result.json: index, log, event file, metrics file, aggregators.

A sink that fails later is reported and never ends a run; one that cannot work at all is refused before the first trial.
"""

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nodrop import store
from nodrop.errors import ConfigError, ShipError
from nodrop.model.event import Event, OnEvent, RunDone
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.shipping import Aggregator, ShipPlan
from nodrop.report.log import EventLog
from nodrop.system.log_files import LOGGER, LogFile, LogLines, SeverityCounter, attached, format_timestamp

if TYPE_CHECKING:
    from nodrop.export.fluentd.sender import Sender

ReportMessage = Callable[[str], None]


@contextlib.contextmanager
def open_sinks(plan: Plan, report: ReportMessage) -> Iterator[OnEvent]:
    """Open all sinks of a plan as one OnEvent, for a run or a suite.

    Args:
        plan: names the sinks.
        report: receives messages for the user about sinks that failed.

    Raises: ConfigError, before anything is measured, if a file or directory cannot be used.
    """
    ship = plan.ship
    with contextlib.ExitStack() as stack:
        tally = SeverityCounter()
        handlers = [_log_handler(ship)] if ship.log_file or ship.debug else []
        sinks: list[_Sink] = []
        stack.enter_context(attached(tally, *handlers, debug=ship.debug))
        if ship.events_file:
            from nodrop.export.jsonl import JsonlWriter

            lines = JsonlWriter(_prepare_file(ship, "events_file"))
            stack.callback(lines.close)
            sinks.append(_Sink("ship.events_file", lines))
        if ship.openmetrics_file:
            _prepare_file(ship, "openmetrics_file")
            sinks.append(_Sink("ship.openmetrics_file", _Metrics(ship)))
        if ship.forwardings:
            fluentd = stack.enter_context(_open_fluentd(ship, tally, report))
            sinks.append(_Sink("ship.fluentd", fluentd))
        sinks.append(_Sink("results_index", partial(_index_result, plan)))
        sinks.append(_Sink("log", EventLog()))
        try:
            yield partial(_dispatch, sinks, report)
        except Exception as error:
            if not tally.error_count:
                LOGGER.error(str(error) or type(error).__name__)
            raise


def _log_handler(ship: ShipPlan) -> logging.Handler:
    """Return the handler of the log file, or of standard error if there is none."""
    as_json = ship.log_format == "json"
    return LogFile(_prepare_file(ship, "log_file"), as_json) if ship.log_file else LogLines(sys.stderr, as_json)


class _Sink(NamedTuple):
    """An event sink and the configuration key that enabled it."""

    key: str
    on_event: OnEvent


def _dispatch(sinks: list[_Sink], report: ReportMessage, event: Event) -> None:
    """Dispatch to all sinks; drop a sink that raises."""
    for sink in tuple(sinks):
        try:
            sink.on_event(event)
        except Exception as error:
            sinks.remove(sink)
            report(f"{sink.key}: {error}; the run continues without it")


def _index_result(plan: Plan, event: Event) -> None:
    """Add a stored result to the index; the next listing adds results that are missed here."""
    is_stored = isinstance(event, RunDone) and event.path and Path(event.path).is_relative_to(plan.results_dir)
    if isinstance(event, RunDone) and is_stored:
        from nodrop.store.index import open_index

        with open_index(plan.results_dir, plan.results_index, refresh=False) as index:
            index.add(event.result)


class _Metrics:
    """Writes the metrics of all runs so far whenever a run ends."""

    def __init__(self, ship: ShipPlan) -> None:
        self._ship = ship
        self._results: list[RunResult] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunDone) and self._ship.openmetrics_file:
            from nodrop.export.openmetrics import write_textfile

            self._results.append(event.result)
            write_textfile(Path(self._ship.openmetrics_file), self._results)
            change_owner(Path(self._ship.openmetrics_file), self._ship.user_id, self._ship.group_id)


@contextlib.contextmanager
def _open_fluentd(ship: ShipPlan, tally: SeverityCounter, report: ReportMessage) -> Iterator[OnEvent]:
    """Send the log and the results to aggregators as they come; report at the end what did not arrive."""
    from nodrop.export.fluentd.records import LogRecords, build_records

    run_date = format_timestamp(time.time())
    senders = {entry.aggregator.name: _open_sender(ship, entry.aggregator) for entry in ship.forwardings}
    logs = [
        LogRecords(senders[entry.aggregator.name], entry.logging_tag, run_date)
        for entry in ship.forwardings
        if entry.logging_tag
    ]

    def send_result(event: Event) -> None:
        if isinstance(event, RunDone) and event.result.status is Status.COMPLETE:
            for record in build_records([event.result], run_date):
                for entry in ship.forwardings:
                    if entry.result_tag:
                        senders[entry.aggregator.name].enqueue(entry.result_tag, record)

    try:
        with attached(*logs, debug=ship.debug):
            for log in logs:
                log.log_start()
            try:
                yield send_result
            finally:
                for log in logs:
                    log.log_summary(tally)
    finally:
        deadline_s = time.monotonic() + ship.wait_s
        for undelivered in [sender.finish(max(0.0, deadline_s - time.monotonic())) for sender in senders.values()]:
            for sentence in undelivered.warnings():
                report(sentence)


def _open_sender(ship: ShipPlan, aggregator: Aggregator) -> "Sender":
    from nodrop.export.fluentd.sender import Sender

    try:
        return Sender(Path(ship.buffer_dir), aggregator, ship.buffer_bytes_max)
    except ShipError as error:
        raise ConfigError(f"ship.buffer_dir: cannot use {ship.buffer_dir}: {error}; choose another directory") from None


def _prepare_file(ship: ShipPlan, key: str) -> Path:
    """Create the file if needed, change its owner, and return its path. Raises ConfigError."""
    path = Path(getattr(ship, key))
    store.require_writable(path.parent, f"ship.{key}")
    try:
        path.open("a", encoding="utf-8").close()
        change_owner(path, ship.user_id, ship.group_id)
    except OSError as error:
        raise ConfigError(f"ship.{key}: cannot write to {path}: {error.strerror}; choose another file") from None
    return path


def change_owner(path: Path, user_id: int | None, group_id: int | None) -> None:
    """Change the owner and group of a file, if given. Raises OSError."""
    if user_id is not None or group_id is not None:
        os.chown(path, -1 if user_id is None else user_id, -1 if group_id is None else group_id)
