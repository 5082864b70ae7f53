"""/api/v1: start, list, follow, cancel and read runs."""

import io
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from rich.console import Console, RenderableType
from starlette.concurrency import run_in_threadpool

from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.base import Value
from nodrop.model.result import RunResult
from nodrop.report.document.suite import build_suite_table
from nodrop.report.nfvbench import write_nfvbench
from nodrop.report.terminal import render_blocks, render_result
from nodrop.server.rest.openapi import describe_request_body, make_config_schema
from nodrop.server.rest.preview import RequestPreview, preview_plans
from nodrop.server.rest.problem import describe_errors
from nodrop.server.rest.results import Chains, collect_chains, find_result_file, load_results
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.run_request import check_body, read_body, read_checked_body
from nodrop.server.rest.schemas import RunList, RunView
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sse import EVENT_SCHEMA, EVENT_STREAM, format_event

PREFIX = "/api/v1"
LastEventId = Annotated[
    int,
    Header(alias="Last-Event-ID", ge=0, le=2**53, description="Number of the last received event."),
]

ReportFormat = Literal["text", "markdown", "csv"]
FORMATS: dict[ReportFormat, str] = {"text": "text/plain", "markdown": "text/markdown", "csv": "text/csv"}
COLUMNS = 100


class BodyValidity(Value):
    """Outcome of checking a body."""

    valid: bool = True


def make_v1_routes(runs: RunQueue, config: ServerConfig) -> APIRouter:
    """Return nodrop's endpoints for a queue of runs."""
    router = APIRouter(prefix=PREFIX, tags=["nodrop"])

    @router.post(
        "/runs",
        status_code=202,
        summary="Queue a run",
        responses=describe_errors(400, 403, 413, 415, 422, 503),
        openapi_extra=describe_request_body(),
    )
    async def create_run(request: Request, response: Response) -> RunView:
        entry = runs.create(await read_checked_body(request, config))
        response.headers["Location"] = f"{PREFIX}/runs/{entry.id}"
        return runs.show(entry)

    @router.get("/runs", summary="Runs, newest first", responses=describe_errors(404, 422))
    async def list_runs(
        limit: Annotated[int, Query(ge=1, le=500, description="Page size.")] = 50,
        before: Annotated[str | None, Query(description="Runs before this one: `next` of the previous page.")] = None,
    ) -> RunList:
        entries = runs.newest_first()
        begin = entries.index(runs.find(before)) + 1 if before is not None else 0
        page = entries[begin : begin + limit]
        more = begin + limit < len(entries)
        return RunList(
            runs=tuple(runs.show(entry) for entry in page),
            next=page[-1].id if more else None,
            total_count=len(entries),
        )

    @router.get("/runs/{run_id}", summary="A run", responses=describe_errors(404))
    async def get_run(run_id: str) -> RunView:
        return runs.show(runs.find(run_id))

    @router.post("/runs/{run_id}/cancel", status_code=202, summary="Cancel a run", responses=describe_errors(404, 409))
    async def cancel_run(run_id: str) -> RunView:
        """Cancel a run: a queued run ends at once, a running one shortly after, with its measurements stored."""
        return runs.show(runs.cancel(run_id))

    @router.get(
        "/runs/{run_id}/events",
        summary="Events of a run until its end, as server-sent events",
        response_class=StreamingResponse,
        responses={
            200: {"content": {EVENT_STREAM: {"schema": EVENT_SCHEMA}}},
            204: {"description": "The run is over and all events were received."},
            **describe_errors(404),
        },
    )
    async def follow_run(run_id: str, last_event_id: LastEventId = 0) -> Response:
        entry = runs.find(run_id)
        if last_event_id and entry.state.is_over and runs.event_count(run_id) <= last_event_id:
            return Response(status_code=204)  # a browser would reconnect forever

        async def stream() -> AsyncIterator[str]:
            async for event in runs.events(run_id, last_event_id):
                yield format_event(event)

        return StreamingResponse(stream(), media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})

    @router.get("/runs/{run_id}/result", summary="Result of a run", responses=describe_errors(404, 409, 410))
    async def get_result(
        run_id: str,
        frame_size: Annotated[str | None, Query(description="Frame size to select, e.g. `64` or `IMIX`.")] = None,
        repeat: Annotated[int | None, Query(description="Repeat to select, from 1.")] = None,
    ) -> FileResponse:
        path = await run_in_threadpool(find_result_file, runs.find(run_id), config.results_dir, frame_size, repeat)
        return FileResponse(path, media_type="application/json")

    @router.get(
        "/runs/{run_id}/result/nfvbench", summary="Result in NFVbench's form", responses=describe_errors(404, 409, 410)
    )
    async def get_nfvbench_result(run_id: str) -> JSONResponse:
        entry = runs.find(run_id)
        return JSONResponse(
            await run_in_threadpool(lambda: build_nfvbench_result(load_results(entry, config.results_dir)))
        )

    @router.get(
        "/runs/{run_id}/report",
        summary="Report of a run",
        response_class=PlainTextResponse,
        responses={
            200: {"content": {kind: {"schema": {"type": "string"}} for kind in FORMATS.values()}},
            **describe_errors(404, 409, 410),
        },
    )
    async def get_report(
        run_id: str,
        accept: Annotated[str | None, Header()] = None,
        format: Annotated[ReportFormat | None, Query(description="Overrides the Accept header.")] = None,
    ) -> Response:
        entry, form = runs.find(run_id), format or negotiate_format(accept)
        text = await run_in_threadpool(lambda: render_report(load_results(entry, config.results_dir), form))
        return Response(text, media_type=f"{FORMATS[form]}; charset=utf-8")

    @router.get(
        "/runs/{run_id}/chains", summary="Per-chain counts of every trial", responses=describe_errors(404, 409, 410)
    )
    async def get_chains(run_id: str) -> Chains:
        entry = runs.find(run_id)
        return await run_in_threadpool(lambda: collect_chains(load_results(entry, config.results_dir)))

    @router.get("/config/schema", summary="JSON Schema of request bodies")
    async def get_config_schema() -> dict[str, Any]:
        return make_config_schema()

    @router.post(
        "/config/validate",
        summary="Check a body without running it",
        responses=describe_errors(400, 403, 413, 415, 422),
        openapi_extra=describe_request_body(),
    )
    async def validate(request: Request) -> BodyValidity:
        await read_checked_body(request, config)
        return BodyValidity()

    @router.post(
        "/plans",
        summary="Preview the runs of a body and their duration",
        responses=describe_errors(400, 403, 413, 415, 422),
        openapi_extra=describe_request_body(),
    )
    async def plan_run(request: Request) -> RequestPreview:
        body = await read_body(request)
        return await run_in_threadpool(lambda: preview_plans(check_body(body, config)))

    return router


def negotiate_format(accept: str | None) -> ReportFormat:
    """Return the first supported format of an Accept header; text if there is none."""
    types = [part.partition(";")[0].strip().lower() for part in (accept or "").split(",")]
    formats: list[ReportFormat] = [name for kind in types for name, media_type in FORMATS.items() if media_type == kind]
    return formats[0] if formats else "text"


def render_report(results: Sequence[RunResult], form: ReportFormat) -> str:
    """Render nodrop's report as text, or NFVbench's tables as Markdown or CSV."""
    if form == "text":
        summary = [_to_text(render_blocks([build_suite_table(results)]))] if len(results) > 1 else []
        return "\n".join([*summary, *(_to_text(render_result(result)) for result in results)])
    return write_nfvbench(build_nfvbench_result(results), form)


def _to_text(renderable: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=COLUMNS, highlight=False, markup=False, emoji=False, color_system=None).print(renderable)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
