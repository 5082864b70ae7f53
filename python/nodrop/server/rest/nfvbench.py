"""NFVbench's HTTP interface: its endpoints, its replies, its words. docs/reference/rest.md says what differs."""

import json
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from nodrop import __version__
from nodrop.export.nfvbench import nfvbench_result
from nodrop.model.base import Value
from nodrop.server.rest.openapi import asked_body
from nodrop.server.rest.problem import PHRASES, Problem
from nodrop.server.rest.results import load_results
from nodrop.server.rest.run_queue import Runs
from nodrop.server.rest.run_request import read_asked, read_json
from nodrop.server.rest.schemas import Entry, State
from nodrop.server.rest.server_config import Base

PATHS = ("/echo", "/version", "/start_run", "/status")
PENDING = "NFVbench run still pending"
BUSY = "there is already an NFVbench request running"
NONE_PENDING = "no pending NFVbench run"
NOT_FOUND = "results not found"


class Reply(Value):
    """What NFVbench's endpoints say."""

    status: Literal["PENDING", "OK", "ERROR", "NOT_FOUND"]
    error_message: str | None = None
    """What there is to say, also of a run that goes on."""
    request_id: str | None = None
    """The run it is about."""
    result: dict[str, Any] | None = None
    """What came of it, in NFVbench's form."""


REPLY: dict[int | str, dict[str, Any]] = {200: {"model": Reply}}
REFUSAL: dict[int | str, dict[str, Any]] = {
    status: {"model": Reply, "description": PHRASES[status]} for status in (400, 403, 413, 415, 422)
}
ANY_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


def reply(content: Any, status: int = 200) -> Response:
    """JSON as NFVbench prints it: sorted, indented, ended by a new line."""
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    return Response(f"{text}\n", status, media_type="application/json")


def error_reply(problem: Problem) -> Response:
    """What went wrong, in NFVbench's form."""
    return reply({"status": "ERROR", "error_message": problem.detail}, problem.status)


def nfvbench_routes(runs: Runs, base: Base) -> APIRouter:
    """The endpoints over a queue of runs."""
    router = APIRouter(tags=["NFVbench"])

    @router.get("/version", response_class=HTMLResponse, summary="The server's version")
    async def version() -> HTMLResponse:
        return HTMLResponse(__version__)

    @router.get(
        "/echo",
        summary="The body of the request",
        response_class=JSONResponse,
        responses={status: REFUSAL[status] for status in (400, 413, 415)},
        openapi_extra=ANY_BODY,
    )
    async def echo(request: Request) -> Response:
        return reply(await read_json(request))

    @router.post(
        "/start_run",
        summary="Begin a run, unless one goes on",
        response_class=JSONResponse,
        responses=REPLY | REFUSAL | {503: {"model": Reply, "description": "Too many wait."}},
        openapi_extra=asked_body(),
    )
    async def start_run(request: Request) -> Response:
        body = await read_asked(request, base)
        if runs.current:
            return reply({"error_message": BUSY, "status": "ERROR"})
        return _pending(runs.create(body))

    @router.get(
        "/status",
        summary="The run that goes on, or once what came of the last one",
        response_class=JSONResponse,
        responses=REPLY,
    )
    async def status() -> Response:
        if runs.current:
            return _pending(runs.current)
        for entry in runs.newest_first():
            if not entry.fetched:
                return await told(entry)
        return reply({"error_message": NONE_PENDING, "status": "ERROR"})

    @router.get("/status/{request_id}", summary="What came of a run", response_class=JSONResponse, responses=REPLY)
    async def status_of(request_id: str) -> Response:
        try:
            entry = runs.find(request_id)
        except Problem:
            return reply({"error_message": NOT_FOUND, "request_id": request_id, "status": "NOT_FOUND"})
        return await told(entry) if entry.state.is_over else _pending(entry)

    async def told(entry: Entry) -> Response:
        runs.mark_fetched(entry)
        if entry.state is not State.COMPLETE:
            return reply({"error_message": entry.error, "request_id": entry.id, "status": "ERROR"})
        result = await run_in_threadpool(lambda: nfvbench_result(load_results(entry, base.results_dir)))
        return reply({"request_id": entry.id, "result": result, "status": "OK"})

    return router


def _pending(entry: Entry) -> Response:
    return reply({"error_message": PENDING, "request_id": entry.id, "status": "PENDING"})
