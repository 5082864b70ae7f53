"""/api/v1: runs are made, listed, followed, ended and read."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from nodrop.export.nfvbench import nfvbench_result
from nodrop.model.base import Value
from nodrop.server.rest.openapi import asked_body, config_schema
from nodrop.server.rest.preview import Preview, preview
from nodrop.server.rest.problem import described
from nodrop.server.rest.report_responses import FORMATS, Format, chosen_format, render
from nodrop.server.rest.results import Chains, chains_of, load_results, result_file
from nodrop.server.rest.run_queue import Runs
from nodrop.server.rest.run_request import check, read_asked, read_keys
from nodrop.server.rest.schemas import RunList, RunView
from nodrop.server.rest.server_config import Base
from nodrop.server.rest.sse import EVENT_STREAM, TOLD_SCHEMA, event_text

PREFIX = "/api/v1"
LastEventId = Annotated[
    int,
    Header(alias="Last-Event-ID", ge=0, le=2**53, description="The number of the last event heard; go on after it."),
]


class Checked(Value):
    """A body that could be run."""

    valid: bool = True


def v1_routes(runs: Runs, base: Base) -> APIRouter:
    """The endpoints over a queue of runs."""
    router = APIRouter(prefix=PREFIX, tags=["nodrop"])

    @router.post(
        "/runs",
        status_code=202,
        summary="Queue a run",
        responses=described(400, 403, 413, 415, 422, 503),
        openapi_extra=asked_body(),
    )
    async def create_run(request: Request, response: Response) -> RunView:
        entry = runs.create(await read_asked(request, base))
        response.headers["Location"] = f"{PREFIX}/runs/{entry.id}"
        return runs.show(entry)

    @router.get("/runs", summary="Runs, newest first", responses=described(404, 422))
    async def list_runs(
        limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 50,
        before: Annotated[
            str | None, Query(description="Only those before this run: `next` of the list before.")
        ] = None,
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

    @router.get("/runs/{run_id}", summary="A run", responses=described(404))
    async def get_run(run_id: str) -> RunView:
        return runs.show(runs.find(run_id))

    @router.post("/runs/{run_id}/cancel", status_code=202, summary="Have a run end", responses=described(404, 409))
    async def cancel_run(run_id: str) -> RunView:
        """A run that waits is over at once; one that goes on a little later, with what it has measured stored."""
        return runs.show(runs.cancel(run_id))

    @router.get(
        "/runs/{run_id}/events",
        summary="What happens in a run, as server-sent events until it is over",
        response_class=StreamingResponse,
        responses={
            200: {"content": {EVENT_STREAM: {"schema": TOLD_SCHEMA}}},
            204: {"description": "It is over, and all of it was heard."},
            **described(404),
        },
    )
    async def follow_run(run_id: str, last_event_id: LastEventId = 0) -> Response:
        entry = runs.find(run_id)
        if last_event_id and entry.state.is_over and runs.event_count(run_id) <= last_event_id:
            return Response(status_code=204)  # or a browser would ask again and again

        async def stream() -> AsyncIterator[str]:
            async for told in runs.events(run_id, last_event_id):
                yield event_text(told)

        return StreamingResponse(stream(), media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})

    @router.get("/runs/{run_id}/result", summary="The result", responses=described(404, 409, 410))
    async def get_result(
        run_id: str,
        frame_size: Annotated[str | None, Query(description="Which, of a run with several, as `64` or `IMIX`.")] = None,
        repeat: Annotated[int | None, Query(description="Which, of a run with repeats, from 1.")] = None,
    ) -> FileResponse:
        path = await run_in_threadpool(result_file, runs.find(run_id), base.results_dir, frame_size, repeat)
        return FileResponse(path, media_type="application/json")

    @router.get(
        "/runs/{run_id}/result/nfvbench", summary="The result as NFVbench has it", responses=described(404, 409, 410)
    )
    async def get_nfvbench_result(run_id: str) -> JSONResponse:
        entry = runs.find(run_id)
        return JSONResponse(await run_in_threadpool(lambda: nfvbench_result(load_results(entry, base.results_dir))))

    @router.get(
        "/runs/{run_id}/report",
        summary="The result for people",
        response_class=PlainTextResponse,
        responses={
            200: {"content": {kind: {"schema": {"type": "string"}} for kind in FORMATS.values()}},
            **described(404, 409, 410),
        },
    )
    async def get_report(
        run_id: str,
        accept: Annotated[str | None, Header()] = None,
        format: Annotated[Format | None, Query(description="Goes before the Accept header.")] = None,
    ) -> Response:
        entry, wanted = runs.find(run_id), format or chosen_format(accept)
        text = await run_in_threadpool(lambda: render(load_results(entry, base.results_dir), wanted))
        return Response(text, media_type=f"{FORMATS[wanted]}; charset=utf-8")

    @router.get("/runs/{run_id}/chains", summary="Per-chain counts of every trial", responses=described(404, 409, 410))
    async def get_chains(run_id: str) -> Chains:
        entry = runs.find(run_id)
        return await run_in_threadpool(lambda: chains_of(load_results(entry, base.results_dir)))

    @router.get("/config/schema", summary="The JSON Schema of what a run may be asked with")
    async def get_config_schema() -> dict[str, Any]:
        return config_schema()

    @router.post(
        "/config/validate",
        summary="Check a body without running it",
        responses=described(400, 403, 413, 415, 422),
        openapi_extra=asked_body(),
    )
    async def validate(request: Request) -> Checked:
        await read_asked(request, base)
        return Checked()

    @router.post(
        "/plans",
        summary="What a body would do and how long that takes, without doing it",
        responses=described(400, 403, 413, 415, 422),
        openapi_extra=asked_body(),
    )
    async def plan_run(request: Request) -> Preview:
        body = await read_keys(request)
        return await run_in_threadpool(lambda: preview(check(body, base)))

    return router
