"""Results, looked up: a database that is made from the files, mended when it lacks some, and never needed to measure.

Everything in it can be made again at any time. What a list shows is what is on disk: each time an index is opened,
names, times and sizes are compared with what it has, and what is new, another or gone is taken in or dropped.
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
from nodrop.store import directory_scan, filters, tags
from nodrop.store.database import (
    INDEX_FILE,
    IndexDatabase,
    format_reason,
    is_broken,
    move_aside,
    open_database,
    open_in_memory,
)
from nodrop.store.directory_scan import ResultStamp
from nodrop.store.tables import ENTRIES, MEASURES, RUNS, TAGS, to_utc

if TYPE_CHECKING:  # a list that has nothing to mend does without
    from nodrop.model.result import RunResult
    from nodrop.store.reader import ResultEntry

T = TypeVar("T")
BATCH = 200
"""Results that are written at once."""


class IndexUpdate(NamedTuple):
    """What an index lacked, or had too much."""

    read_count: int
    """Results that were read."""
    removed_count: int
    """Results that are gone."""


def open_index(results_dir: str | Path, url: str | None = None, *, refresh: bool = True) -> "Index":
    """The index of a results directory, as the files are now.

    Args:
        results_dir: where results are.
        url: database that holds it; None: `index.sqlite` in the directory, or memory where that cannot be written.
        mend: whether to compare it with the files; who only adds a result need not.

    Raises: ConfigError for a database that cannot be used.
    """
    index = Index(Path(results_dir), url)
    if refresh:
        index.refresh()
    return index


class Index:
    """A database of results; a context manager that lets go of it."""

    def __init__(self, results_dir: Path, url: str | None = None) -> None:
        self.results_dir = results_dir
        self._url = url
        opened = open_database(results_dir, url)
        self._database: IndexDatabase = opened.database
        self.warnings: MutableSequence[str] = [*opened.warnings]
        """Sentences on what was wrong with the index itself."""

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    # What there is

    def list(self, wanted: ResultFilter | None = None) -> tuple[ResultRow, ...]:
        """Runs that a filter lets through, in its order."""
        asked = wanted or ResultFilter()
        return self._attempt(lambda: self._list(asked))

    def _list(self, asked: ResultFilter) -> tuple[ResultRow, ...]:
        with self._database.reading() as connection:
            found = connection.execute(filters.build_query(asked, self._database.directory)).all()
            tagged = _tags(connection, [each.id for each in found])
        return tuple(self._row(each, tagged) for each in found)

    def count(self, wanted: ResultFilter | None = None) -> int:
        """How many there are, whatever the filter's limit."""
        with self._database.reading() as connection:
            found = connection.execute(filters.build_count_query(wanted or ResultFilter(), self._database.directory))
            return int(found.scalar_one())

    def find(self, run_id: str) -> ResultRow | None:
        """A run by its id; None where there is none."""
        found = self.list(ResultFilter(run_ids=(run_id,)))
        return next((row for row in found if row.summary.run_id == run_id), found[0] if found else None)

    @property
    def problems(self) -> tuple[str, ...]:
        """Results that cannot be read, and why."""
        query = select(ENTRIES.c.problem).where(ENTRIES.c.problem.is_not(None), self._here).order_by(ENTRIES.c.name)
        with self._database.reading() as connection:
            return tuple(str(found) for found in connection.execute(query).scalars())

    @property
    def missing(self) -> tuple[str, ...]:
        """Results it knows that are not on disk any more; none once it was mended."""
        known = self._known()
        there = dict(directory_scan.scan_stamps(self.results_dir))
        return tuple(sorted(set(known) - set(there)))

    # What is changed

    def add(self, result: "RunResult") -> None:
        """Take in a result that was stored. Raises ConfigError."""
        self._attempt(lambda: self._take([result.run_id]))

    def remove(self, run_id: str) -> None:
        """Forget a result; where its files stay, it comes back when the index is mended. Raises ConfigError."""
        self._attempt(lambda: self._drop([run_id]))

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Give a result tags and take some from it, in its file and here; gives those it has. Raises ConfigError."""
        found = self.find(run_id)
        if found is None:
            raise ConfigError(
                f"result {run_id} asked, no run of that id in {self.results_dir}; list them: nodrop results list"
            )
        directory = Path(found.file).parent
        now = tags.update_tags(directory, add, remove)
        self._attempt(lambda: self._take([directory.name]))
        return now

    def rebuild(self) -> IndexUpdate:
        """Make it anew from the files. Raises ConfigError."""
        self._attempt(self._forget_all)
        return self.refresh()

    def refresh(self) -> IndexUpdate:
        """Take in what is new or another on disk, and drop what is gone. Raises ConfigError."""
        return self._attempt(self._refresh)

    def _attempt(self, work: Callable[[], T]) -> T:
        """What some work gives, on another index where this one is broken or cannot be written. Raises ConfigError."""
        try:
            return work()
        except SQLAlchemyError as error:
            self._replace(error)
            self._refresh()
            return work()

    def _refresh(self) -> IndexUpdate:
        known = self._known()  # before the files are looked at, or what comes meanwhile would seem gone
        there = dict(directory_scan.scan_stamps(self.results_dir))
        gone = [name for name in known if name not in there]
        other = [name for name, stamp in there.items() if known.get(name) != stamp]
        self._drop(gone)
        self._take(other)
        return IndexUpdate(len(other), len(gone))

    def _replace(self, error: SQLAlchemyError) -> None:
        """Go on with another index where this one is broken or cannot be written. Raises ConfigError."""
        self._database.close()
        if self._url:
            raise ConfigError(
                f"results_index: {format_reason(error)}; make it anew: nodrop results rebuild, or name another"
            ) from None
        file = self.results_dir / INDEX_FILE
        if is_broken(error):
            self.warnings.append(move_aside(file, error))
            opened = open_database(self.results_dir, None)
        else:
            opened = open_in_memory((f"{file}: {format_reason(error)}, so every result is read anew",))
        self.warnings.extend(opened.warnings)
        self._database = opened.database

    @property
    def _here(self) -> Any:
        return ENTRIES.c.directory == self._database.directory

    def _known(self) -> dict[str, ResultStamp]:
        columns = (ENTRIES.c.name, ENTRIES.c.file, ENTRIES.c.directory_mtime_ns, ENTRIES.c.mtime_ns)
        with self._database.reading() as connection:
            found = connection.execute(select(*columns, ENTRIES.c.size_bytes).where(self._here))
            return {name: ResultStamp(*rest) for name, *rest in found}

    def _forget_all(self) -> None:
        """Drop all tables where nobody else has anything in them, else what is of this directory."""
        if self._url is None:
            self._database.empty()
            return
        with self._database.writing() as connection:
            connection.execute(delete(ENTRIES).where(self._here))

    def _drop(self, names: Sequence[str]) -> None:
        for batch in _batches(names):
            with self._database.writing() as connection:
                connection.execute(delete(ENTRIES).where(self._here, ENTRIES.c.name.in_(batch)))

    def _take(self, names: Sequence[str]) -> None:
        """Read these results and put them in place of what is known of them."""
        if not names:
            return
        for batch in _batches(names):
            found = {name: _read(self.results_dir / name) for name in batch}
            with self._database.writing() as connection:
                connection.execute(delete(ENTRIES).where(self._here, ENTRIES.c.name.in_(batch)))
                for name, entry in found.items():
                    directory = self.results_dir / name
                    if entry and entry.stamp != directory_scan.read_stamp(directory):  # changed while others wrote
                        entry = _read(directory)  # noqa: PLW2901
                    if entry:
                        _insert(connection, self._database.directory, entry)

    def _row(self, found: SqlRow[Any], tagged: Mapping[int, Sequence[str]]) -> ResultRow:
        above = self.results_dir if found.directory == self._database.directory else Path(found.directory)
        return ResultRow.model_construct(  # of what was checked as it came in
            summary=Summary.model_validate_json(found.summary),
            tags=tuple(tagged.get(found.id, ())),
            file=f"{above}/{found.name}/{found.file}",
            sha256=found.sha256,
            altered=found.altered,
        )


def _read(directory: Path) -> "ResultEntry | None":
    """What a result's directory holds; None where there is no result."""
    from nodrop.store.reader import read_entry

    stamp = directory_scan.read_stamp(directory)
    return read_entry(directory, stamp) if stamp else None


def _insert(connection: Connection, directory: str, entry: "ResultEntry") -> None:
    about = {
        "directory": directory,
        "name": entry.name,
        **entry.stamp._asdict(),
        "sha256": entry.sha256,
        "altered": entry.altered,
        "problem": entry.problem,
    }
    number = _inserted(connection, insert(ENTRIES).values(about))
    if entry.tags:
        connection.execute(insert(TAGS), [{"entry": number, "tag": tag} for tag in entry.tags])
    for summary in entry.summaries:
        _insert_run(connection, number, summary)


def _insert_run(connection: Connection, entry: int, summary: Summary) -> None:
    fields = summary.model_dump(exclude={"measures"})
    fields["started_at"] = to_utc(summary.started_at)
    values = {"entry": entry, **fields, "summary": summary.model_dump_json()}
    run = _inserted(connection, insert(RUNS).values(values))
    measures = [{"run": run, "place": place, **measure.model_dump()} for place, measure in enumerate(summary.measures)]
    if measures:
        connection.execute(insert(MEASURES), measures)


def _inserted(connection: Connection, row: Insert) -> int:
    """Puts it in; gives its number."""
    key = connection.execute(row).inserted_primary_key
    assert key
    return int(key[0])


def _tags(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    tagged: dict[int, list[str]] = {}
    every = select(TAGS.c.entry, TAGS.c.tag).order_by(TAGS.c.tag)
    for entry, tag in connection.execute(every.where(TAGS.c.entry.in_(ids)) if len(ids) <= BATCH else every):
        tagged.setdefault(entry, []).append(tag)
    return tagged


def _batches(names: Sequence[str]) -> Iterable[Sequence[str]]:
    return (names[begin : begin + BATCH] for begin in range(0, len(names), BATCH))
