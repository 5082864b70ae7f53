"""A disk buffer of records for one aggregator, in an SQLite file: stored before `append` returns, deleted on receipt.

The next process delivers the records of a process that was killed. Unacknowledged records are sent again as the same
chunk with the same id, so an aggregator receives records twice only where the acknowledgement was lost.

"""

import contextlib
import fcntl
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgpack
from pydantic import ValidationError

from nodrop.errors import ShipError
from nodrop.model.shipping import Aggregator

SUFFIX = ".sqlite"
CHUNK_COUNT_MAX = 500
CHUNK_BYTES_MAX = 2**20
BUSY_S = 30.0
"""Timeout for the file's write lock, which another thread or process keeps while a busy disk stores its data."""
PRAGMAS = "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
"""The file shrinks when records are deleted; a statement returns after its data is on disk."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS aggregator (only INTEGER PRIMARY KEY CHECK (only = 1), description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tag TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    body BLOB NOT NULL,
    chunk TEXT
);
"""


class BufferFull(Exception):
    """The buffer has no space for another record."""


class BufferedRecord(NamedTuple):
    """A record in the buffer."""

    tag: str
    time_ns: int
    """Time of the record, nanoseconds since 1970."""
    body: bytes
    """The record as msgpack."""


class Chunk(NamedTuple):
    """Records that are sent and acknowledged together."""

    chunk_id: str
    records: tuple[BufferedRecord, ...]

    @property
    def tag(self) -> str:
        """The tag of all records."""
        return self.records[0].tag


class RecordBuffer:
    """The buffer of one aggregator, for one thread at a time; raises sqlite3.Error and OSError."""

    def __init__(self, path: Path, bytes_max: int | None = None) -> None:
        """Open the buffer, and create it if necessary.

        Args:
            path: the file.
            bytes_max: size limit of the file; None: no limit.
        """
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        with contextlib.suppress(OSError):
            path.chmod(0o600)
        self._database.executescript(PRAGMAS + SCHEMA)
        if bytes_max is not None:
            (page_bytes,) = self._database.execute("PRAGMA page_size").fetchone()
            self._database.execute(f"PRAGMA max_page_count = {bytes_max // page_bytes}")

    def __enter__(self) -> Self:
        """Return the open buffer."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the buffer."""
        self._database.close()

    @property
    def aggregator(self) -> Aggregator:
        """The aggregator of the records, as last described. Raises ShipError where it was not described."""
        row = self._database.execute("SELECT description FROM aggregator").fetchone()
        try:
            return Aggregator.model_validate_json(row[0] if row else "")
        except ValidationError:
            raise ShipError(
                f"{self.path}: the buffer does not name its aggregator in this release's format; start a run that "
                "ships to that aggregator"
            ) from None

    def describe(self, aggregator: Aggregator) -> None:
        """Store the aggregator of the records, so that they can be delivered without a configuration."""
        self._database.execute("INSERT OR REPLACE INTO aggregator VALUES (1, ?)", (aggregator.model_dump_json(),))

    def append(self, tag: str, time_ns: int, record: Mapping[str, Any]) -> None:
        """Store a record on disk. Raises Full."""
        row = (tag, time_ns, msgpack.packb(record, default=str))
        try:
            self._database.execute("INSERT INTO record (tag, time_ns, body) VALUES (?, ?, ?)", row)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise BufferFull from None
            raise

    def next_chunk(self) -> Chunk | None:
        """Return the oldest records of one tag, with an id that lasts until acknowledgement; None without records."""
        rows = self._database.execute(
            "SELECT id, chunk, tag, time_ns, body FROM record ORDER BY id LIMIT ?", (CHUNK_COUNT_MAX,)
        ).fetchall()
        if not rows:
            return None
        chunk_id = rows[0][1]
        if chunk_id is not None:
            return Chunk(
                chunk_id, tuple(BufferedRecord(*row[2:]) for row in takewhile(lambda row: row[1] == chunk_id, rows))
            )
        chunk_rows = [row for row, _ in takewhile(lambda pair: pair[1] <= CHUNK_BYTES_MAX, _add_preceding_bytes(rows))]
        chunk_rows = list(takewhile(lambda row: row[2] == rows[0][2], chunk_rows))
        chunk_id = secrets.token_hex(16)
        self._database.execute("UPDATE record SET chunk = ? WHERE id <= ?", (chunk_id, chunk_rows[-1][0]))
        return Chunk(chunk_id, tuple(BufferedRecord(*row[2:]) for row in chunk_rows))

    def acknowledge(self, chunk: Chunk) -> None:
        """Delete the records of a chunk, which have arrived."""
        self._database.execute("DELETE FROM record WHERE chunk = ?", (chunk.chunk_id,))

    @property
    def count(self) -> int:
        """The number of records."""
        (count,) = self._database.execute("SELECT count(*) FROM record").fetchone()
        return int(count)


def get_buffer_path(directory: Path, aggregator: Aggregator) -> Path:
    """Return the path of an aggregator's buffer."""
    return directory / (re.sub(r"[^A-Za-z0-9.-]", "_", f"{aggregator.host}-{aggregator.port}") + SUFFIX)


def list_buffers(directory: Path) -> tuple[Path, ...]:
    """Return the paths of all buffers."""
    return tuple(sorted(directory.glob(f"*{SUFFIX}")))


@contextlib.contextmanager
def delivery_lock(path: Path) -> Iterator[bool]:
    """Lock the delivery of a buffer; False where another process holds the lock."""
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def _add_preceding_bytes(rows: list[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield each row with the total length of the previous rows."""
    length = 0
    for row in rows:
        yield row, length
        length += len(row[4])
