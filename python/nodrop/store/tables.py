"""Tables of the index, the same in SQLite and PostgreSQL. SQL reference: docs/reference/results.md."""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 3
"""Schema version; an index of another version is rebuilt."""
METADATA = MetaData()
VERSIONS = Table("nodrop_index", METADATA, Column("version", Integer, nullable=False))
ENTRIES = Table(
    "nodrop_entries",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("directory", Text, nullable=False),  # results directory; `.` for an index inside it
    Column("name", Text, nullable=False),  # name of the result's directory
    Column("file", Text, nullable=False),  # name of the result's file
    Column("directory_mtime_ns", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", Text),
    Column("altered", Boolean, nullable=False),
    Column("problem", Text),  # reason why the result cannot be read
    UniqueConstraint("directory", "name"),
)
"""A directory with a result, as read. A result of another tester may contain several runs."""
RUNS = Table(
    "nodrop_runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("entry", ForeignKey(ENTRIES.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column("run_id", Text, nullable=False, index=True),
    Column("source", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False, index=True),
    Column("wall_s", Float, nullable=False),
    Column("status", Text, nullable=False),
    Column("error", Text),
    Column("label", Text, index=True),
    Column("sut", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("chain_count", Integer, nullable=False),
    Column("flow_count", BigInteger, nullable=False),
    Column("frame_size", Text, nullable=False),
    Column("frame_bytes", Float, nullable=False),
    Column("bidirectional", Boolean, nullable=False),
    Column("asked", Text, nullable=False),
    Column("algorithm", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("cpu_model", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("trial_count", Integer, nullable=False),
    Column("setup", Text, nullable=False, index=True),
    Column("summary", Text, nullable=False),  # the summary as JSON
)
"""A run, with the fields of its summary."""
MEASURES = Table(
    "nodrop_measures",
    METADATA,
    Column("run", ForeignKey(RUNS.c.id, ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("place", Integer, nullable=False),  # in the run's list
    Column("text", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("better", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("low", Float),
    Column("high", Float),
    Column("limit", Text, nullable=False),
    Index("nodrop_measures_key", "key"),
)
"""A measure of a run."""
TAGS = Table(
    "nodrop_tags",
    METADATA,
    Column("entry", ForeignKey(ENTRIES.c.id, ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True, index=True),
)
"""A tag of a result."""


def to_utc(text: str) -> datetime:
    """Convert a timestamp to UTC; a timestamp without time zone is UTC, because SQLite has no zones."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # on the first or the last representable day
        return moment.replace(tzinfo=UTC)
