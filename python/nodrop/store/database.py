"""The database of the index: a file in the results directory, a database by URL, or memory."""

import contextlib
import platform
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from nodrop.errors import ConfigError
from nodrop.store.tables import METADATA, VERSION, VERSIONS

INDEX_FILE = "index.sqlite"
WAIT_S = 30
"""Timeout of a writer for other writers."""
CONNECT_S = 5
"""Connection timeout of a database."""
WRITE_LOCK_ID = 0x6E6F64726F70
"""Id of PostgreSQL's advisory write lock: `nodrop` in ASCII."""
WRITES_OPTION = "nodrop_writes"


class IndexDatabase:
    """A database with the tables of an index."""

    def __init__(self, engine: Engine, directory: str) -> None:
        self._engine = engine
        self.directory = directory
        """Name of the results directory in the database."""

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction with a consistent view."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open an exclusive write transaction."""
        with self._engine.connect().execution_options(**{WRITES_OPTION: True}) as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_ID})"))
            yield connection

    def make_tables(self) -> None:
        """Create missing tables; re-create all tables of another version."""
        with self.reading() as connection:
            if _read_version(connection) == VERSION:
                return
        with self.writing() as connection:
            version = _read_version(connection)
            if version == VERSION:
                return
            if version is not None:
                METADATA.drop_all(connection)
            METADATA.create_all(connection)
            connection.execute(VERSIONS.insert().values(version=VERSION))

    def empty(self) -> None:
        """Re-create all tables."""
        with self.writing() as connection:
            METADATA.drop_all(connection)
            METADATA.create_all(connection)
            connection.execute(VERSIONS.insert().values(version=VERSION))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


class OpenedDatabase(NamedTuple):
    """An open database, with warnings about its opening."""

    database: IndexDatabase
    warnings: tuple[str, ...] = ()


def open_database(results_dir: Path, url: str | None) -> OpenedDatabase:
    """Open the database of a results directory.

    Args:
        results_dir: the results directory.
        url: URL of a database; None: the file in the directory, or memory where the file cannot be written.

    Raises: ConfigError for an unusable URL.
    """
    return open_by_url(results_dir, url) if url else _open_in_directory(results_dir)


def open_by_url(results_dir: Path, url: str) -> OpenedDatabase:
    """Open a database by URL. Raises ConfigError."""
    parsed = _parse_url(url)
    name = parsed.render_as_string(hide_password=True)
    if parsed.get_backend_name() == "sqlite":
        engine = _make_sqlite_engine(parsed)
    else:
        _require_driver(name)
        engine = create_engine(parsed.set(drivername="postgresql+psycopg"), connect_args={"connect_timeout": CONNECT_S})
    database = IndexDatabase(engine, f"{platform.node()}:{results_dir.absolute()}")
    try:
        database.make_tables()
    except SQLAlchemyError as error:
        raise ConfigError(
            f"results_index: cannot use {name} ({format_reason(error)}); name an existing database, e.g. "
            "postgresql://user@host/nodrop, or none"
        ) from None
    return OpenedDatabase(database)


def _open_in_directory(results_dir: Path) -> OpenedDatabase:
    """Open the index file, a new file in place of a broken one, or memory."""
    file = results_dir / INDEX_FILE
    if not results_dir.is_dir():
        return open_in_memory()
    warnings: list[str] = []
    for _ in range(2):
        database = IndexDatabase(_make_sqlite_engine(URL.create("sqlite", database=str(file))), ".")
        try:
            database.make_tables()
        except SQLAlchemyError as error:
            database.close()
            if not is_broken(error):
                break
            warnings.append(move_aside(file, error))
        else:
            return OpenedDatabase(database, tuple(warnings))
    return open_in_memory((*warnings, f"{file}: cannot be written; every result is read again"))


def open_in_memory(warnings: tuple[str, ...] = ()) -> OpenedDatabase:
    """Open a database in memory."""
    engine = _make_sqlite_engine(URL.create("sqlite"), poolclass=StaticPool, connect_args={"check_same_thread": False})
    database = IndexDatabase(engine, ".")
    database.make_tables()
    return OpenedDatabase(database, warnings)


def is_broken(error: SQLAlchemyError) -> bool:
    """Return whether a file is not a valid index, rather than busy, full or write-protected."""
    cause = error.orig if isinstance(error, DatabaseError) else None
    if isinstance(cause, sqlite3.OperationalError):
        return "no such column" in str(cause) or "no such table" in str(cause)
    return isinstance(cause, sqlite3.DatabaseError)


def move_aside(file: Path, error: SQLAlchemyError) -> str:
    """Rename a broken index, with what belongs to it; gives a sentence."""
    aside = file.with_name(f"{file.name}.broken-{time.time_ns()}")
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(OSError):
            file.with_name(f"{file.name}{suffix}").rename(aside.with_name(f"{aside.name}{suffix}"))
    return f"{file}: no index that can be used ({format_reason(error)}); it is now {aside.name}, and a new one was made"


def format_reason(error: SQLAlchemyError) -> str:
    """Format an error of a database in one line, without passwords."""
    message = str(error.orig if isinstance(error, DatabaseError) and error.orig else error).strip()
    return message.splitlines()[0].rstrip(".") if message else type(error).__name__


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ConfigError("results_index: not a database URL; use e.g. postgresql://user@host/nodrop") from None
    if parsed.get_backend_name() not in ("postgresql", "sqlite"):
        raise ConfigError(
            f"results_index: unsupported kind of database ({parsed.get_backend_name()}); use postgresql or sqlite, "
            "e.g. postgresql://user@host/nodrop"
        )
    return parsed


def _require_driver(name: str) -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"results_index: no PostgreSQL driver for {name}; run pip install 'nodrop[postgresql]'"
        ) from None


def _make_sqlite_engine(url: URL, **options: Any) -> Engine:
    engine = create_engine(url, **({"connect_args": {"timeout": WAIT_S}} | options))

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # explicit transactions
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES_OPTION)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _read_version(connection: Connection) -> int | None:
    """Return the version of the tables; None without tables."""
    if not connection.dialect.has_table(connection, VERSIONS.name):
        return None
    return connection.execute(select(VERSIONS.c.version)).scalar()
