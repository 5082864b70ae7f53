"""The index of results: a database built from the files, refreshed on use, and not required to measure.

The index can be rebuilt at any time. Listings show the state on disk: when an index is opened, names, times and sizes
are compared with its entries, and new, changed and missing results are added, updated and removed.
"""

from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from sqlalchemy import Connection, Insert, delete, insert, select
from sqlalchemy import Row as SqlRow
from sqlalchemy.exc import SQLAlchemyError

from nodrop.errors import ConfigError
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import ResultRow, Summary
from nodrop.store import filters, reader, tags
from nodrop.store.database import (
    INDEX_FILE,
    IndexDatabase,
    format_reason,
    is_broken,
    move_aside,
    open_database,
    open_in_memory,
)
from nodrop.store.reader import ResultStamp
from nodrop.store.tables import ENTRIES, MEASURES, RUNS, TAGS, to_utc

if TYPE_CHECKING:  # not imported where nothing changed
    from nodrop.model.result import RunResult
    from nodrop.store.reader import StoredResult

T = TypeVar("T")
BATCH = 200
"""Results per write transaction."""


class IndexUpdate(NamedTuple):
    """The changes of a refresh."""

    read_count: int
    """Results that were added or updated."""
    removed_count: int
    """Results that were removed."""


def open_index(results_dir: str | Path, url: str | None = None, *, refresh: bool = True) -> "Index":
    """Open the index of a results directory.

    Args:
        results_dir: the results directory.
        url: URL of its database; None: `index.sqlite` in the directory, or memory where that cannot be written.
        refresh: whether to compare it with the files, which a caller that only adds a result need not do.

    Raises: ConfigError for a database that cannot be used.
    """
    index = Index(Path(results_dir), url)
    if refresh:
        index.refresh()
    return index


class Index:
    """An index of results; a context manager that closes its database."""

    def __init__(self, results_dir: Path, url: str | None = None) -> None:
        self.results_dir = results_dir
        self._url = url
        opened = open_database(results_dir, url)
        self._database: IndexDatabase = opened.database
        self.warnings: MutableSequence[str] = [*opened.warnings]
        """Warnings about the index itself."""

    def __enter__(self) -> Self:
        """Return the open index."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # Queries

    def list(self, criteria: ResultFilter | None = None) -> tuple[ResultRow, ...]:
        """Return the runs that match a filter, in its order."""
        effective = criteria or ResultFilter()
        return self._with_replacement(lambda: self._list(effective))

    def _list(self, criteria: ResultFilter) -> tuple[ResultRow, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(filters.build_query(criteria, self._database.directory)).all()
            tagged = _read_tags(connection, [each.id for each in rows])
        return tuple(self._row(each, tagged) for each in rows)

    def count(self, criteria: ResultFilter | None = None) -> int:
        """Return the number of runs that match a filter, regardless of its limit."""
        with self._database.reading() as connection:
            result = connection.execute(filters.build_count_query(criteria or ResultFilter(), self._database.directory))
            return int(result.scalar_one())

    def find(self, run_id: str) -> ResultRow | None:
        """Return a run by its id; None where it does not exist."""
        rows = self.list(ResultFilter(run_ids=(run_id,)))
        return next((row for row in rows if row.summary.run_id == run_id), rows[0] if rows else None)

    @property
    def problems(self) -> tuple[str, ...]:
        """Results that cannot be read, with the reasons."""
        query = (
            select(ENTRIES.c.problem).where(ENTRIES.c.problem.is_not(None), self._in_directory).order_by(ENTRIES.c.name)
        )
        with self._database.reading() as connection:
            return tuple(str(problem) for problem in connection.execute(query).scalars())

    @property
    def missing(self) -> tuple[str, ...]:
        """Indexed results that are no longer on disk; none after a refresh."""
        stamps = self._read_stamps()
        on_disk = dict(reader.scan_stamps(self.results_dir))
        return tuple(sorted(set(stamps) - set(on_disk)))

    # Changes

    def add(self, result: "RunResult") -> None:
        """Add a stored result. Raises ConfigError."""
        self._with_replacement(lambda: self._update([result.run_id]))

    def remove(self, run_id: str) -> None:
        """Remove a result; a refresh adds it again if its files still exist. Raises ConfigError."""
        self._with_replacement(lambda: self._delete([run_id]))

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Add and remove tags of a result, in its file and in the index; return its tags. Raises ConfigError."""
        entry = self.find(run_id)
        if entry is None:
            raise ConfigError(
                f"result {run_id}: no such run id in {self.results_dir}; list runs with 'nodrop results list'"
            )
        directory = Path(entry.file).parent
        now = tags.update_tags(directory, add, remove)
        self._with_replacement(lambda: self._update([directory.name]))
        return now

    def rebuild(self) -> IndexUpdate:
        """Rebuild the index from the files. Raises ConfigError."""
        self._with_replacement(self._clear)
        return self.refresh()

    def refresh(self) -> IndexUpdate:
        """Add and update results from disk, and remove missing ones. Raises ConfigError."""
        return self._with_replacement(self._refresh)

    def _with_replacement(self, work: Callable[[], T]) -> T:
        """Run an operation, on a replacement index if this one is broken or read-only. Raises ConfigError."""
        try:
            return work()
        except SQLAlchemyError as error:
            self._replace(error)
            self._refresh()
            return work()

    def _refresh(self) -> IndexUpdate:
        stamps = self._read_stamps()  # before the scan, or concurrent additions would appear missing
        on_disk = dict(reader.scan_stamps(self.results_dir))
        removed = [name for name in stamps if name not in on_disk]
        changed = [name for name, stamp in on_disk.items() if stamps.get(name) != stamp]
        self._delete(removed)
        self._update(changed)
        return IndexUpdate(len(changed), len(removed))

    def _replace(self, error: SQLAlchemyError) -> None:
        """Replace an index that is broken or read-only. Raises ConfigError."""
        self._database.close()
        if self._url:
            raise ConfigError(
                f"results_index: {format_reason(error)}; run 'nodrop results rebuild', or choose another database"
            ) from None
        file = self.results_dir / INDEX_FILE
        if is_broken(error):
            self.warnings.append(move_aside(file, error))
            opened = open_database(self.results_dir, None)
        else:
            opened = open_in_memory((f"{file}: {format_reason(error)}, so every result is read again",))
        self.warnings.extend(opened.warnings)
        self._database = opened.database

    @property
    def _in_directory(self) -> Any:
        return ENTRIES.c.directory == self._database.directory

    def _read_stamps(self) -> dict[str, ResultStamp]:
        columns = (ENTRIES.c.name, ENTRIES.c.file, ENTRIES.c.directory_mtime_ns, ENTRIES.c.mtime_ns)
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns, ENTRIES.c.size_bytes).where(self._in_directory))
            return {name: ResultStamp(*rest) for name, *rest in rows}

    def _clear(self) -> None:
        """Delete all tables of a private index, or the entries of this directory in a shared one."""
        if self._url is None:
            self._database.empty()
            return
        with self._database.writing() as connection:
            connection.execute(delete(ENTRIES).where(self._in_directory))

    def _delete(self, names: Sequence[str]) -> None:
        for batch in _split_batches(names):
            with self._database.writing() as connection:
                connection.execute(delete(ENTRIES).where(self._in_directory, ENTRIES.c.name.in_(batch)))

    def _update(self, names: Sequence[str]) -> None:
        """Read results and replace their entries."""
        if not names:
            return
        for batch in _split_batches(names):
            entries = {name: _read(self.results_dir / name) for name in batch}
            with self._database.writing() as connection:
                connection.execute(delete(ENTRIES).where(self._in_directory, ENTRIES.c.name.in_(batch)))
                for name, entry in entries.items():
                    directory = self.results_dir / name
                    if entry and entry.stamp != reader.read_stamp(directory):  # changed during another write
                        entry = _read(directory)  # noqa: PLW2901
                    if entry:
                        _insert(connection, self._database.directory, entry)

    def _row(self, row: SqlRow[Any], tagged: Mapping[int, Sequence[str]]) -> ResultRow:
        above = self.results_dir if row.directory == self._database.directory else Path(row.directory)
        return ResultRow.model_construct(  # validated when added
            summary=Summary.model_validate_json(row.summary),
            tags=tuple(tagged.get(row.id, ())),
            file=f"{above}/{row.name}/{row.file}",
            sha256=row.sha256,
            altered=row.altered,
        )


def _read(directory: Path) -> "StoredResult | None":
    """Read the result in a directory; None without a result."""
    from nodrop.store.reader import read_entry

    stamp = reader.read_stamp(directory)
    return read_entry(directory, stamp) if stamp else None


def _insert(connection: Connection, directory: str, entry: "StoredResult") -> None:
    about = {
        "directory": directory,
        "name": entry.name,
        **entry.stamp._asdict(),
        "sha256": entry.sha256,
        "altered": entry.altered,
        "problem": entry.problem,
    }
    number = _insert_row(connection, insert(ENTRIES).values(about))
    if entry.tags:
        connection.execute(insert(TAGS), [{"entry": number, "tag": tag} for tag in entry.tags])
    for summary in entry.summaries:
        _insert_run(connection, number, summary)


def _insert_run(connection: Connection, entry: int, summary: Summary) -> None:
    fields = summary.model_dump(exclude={"measures", "missing_goals", "doubts"})
    fields["started_at"] = to_utc(summary.started_at)
    values = {"entry": entry, **fields, "summary": summary.model_dump_json()}
    run = _insert_row(connection, insert(RUNS).values(values))
    measures = [{"run": run, "place": place, **measure.model_dump()} for place, measure in enumerate(summary.measures)]
    if measures:
        connection.execute(insert(MEASURES), measures)


def _insert_row(connection: Connection, row: Insert) -> int:
    """Insert a row and return its id."""
    key = connection.execute(row).inserted_primary_key
    assert key
    return int(key[0])


def _read_tags(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    tagged: dict[int, list[str]] = {}
    every = select(TAGS.c.entry, TAGS.c.tag).order_by(TAGS.c.tag)
    for entry, tag in connection.execute(every.where(TAGS.c.entry.in_(ids)) if len(ids) <= BATCH else every):
        tagged.setdefault(entry, []).append(tag)
    return tagged


def _split_batches(names: Sequence[str]) -> Iterable[Sequence[str]]:
    return (names[begin : begin + BATCH] for begin in range(0, len(names), BATCH))
