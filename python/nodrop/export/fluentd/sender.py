"""Delivers what waits in a buffer, beside the run and never in its way."""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.errors import ShipError
from nodrop.export.fluentd.buffer import BufferFull, RecordBuffer, buffer_path, delivery_lock
from nodrop.export.fluentd.forward import ForwardConnection
from nodrop.model.shipping import Aggregator

ANSWER_S = 5.0
"""How long an aggregator may take to answer."""
RETRY_FIRST_S, RETRY_MAX_S = 1.0, 30.0
"""Time between two tries while it is away; doubles from the first to the last."""


class DeliveryReport(NamedTuple):
    """What an aggregator has not got."""

    aggregator: Aggregator
    path: Path
    """The buffer's file."""
    waiting_count: int
    """Records that are on disk and will be sent."""
    trouble: str
    """Why they were not sent yet."""
    lost_count: int = 0
    """Records that could not even be kept."""
    refused: str = ""
    """Why not."""

    def sentences(self) -> Iterator[str]:
        """What a user has to know of it; nothing when everything arrived."""
        if self.waiting_count:
            waiting = f"{_records(self.waiting_count)} for {self.aggregator.name} wait in {self.path.parent}"
            yield f"{waiting}: {self.trouble}; the next run sends them, or: nodrop ship"
        if self.lost_count:
            yield f"{_records(self.lost_count)} for {self.aggregator.name} were not kept: {self.refused}"


def _records(count: int) -> str:
    return f"{count} record{'s' if count > 1 else ''}"


class BufferStatus(NamedTuple):
    """How many records wait for whom."""

    aggregator: Aggregator
    record_count: int


def read_status(path: Path) -> BufferStatus:
    """What is in a buffer. Raises ShipError when it cannot be read."""
    with _readable(path), RecordBuffer(path) as buffer:
        return BufferStatus(buffer.aggregator, buffer.count)


def deliver(path: Path) -> None:
    """Send everything that waits in a buffer, oldest first. Raises ShipError for what keeps it from arriving."""
    with _readable(path), delivery_lock(path) as alone, RecordBuffer(path) as buffer:
        if not alone:
            raise ShipError("another nodrop is sending them")
        whom = buffer.aggregator
        while chunk := buffer.next_chunk():
            with ForwardConnection(whom, ANSWER_S) as connection:
                while chunk:
                    connection.send(chunk)
                    buffer.acknowledged(chunk)
                    chunk = buffer.next_chunk() if connection.keeps_alive else None


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What goes wrong with a buffer or on the network becomes a sentence."""
    try:
        yield
    except OSError as error:
        raise ShipError((error.strerror or str(error)).lower()) from None
    except sqlite3.Error as error:
        raise ShipError(f"the buffer {path}: {error}") from None


class Sender:
    """Keeps records for an aggregator and delivers them from a thread of its own; no method raises or waits for it."""

    def __init__(self, directory: Path, aggregator: Aggregator, bytes_max: int) -> None:
        """Open the buffer. Raises ShipError when it cannot be used."""
        self._aggregator = aggregator
        self._path = buffer_path(directory, aggregator)
        with _readable(self._path):
            self._buffer = RecordBuffer(self._path, bytes_max)
            self._buffer.describe(aggregator)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._lost_count = 0
        self._refused = ""
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name=f"fluentd {aggregator.name}", daemon=True)
        self._thread.start()

    def keep(self, tag: str, record: Mapping[str, Any]) -> None:
        """Have a record delivered."""
        try:
            with self._lock:
                self._buffer.append(tag, time.time_ns(), record)
        except BufferFull:
            self._lose("the buffer is full (ship.buffer_bytes)")
        except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as error:
            self._lose(f"the buffer: {error}")
        self._wake.set()

    def _lose(self, why: str) -> None:
        self._lost_count += 1
        self._refused = why

    def finish(self, wait_s: float) -> DeliveryReport:
        """Give delivery so much more time; says what is left."""
        self._ending.set()
        self._wake.set()
        self._thread.join(wait_s)
        with self._lock:
            try:
                waiting_count = self._buffer.count
                self._buffer.__exit__()
            except sqlite3.Error as error:
                waiting_count, self._trouble = 0, f"the buffer: {error}"
        away = self._trouble or f"no answer within {wait_s:g} s"
        return DeliveryReport(self._aggregator, self._path, waiting_count, away, self._lost_count, self._refused)

    def _run(self) -> None:
        """Deliver whenever there is something; less and less often while that fails; a last time at the end."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)  # the measurement comes first
        retry_s = RETRY_FIRST_S
        while True:
            last = self._ending.is_set()
            self._wake.clear()
            delivered = self._try()
            if last:
                return
            if delivered:
                retry_s = RETRY_FIRST_S
                self._wake.wait()
            else:
                self._ending.wait(retry_s)
                retry_s = min(2 * retry_s, RETRY_MAX_S)

    def _try(self) -> bool:
        try:
            deliver(self._path)
        except ShipError as error:
            self._trouble = str(error)
            return False
        self._trouble = ""
        return True
