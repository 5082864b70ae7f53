"""Delivery of buffered records in the background of a run."""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.errors import ShipError
from nodrop.export.fluentd.buffer import BufferFull, RecordBuffer, delivery_lock, get_buffer_path
from nodrop.export.fluentd.forward import ForwardConnection
from nodrop.model.shipping import Aggregator
from nodrop.units import format_count

ANSWER_S = 5.0
"""Timeout of a reply from an aggregator."""
RETRY_FIRST_S, RETRY_MAX_S = 1.0, 30.0
"""Back-off between retries, which doubles from the first to the maximum."""


class DeliveryReport(NamedTuple):
    """Records that were not delivered to an aggregator."""

    aggregator: Aggregator
    path: Path
    """The buffer's file."""
    waiting_count: int
    """Records in the buffer, to be sent later."""
    delivery_error: str
    """Reason for the failed delivery."""
    lost_count: int = 0
    """Records that could not be stored in the buffer."""
    append_error: str = ""
    """Reason for the lost records."""

    def warnings(self) -> Iterator[str]:
        """Yield warnings about undelivered records; none when everything arrived."""
        if self.waiting_count:
            waiting = f"{self._records(self.waiting_count)} are buffered in {self.path.parent}"
            yield f"{waiting}: {self.delivery_error}; the next run or 'nodrop ship' sends them"
        if self.lost_count:
            yield f"{self._records(self.lost_count)} were lost: {self.append_error}"

    def _records(self, count: int) -> str:
        return f"{format_count(count, 'record')} for {self.aggregator.name}"


class BufferStatus(NamedTuple):
    """The aggregator and number of records of a buffer."""

    aggregator: Aggregator
    record_count: int


def read_status(path: Path) -> BufferStatus:
    """Read the status of a buffer. Raises ShipError where it cannot be read."""
    with _reported_as_ship_error(path), RecordBuffer(path) as buffer:
        return BufferStatus(buffer.aggregator, buffer.count)


def deliver(path: Path) -> None:
    """Send all records of a buffer, oldest first. Raises ShipError where delivery fails."""
    with _reported_as_ship_error(path), delivery_lock(path) as alone, RecordBuffer(path) as buffer:
        if not alone:
            raise ShipError("another nodrop process is sending them")
        aggregator = buffer.aggregator
        while chunk := buffer.next_chunk():
            with ForwardConnection(aggregator, ANSWER_S) as connection:
                while chunk:
                    connection.send(chunk)
                    buffer.acknowledge(chunk)
                    chunk = buffer.next_chunk() if connection.is_keepalive else None


@contextlib.contextmanager
def _reported_as_ship_error(path: Path) -> Iterator[None]:
    """Convert errors of the buffer and the network to ShipError."""
    try:
        yield
    except OSError as error:
        raise ShipError((error.strerror or str(error)).lower()) from None
    except sqlite3.Error as error:
        raise ShipError(f"buffer {path}: {error}") from None


class Sender:
    """Buffers records for an aggregator and delivers them in a thread; no method raises or blocks on delivery."""

    def __init__(self, directory: Path, aggregator: Aggregator, bytes_max: int) -> None:
        """Open the buffer. Raises ShipError where it cannot be used."""
        self._aggregator = aggregator
        self._path = get_buffer_path(directory, aggregator)
        with _reported_as_ship_error(self._path):
            self._buffer = RecordBuffer(self._path, bytes_max)
            self._buffer.describe(aggregator)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._lost_count = 0
        self._append_error = ""
        self._delivery_error = ""
        self._thread = threading.Thread(target=self._run, name=f"fluentd {aggregator.name}", daemon=True)
        self._thread.start()

    def enqueue(self, tag: str, record: Mapping[str, Any]) -> None:
        """Enqueue a record for delivery."""
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
        self._append_error = why

    def finish(self, wait_s: float) -> DeliveryReport:
        """Wait for delivery up to a timeout, and report undelivered records."""
        self._ending.set()
        self._wake.set()
        self._thread.join(wait_s)
        with self._lock:
            try:
                waiting_count = self._buffer.count
                self._buffer.__exit__()
            except sqlite3.Error as error:
                waiting_count, self._delivery_error = 0, f"the buffer: {error}"
        reason = self._delivery_error or f"no reply within {wait_s:g} s"
        return DeliveryReport(self._aggregator, self._path, waiting_count, reason, self._lost_count, self._append_error)

    def _run(self) -> None:
        """Deliver new records, with back-off after failures, and a last time at the end."""
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
            self._delivery_error = str(error)
            return False
        self._delivery_error = ""
        return True
