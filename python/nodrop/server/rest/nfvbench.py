"""NFVbench's HTTP interface: endpoints, replies and messages. Differences: docs/reference/rest.md."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from nodrop import __version__
from nodrop.errors import OfferedShortError, SearchError
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.base import Value
from nodrop.server.rest.forbidden_keys import drop_result_files
from nodrop.server.rest.openapi import describe_request_body
from nodrop.server.rest.problem import PHRASES, Problem
from nodrop.server.rest.results import load_results
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.run_request import check_body, read_body, read_json
from nodrop.server.rest.schemas import LifecycleState, RunEntry
from nodrop.server.rest.server_config import ServerConfig

PATHS = ("/echo", "/version", "/start_run", "/status")
PENDING = "NFVbench run still pending"
BUSY = "there is already an NFVbench request running"
NONE_PENDING = "no pending NFVbench run"
NOT_FOUND = "results not found"


class NfvbenchReply(Value):
    """A reply of NFVbench's endpoints."""

    status: Literal["PENDING", "OK", "ERROR", "NOT_FOUND"]
    error_message: str | None = None
    """A message, also for a pending run."""
    request_id: str | None = None
    """Id of the run."""
    result: dict[str, Any] | None = None
    """The result in NFVbench's form."""


REPLY: dict[int | str, dict[str, Any]] = {200: {"model": NfvbenchReply}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": NfvbenchReply, "description": PHRASES[status]} for status in (400, 413, 415)
}
BOOLEAN = TypeAdapter(bool)
INCOMPLETE_CODES = (SearchError.exit_code, OfferedShortError.exit_code)
REFUSED = (403, 422, 503)
"""Errors of requests that NFVbench accepts, to fail later: its clients read the message only of a reply with 200."""
ANY_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


def make_reply(content: Any, status: int = 200) -> Response:
    """Return JSON in NFVbench's format: sorted, indented, with a final newline."""
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    return Response(f"{text}\n", status, media_type="application/json")


def make_error_reply(problem: Problem) -> Response:
    """Return an error in NFVbench's form."""
    status = 200 if problem.status in REFUSED else problem.status
    return make_reply({"status": "ERROR", "error_message": problem.detail}, status)


def make_nfvbench_routes(runs: RunQueue, config: ServerConfig) -> APIRouter:
    """Return NFVbench's endpoints for a queue of runs."""
    router = APIRouter(tags=["NFVbench"])

    @router.get("/version", response_class=HTMLResponse, summary="Version of the server")
    async def version() -> HTMLResponse:
        return HTMLResponse(__version__)

    @router.get(
        "/echo",
        summary="Echo the request body",
        response_class=JSONResponse,
        responses=ERRORS,
        openapi_extra=ANY_BODY,
    )
    async def echo(request: Request) -> Response:
        return make_reply(await read_json(request))

    @router.post(
        "/start_run",
        summary="Start a run if none is pending",
        response_class=JSONResponse,
        responses=REPLY | ERRORS,
        openapi_extra=describe_request_body(),
    )
    async def start_run(request: Request) -> Response:
        body, notes = drop_result_files(translate_unidir(await read_body(request)))
        await run_in_threadpool(check_body, body, config)
        if runs.current:
            return make_reply({"error_message": BUSY, "status": "ERROR"})
        return _make_pending_response(runs.create(body, notes))

    @router.get(
        "/status",
        summary="The pending run or, once, the outcome of the last one",
        response_class=JSONResponse,
        responses=REPLY,
    )
    async def status() -> Response:
        if runs.current:
            return _make_pending_response(runs.current)
        for entry in runs.newest_first():
            if not entry.fetched:
                return await reply_outcome(entry)
        return make_reply({"error_message": NONE_PENDING, "status": "ERROR"})

    @router.get("/status/{request_id}", summary="Outcome of a run", response_class=JSONResponse, responses=REPLY)
    async def status_of(request_id: str) -> Response:
        try:
            entry = runs.find(request_id)
        except Problem:
            return make_reply({"error_message": NOT_FOUND, "request_id": request_id, "status": "NOT_FOUND"})
        return await reply_outcome(entry) if entry.state.is_over else _make_pending_response(entry)

    async def reply_outcome(entry: RunEntry) -> Response:
        runs.mark_fetched(entry)
        if result := await run_in_threadpool(_build_result, entry, config.results_dir):
            return make_reply({"request_id": entry.id, "result": result, "status": "OK"})
        return make_reply({"error_message": entry.error, "request_id": entry.id, "status": "ERROR"})

    return router


def translate_unidir(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with `traffic.bidirectional` in place of `unidir`, which NFVbench reads in requests alone.

    Raises: Problem 422 if it is not true or false.
    """
    others = {key: value for key, value in body.items() if key != "unidir"}
    unidir = body.get("unidir")
    if unidir is None:
        return others
    try:
        is_unidirectional = BOOLEAN.validate_python(unidir)
    except ValidationError:
        raise Problem(422, f"unidir: should be true or false ({unidir!r:.80})") from None
    traffic = body.get("traffic") or {}
    if not isinstance(traffic, Mapping):
        return others
    return others | {"traffic": {**traffic, "bidirectional": not is_unidirectional}}


def _build_result(entry: RunEntry, results_dir: str) -> dict[str, Any] | None:
    """Return the result of a run; None if it failed without one.

    As with NFVbench, a search that found a load for one of its goals has a result, and so has a fixed rate that was
    sent in part: `warning` in it states what is missing.
    """
    if entry.state is not LifecycleState.COMPLETE and (entry.exit_code not in INCOMPLETE_CODES or not entry.run_ids):
        return None
    results = load_results(entry, results_dir)
    is_measured = any(run.plan.fixed or any(goal.lower for goal in run.goals) for run in results)
    return build_nfvbench_result(results) if is_measured or entry.state is LifecycleState.COMPLETE else None


def _make_pending_response(entry: RunEntry) -> Response:
    return make_reply({"error_message": PENDING, "request_id": entry.id, "status": "PENDING"})
