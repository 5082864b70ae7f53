"""SQL of result filters."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, or_, select

from nodrop.model.result_filter import NEWEST, OLDEST, ResultFilter
from nodrop.store.tables import ENTRIES, MEASURES, RUNS, TAGS, to_utc

EXACT_COLUMNS = ("chain_count", "path", "status", "source", "setup")
"""Columns that must match exactly."""
WILDCARD_COLUMNS = ("label", "host", "sut", "frame_size")
"""Columns in which `*` matches any characters."""
TEXT_COLUMNS = ("run_id", "label", "sut", "host")
ESCAPE = "\\"
RunQuery = Select[*tuple[Any, ...]]
"""A query with any columns."""


def build_query(criteria: ResultFilter, directory: str) -> RunQuery:
    """Build the query of runs that match a filter, in its order, with the columns of runs and entries."""
    columns = (ENTRIES.c.id, ENTRIES.c.directory, ENTRIES.c.name, ENTRIES.c.file, ENTRIES.c.sha256, ENTRIES.c.altered)
    query: RunQuery = select(*columns, RUNS.c.summary).join(ENTRIES, RUNS.c.entry == ENTRIES.c.id)
    query = _sort_query(query.where(*build_conditions(criteria, directory)), criteria.sort)
    if criteria.limit is not None:
        query = query.limit(criteria.limit)
    elif criteria.offset:
        query = query.limit(2**62)  # SQLite skips none without a limit
    return query.offset(criteria.offset) if criteria.offset else query


def build_count_query(criteria: ResultFilter, directory: str) -> Select[int]:
    """Build the query of the number of matching runs, regardless of the limit."""
    query = select(func.count()).select_from(RUNS).join(ENTRIES, RUNS.c.entry == ENTRIES.c.id)
    return query.where(*build_conditions(criteria, directory))


def build_conditions(criteria: ResultFilter, directory: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a filter."""
    if not criteria.everywhere:
        yield ENTRIES.c.directory == directory
    if criteria.run_ids:
        yield or_(RUNS.c.run_id.in_(criteria.run_ids), ENTRIES.c.name.in_(criteria.run_ids))
    for name in EXACT_COLUMNS:
        if (value := getattr(criteria, name)) is not None:
            yield RUNS.c[name] == value
    for name in WILDCARD_COLUMNS:
        if (value := getattr(criteria, name)) is not None:
            yield RUNS.c[name].like(_make_pattern(value), escape=ESCAPE) if "*" in value else RUNS.c[name] == value
    for tag in criteria.tags:
        yield _match_tag(TAGS.c.tag.like(_make_pattern(tag), escape=ESCAPE) if "*" in tag else TAGS.c.tag == tag)
    if criteria.since:
        yield RUNS.c.started_at >= to_utc(criteria.since)
    if criteria.until:
        yield RUNS.c.started_at < to_utc(criteria.until)
    if criteria.text:
        pattern = _make_pattern(f"*{criteria.text}*")
        columns = (RUNS.c[name].ilike(pattern, escape=ESCAPE) for name in TEXT_COLUMNS)
        yield or_(*columns, _match_tag(TAGS.c.tag.ilike(pattern, escape=ESCAPE)))


def _match_tag(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return ENTRIES.c.id.in_(select(TAGS.c.entry).where(condition))


def _make_pattern(text: str) -> str:
    for special in (ESCAPE, "%", "_"):
        text = text.replace(special, f"{ESCAPE}{special}")
    return text.replace("*", "%")


def _sort_query(query: RunQuery, sort: str) -> RunQuery:
    """Sort a query; ties and runs without the measure are sorted newest first."""
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
