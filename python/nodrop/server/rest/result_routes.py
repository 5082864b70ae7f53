"""/api/v1/results: search, read and tag all stored results, of this server or not."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BeforeValidator, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.result_filter import NEWEST, ResultFilter
from nodrop.model.summary import ResultRow, ResultSource
from nodrop.server.rest.problem import Problem, describe_errors
from nodrop.server.rest.server_config import ServerConfig
from nodrop.store.index import Index, open_index

PREFIX = "/api/v1/results"
LARGEST = 2**31 - 1
Text = Annotated[str | None, Query(max_length=200, description="`*` matches any characters.")]


def _require_date(value: object) -> object:
    """Reject seconds since 1970, which pydantic accepts. Raises ValueError."""
    if (isinstance(value, str) and not value[:4].isdecimal()) or "-" not in str(value):
        raise ValueError(f"{str(value)[:40]!r} is not a date; use e.g. 2026-01-31T12:00:00Z")
    return value


When = Annotated[
    datetime | None,
    BeforeValidator(_require_date, json_schema_input_type=datetime),
    Query(description="ISO 8601; UTC without a time zone."),
]


class ResultList(Value):
    """A page of results."""

    results: tuple[ResultRow, ...]
    total_count: int
    """Number of matching results."""
    next_offset: int | None
    """`offset` of the next page; null at the end."""
    problems: tuple[str, ...]
    """Unreadable results and problems of the index."""


class TagChange(Value):
    """Tags to add to and remove from a result."""

    model_config = ConfigDict(defer_build=False)  # FastAPI renames the fields of a body that is not built yet

    add: tuple[str, ...] = Field(default=(), max_length=64)
    remove: tuple[str, ...] = Field(default=(), max_length=64)


class ResultTags(Value):
    """The tags of a result."""

    tags: tuple[str, ...]
    """Sorted."""


def make_result_routes(config: ServerConfig) -> APIRouter:
    """Return the endpoints for the results directory."""
    router = APIRouter(prefix=PREFIX, tags=["nodrop"])

    @router.get("", summary="Search results", responses=describe_errors(422))
    async def find_results(
        *,
        text: Annotated[str | None, Query(max_length=200, description="Text in id, label, SUT, host or tag.")] = None,
        label: Text = None,
        tag: Annotated[tuple[str, ...], Query(max_length=64, description="Has all of these tags.")] = (),
        sut: Text = None,
        host: Text = None,
        frame_size: Text = None,
        path: Annotated[Literal["PVP", "PVVP", "EXT"] | None, Query(description="NFVbench's service chain.")] = None,
        chains: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
        status: Annotated[Literal["complete", "interrupted", "timed_out", "failed"] | None, Query()] = None,
        source: Annotated[ResultSource | None, Query(description="Tool that measured.")] = None,
        since: When = None,
        until: When = None,
        sort: Annotated[
            str,
            Query(
                max_length=200,
                description="`newest`, `oldest`, `label`, `sut`, `host`, or a metric, e.g. `ndr`: best first.",
            ),
        ] = NEWEST,
        limit: Annotated[int, Query(ge=1, le=1000, description="Page size.")] = 50,
        offset: Annotated[int, Query(ge=0, le=LARGEST, description="Number of results to skip.")] = 0,
    ) -> ResultList:
        criteria = ResultFilter(
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
        return await run_in_threadpool(_find_results, config, criteria)

    @router.get("/{run_id}", summary="Summary of a result", responses=describe_errors(404))
    async def get_row(run_id: str) -> ResultRow:
        return await run_in_threadpool(_get_row, config, run_id)

    @router.get("/{run_id}/file", summary="Stored file of a result", responses=describe_errors(404))
    async def get_file(run_id: str) -> FileResponse:
        row = await run_in_threadpool(_get_row, config, run_id)
        return FileResponse(row.file, media_type="application/json")

    @router.post("/{run_id}/tags", summary="Add or remove tags of a result", responses=describe_errors(404, 422))
    async def change_tags(run_id: str, change: TagChange) -> ResultTags:
        return ResultTags(tags=await run_in_threadpool(_change_tags, config, run_id, change))

    return router


def _find_results(config: ServerConfig, criteria: ResultFilter) -> ResultList:
    with _open_index(config) as index:
        rows, count = index.list(criteria), index.count(criteria)
        problems = (*index.warnings, *index.problems)
    end = criteria.offset + len(rows)
    return ResultList(
        results=rows, total_count=count, next_offset=end if rows and end < count else None, problems=problems
    )


def _get_row(config: ServerConfig, run_id: str) -> ResultRow:
    with _open_index(config) as index:
        row = index.find(run_id)
    if row is None:
        raise Problem(404, f"result {run_id[:60]!r} not found; list results with GET {PREFIX}")
    return row


def _change_tags(config: ServerConfig, run_id: str, change: TagChange) -> tuple[str, ...]:
    _get_row(config, run_id)
    try:
        with _open_index(config) as index:
            return index.tag(run_id, change.add, change.remove)
    except ConfigError as error:
        raise Problem(422, str(error)) from None


def _open_index(config: ServerConfig) -> Index:
    return open_index(config.results_dir, config.results_index)
