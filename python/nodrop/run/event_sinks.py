"""Who is told of a run besides the terminal and the result's file: index, log, events, metrics, aggregators.

What goes wrong there is said and never ends a run; only what cannot work at all is refused before anything is measured.
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
from nodrop.system.log_files import LOGGER, LogFile, LogLines, Tally, handled_by, timestamp

if TYPE_CHECKING:
    from nodrop.export.fluentd.sender import Sender

Say = Callable[[str], None]


@contextlib.contextmanager
def listeners(plan: Plan, say: Say) -> Iterator[OnEvent]:
    """Everybody a plan wants told, as one OnEvent, for a run or several that belong together.

    Args:
        plan: says who.
        say: takes sentences for the user on what could not be told.

    Raises: ConfigError, before anything is measured, when a file or directory cannot be used.
    """
    ship = plan.ship
    with contextlib.ExitStack() as stack:
        tally = Tally()
        handlers = [_log_handler(ship)] if ship.log_file or ship.debug else []
        hearers: list[_Hearer] = []
        stack.enter_context(handled_by(tally, *handlers, debug=ship.debug))
        if ship.events_file:
            from nodrop.export.jsonl import EventLines

            lines = EventLines(_opened(ship, "events_file"))
            stack.callback(lines.close)
            hearers.append(_Hearer("ship.events_file", lines))
        if ship.openmetrics_file:
            _opened(ship, "openmetrics_file")
            hearers.append(_Hearer("ship.openmetrics_file", _Metrics(ship)))
        if ship.forwardings:
            shipped = stack.enter_context(_forwarded(ship, tally, say))
            hearers.append(_Hearer("ship.fluentd", shipped))
        hearers.append(_Hearer("results_index", partial(_index, plan)))
        hearers.append(_Hearer("log", EventLog()))
        try:
            yield partial(_tell, hearers, say)
        except Exception as error:
            if not tally.error_count:
                LOGGER.error(str(error) or type(error).__name__)
            raise


def _log_handler(ship: ShipPlan) -> logging.Handler:
    """The log's file; details that are to go to none go to standard error."""
    as_json = ship.log_format == "json"
    return LogFile(_opened(ship, "log_file"), as_json) if ship.log_file else LogLines(sys.stderr, as_json)


class _Hearer(NamedTuple):
    """One who is told, and the key that asked for him."""

    key: str
    hear: OnEvent


def _tell(hearers: list[_Hearer], say: Say, event: Event) -> None:
    """Tell everybody; who fails is told no more, and the run goes on."""
    for hearer in tuple(hearers):
        try:
            hearer.hear(event)
        except Exception as error:
            hearers.remove(hearer)
            say(f"{hearer.key}: {error}; the run goes on without it")


def _index(plan: Plan, event: Event) -> None:
    """Put a result that was stored where results are looked up; what is missed here, the next list finds."""
    if isinstance(event, RunDone) and event.path:
        from nodrop.store.index import open_index

        with open_index(plan.results_dir, plan.results_index, mend=False) as index:
            index.add(event.result)


class _Metrics:
    """Writes the figures of all runs so far whenever one ends."""

    def __init__(self, ship: ShipPlan) -> None:
        self._ship = ship
        self._results: list[RunResult] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunDone) and self._ship.openmetrics_file:
            from nodrop.export.openmetrics import write_textfile

            self._results.append(event.result)
            write_textfile(Path(self._ship.openmetrics_file), self._results)
            give(Path(self._ship.openmetrics_file), self._ship.user_id, self._ship.group_id)


@contextlib.contextmanager
def _forwarded(ship: ShipPlan, tally: Tally, say: Say) -> Iterator[OnEvent]:
    """Aggregators get the log meanwhile, and results when they come; what did not arrive is said at the end."""
    from nodrop.export.fluentd.log_records import LogRecords
    from nodrop.export.fluentd.records import records

    run_date = timestamp(time.time())
    senders = {entry.aggregator.name: _sender(ship, entry.aggregator) for entry in ship.forwardings}
    logs = [
        LogRecords(senders[entry.aggregator.name], entry.logging_tag, run_date)
        for entry in ship.forwardings
        if entry.logging_tag
    ]

    def hear(event: Event) -> None:
        if isinstance(event, RunDone) and event.result.status is Status.COMPLETE:
            for record in records([event.result], run_date):
                for entry in ship.forwardings:
                    if entry.result_tag:
                        senders[entry.aggregator.name].keep(entry.result_tag, record)

    try:
        with handled_by(*logs, debug=ship.debug):
            for log in logs:
                log.started()
            try:
                yield hear
            finally:
                for log in logs:
                    log.summarize(tally)
    finally:
        deadline_s = time.monotonic() + ship.wait_s
        for left in [sender.finish(max(0.0, deadline_s - time.monotonic())) for sender in senders.values()]:
            for sentence in left.sentences():
                say(sentence)


def _sender(ship: ShipPlan, aggregator: Aggregator) -> "Sender":
    from nodrop.export.fluentd.sender import Sender

    try:
        return Sender(Path(ship.buffer_dir), aggregator, ship.buffer_bytes_max)
    except ShipError as error:
        raise ConfigError(f"ship.buffer_dir: {ship.buffer_dir} asked: {error}; name another directory") from None


def _opened(ship: ShipPlan, key: str) -> Path:
    """A file that can be written to, and belongs to whom it should. Raises ConfigError."""
    path = Path(getattr(ship, key))
    store.require_writable(path.parent, f"ship.{key}")
    try:
        path.open("a").close()
        give(path, ship.user_id, ship.group_id)
    except OSError as error:
        raise ConfigError(f"ship.{key}: {path} asked: {error.strerror}; name a file that can be written") from None
    return path


def give(path: Path, user_id: int | None, group_id: int | None) -> None:
    """Make a file somebody's, where somebody is named. Raises OSError."""
    if user_id is not None or group_id is not None:
        os.chown(path, -1 if user_id is None else user_id, -1 if group_id is None else group_id)
