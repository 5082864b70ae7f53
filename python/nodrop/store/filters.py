"""Filters as SQL."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, or_, select

from nodrop.model.result_filter import NEWEST, OLDEST, ResultFilter
from nodrop.store.tables import ENTRIES, MEASURES, RUNS, TAGS, to_utc

EXACT_COLUMNS = ("chain_count", "path", "status", "source")
"""Columns that have to be exactly what was asked."""
WILDCARD_COLUMNS = ("label", "host", "sut", "frame_size")
"""Columns where `*` stands for any letters."""
TEXT_COLUMNS = ("run_id", "label", "sut", "host")
ESCAPE = "\\"
RunQuery = Select[*tuple[Any, ...]]
"""A query, whatever its columns are."""


def build_query(wanted: ResultFilter, directory: str) -> RunQuery:
    """Runs that a filter lets through, in its order, with all of their columns and of their entries."""
    columns = (ENTRIES.c.id, ENTRIES.c.directory, ENTRIES.c.name, ENTRIES.c.file, ENTRIES.c.sha256, ENTRIES.c.altered)
    query: RunQuery = select(*columns, RUNS.c.summary).join(ENTRIES, RUNS.c.entry == ENTRIES.c.id)
    query = _ordered(query.where(*build_conditions(wanted, directory)), wanted.sort)
    if wanted.limit is not None:
        query = query.limit(wanted.limit)
    elif wanted.offset:
        query = query.limit(2**62)  # SQLite skips none without a limit
    return query.offset(wanted.offset) if wanted.offset else query


def build_count_query(wanted: ResultFilter, directory: str) -> Select[int]:
    """How many there are, whatever the limit."""
    query = select(func.count()).select_from(RUNS).join(ENTRIES, RUNS.c.entry == ENTRIES.c.id)
    return query.where(*build_conditions(wanted, directory))


def build_conditions(wanted: ResultFilter, directory: str) -> Iterator[ColumnElement[bool]]:
    """What has to hold of a run and its entry."""
    if not wanted.everywhere:
        yield ENTRIES.c.directory == directory
    if wanted.run_ids:
        yield or_(RUNS.c.run_id.in_(wanted.run_ids), ENTRIES.c.name.in_(wanted.run_ids))
    for name in EXACT_COLUMNS:
        if (value := getattr(wanted, name)) is not None:
            yield RUNS.c[name] == value
    for name in WILDCARD_COLUMNS:
        if (value := getattr(wanted, name)) is not None:
            yield RUNS.c[name].like(_pattern(value), escape=ESCAPE) if "*" in value else RUNS.c[name] == value
    for tag in wanted.tags:
        yield _tagged(TAGS.c.tag.like(_pattern(tag), escape=ESCAPE) if "*" in tag else TAGS.c.tag == tag)
    if wanted.since:
        yield RUNS.c.started_at >= to_utc(wanted.since)
    if wanted.until:
        yield RUNS.c.started_at < to_utc(wanted.until)
    if wanted.text:
        pattern = _pattern(f"*{wanted.text}*")
        columns = (RUNS.c[name].ilike(pattern, escape=ESCAPE) for name in TEXT_COLUMNS)
        yield or_(*columns, _tagged(TAGS.c.tag.ilike(pattern, escape=ESCAPE)))


def _tagged(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return ENTRIES.c.id.in_(select(TAGS.c.entry).where(condition))


def _pattern(text: str) -> str:
    for special in (ESCAPE, "%", "_"):
        text = text.replace(special, f"{ESCAPE}{special}")
    return text.replace("*", "%")


def _ordered(query: RunQuery, sort: str) -> RunQuery:
    """Sorted; runs that began together, and those without the measure, newest first."""
    newest = (RUNS.c.started_at.desc(), RUNS.c.run_id.desc())
    if sort == NEWEST:
        return query.order_by(*newest)
    if sort == OLDEST:
        return query.order_by(RUNS.c.started_at, RUNS.c.run_id)
    if sort in ("label", "sut", "host"):
        return query.order_by(RUNS.c[sort].is_(None), RUNS.c[sort], *newest)
    sorting = MEASURES.alias("sorting")
    query = query.outerjoin(sorting, (sorting.c.run == RUNS.c.id) & (sorting.c.key == sort))
    best_first = case((sorting.c.better == "lower", sorting.c.value), else_=-sorting.c.value)
    return query.order_by(sorting.c.value.is_(None), best_first, *newest)
