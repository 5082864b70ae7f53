"""/api/v1/results: everything that was measured, by this server or not, looked up and tagged."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool

from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.result_filter import NEWEST, Filter
from nodrop.model.summary import Row, Source
from nodrop.server.rest.problem import Problem, described
from nodrop.server.rest.server_config import Base
from nodrop.store.index import Index, open_index

PREFIX = "/api/v1/results"
LARGEST = 2**31 - 1
Text = Annotated[str | None, Query(max_length=200, description="`*` stands for any letters.")]


def _written_as_date(written: object) -> object:
    """No seconds since 1970, which pydantic takes as well. Raises ValueError."""
    if (isinstance(written, str) and not written[:4].isdecimal()) or "-" not in str(written):
        raise ValueError(f"{str(written)[:40]!r} is not a date; write for example 2026-01-31T12:00:00Z")
    return written


When = Annotated[
    datetime | None,
    BeforeValidator(_written_as_date, json_schema_input_type=datetime),
    Query(description="ISO 8601; UTC where it names no zone."),
]


class Results(Value):
    """Some of the results."""

    results: tuple[Row, ...]
    total_count: int
    """All that the filter lets through."""
    next_offset: int | None
    """What to give as `offset` for those that follow; null at the end."""
    problems: tuple[str, ...]
    """Results that cannot be read, and what was wrong with the index."""


class TagChange(Value):
    """Tags to give to a result, and to take from it."""

    add: tuple[str, ...] = Field(default=(), max_length=64)
    remove: tuple[str, ...] = Field(default=(), max_length=64)


class Tags(Value):
    """What a result is called."""

    tags: tuple[str, ...]
    """Sorted."""


def lookup_routes(base: Base) -> APIRouter:
    """The endpoints over the results directory."""
    router = APIRouter(prefix=PREFIX, tags=["nodrop"])

    @router.get("", summary="Results that a filter lets through", responses=described(422))
    async def find_results(
        *,
        text: Annotated[str | None, Query(max_length=200, description="In id, label, SUT, host or a tag.")] = None,
        label: Text = None,
        tag: Annotated[tuple[str, ...], Query(max_length=64, description="Has all of these.")] = (),
        sut: Text = None,
        host: Text = None,
        frame_size: Text = None,
        path: Annotated[Literal["PVP", "PVVP", "EXT"] | None, Query(description="NFVbench's name of it.")] = None,
        chains: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
        status: Annotated[Literal["complete", "interrupted", "timed_out", "failed"] | None, Query()] = None,
        source: Annotated[Source | None, Query(description="Who measured.")] = None,
        since: When = None,
        until: When = None,
        sort: Annotated[
            str,
            Query(
                max_length=200,
                description="`newest`, `oldest`, `label`, `sut`, `host`, or a measure, as `ndr`: the best first.",
            ),
        ] = NEWEST,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 50,
        offset: Annotated[int, Query(ge=0, le=LARGEST, description="How many are left out.")] = 0,
    ) -> Results:
        wanted = Filter(
            text=text,
            label=label,
            tags=tag,
            sut=sut,
            host=host,
            frame_size=frame_size,
            path=path,
            chain_count=chains,
            status=status,
            source=source,
            since=since.isoformat() if since else None,
            until=until.isoformat() if until else None,
            sort=sort,
            limit=limit,
            offset=offset,
        )
        return await run_in_threadpool(_find, base, wanted)

    @router.get("/{run_id}", summary="A result in one row", responses=described(404))
    async def get_row(run_id: str) -> Row:
        return await run_in_threadpool(_row, base, run_id)

    @router.get("/{run_id}/file", summary="The result's file, as it was written", responses=described(404))
    async def get_file(run_id: str) -> FileResponse:
        row = await run_in_threadpool(_row, base, run_id)
        return FileResponse(row.file, media_type="application/json")

    @router.post("/{run_id}/tags", summary="Give a result tags, or take some from it", responses=described(404, 422))
    async def change_tags(run_id: str, change: TagChange) -> Tags:
        return Tags(tags=await run_in_threadpool(_change, base, run_id, change))

    return router


def _find(base: Base, wanted: Filter) -> Results:
    with _index(base) as index:
        rows, count = index.list(wanted), index.count(wanted)
        problems = (*index.warnings, *index.problems)
    end = wanted.offset + len(rows)
    return Results(
        results=rows, total_count=count, next_offset=end if rows and end < count else None, problems=problems
    )


def _row(base: Base, run_id: str) -> Row:
    with _index(base) as index:
        row = index.find(run_id)
    if row is None:
        raise Problem(404, f"result {run_id[:60]!r} asked, there is none of that id; GET {PREFIX} lists them")
    return row


def _change(base: Base, run_id: str, change: TagChange) -> tuple[str, ...]:
    _row(base, run_id)
    try:
        with _index(base) as index:
            return index.tag(run_id, change.add, change.remove)
    except ConfigError as error:
        raise Problem(422, str(error)) from None


def _index(base: Base) -> Index:
    return open_index(base.results_dir, base.results_index)
