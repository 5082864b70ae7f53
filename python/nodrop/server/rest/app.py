"""The server put together. Start reading here; `nodrop serve` runs it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Route

from nodrop import __version__
from nodrop.errors import NodropError
from nodrop.export.openmetrics import CONTENT_TYPE, exposition
from nodrop.server.rest import openapi
from nodrop.server.rest.auth_middleware import Guard
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.nfvbench import PATHS, error_reply, nfvbench_routes
from nodrop.server.rest.page_provider import MakePages, Pages
from nodrop.server.rest.problem import Problem, problem_response
from nodrop.server.rest.result_routes import lookup_routes
from nodrop.server.rest.results import last_results
from nodrop.server.rest.routes_v1 import v1_routes
from nodrop.server.rest.run_queue import Runs
from nodrop.server.rest.schemas import Health
from nodrop.server.rest.server_config import Base
from nodrop.server.rest.sessions import Sessions
from nodrop.server.rest.tokens import Tokens

DESCRIPTION = """\
Measures the highest packet rates that a data plane forwards without loss. `/api/v1` is nodrop's own interface; \
`/start_run`, `/status`, `/echo` and `/version` are NFVbench's. One run goes on at a time, others wait in a queue."""


OPENMETRICS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/openmetrics-text": {"schema": {"type": "string"}}}}
}


def make_app(runs: Runs, base: Base, tokens: Tokens | None, host: str, make_pages: MakePages | None = None) -> FastAPI:
    """The application.

    Args:
        runs: the queue it speaks for.
        base: what every run has in common.
        tokens: who may use it; None: whoever reaches it, on loopback only.
        host: the name it listens on, which requests may call it by.
        make_pages: gives the pages that are served beside the interfaces.
    """

    @contextlib.asynccontextmanager
    async def serving(_app: FastAPI) -> AsyncIterator[None]:
        serving = asyncio.create_task(runs.serve())
        yield
        runs.stop()
        await serving

    app = FastAPI(
        title="nodrop",
        version=__version__,
        description=DESCRIPTION,
        lifespan=serving,
        docs_url=None,  # its pages would load programs from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )
    routers = (v1_routes(runs, base), lookup_routes(base), nfvbench_routes(runs, base), _watching_routes(runs, base))
    for router in routers:
        app.include_router(router)
    sessions = Sessions(tokens) if tokens else None
    pages = make_pages(runs, base, sessions) if make_pages else None
    _add_errors(app, [route for router in routers for route in router.routes], pages)
    app.openapi = lambda: openapi.openapi(app)  # type: ignore[method-assign]
    app.add_middleware(Guard, tokens=tokens, host=host, sessions=sessions, reply=pages.reply if pages else None)
    if pages:
        pages.add_to(app)  # after the guard, so that what they add to every answer is added to its own, too
    return app


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document, without a server."""
    base = Base(results_dir="results")
    document: dict[str, Any] = make_app(Runs(Journal(base.results_dir), base), base, None, "127.0.0.1").openapi()
    return document


def _watching_routes(runs: Runs, base: Base) -> APIRouter:
    """What those ask who watch over the server."""
    router = APIRouter(tags=["server"])

    @router.get(
        "/metrics",
        summary="The last result and the run that goes on, as OpenMetrics",
        response_class=Response,
        responses=OPENMETRICS,
    )
    async def metrics() -> Response:
        text = await run_in_threadpool(
            lambda: exposition(last_results(runs.newest_first(), base.results_dir), runs.now)
        )
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    @router.get("/health", summary="Whether the server does its work")
    async def health() -> Health:
        running = runs.running
        return Health(version=__version__, running=running.id if running else None, queued_count=runs.queued_count)

    return router


def _add_errors(app: FastAPI, routes: Sequence[BaseRoute], pages: Pages | None) -> None:
    """Everything that goes wrong is told in the form of the interface, or on a page, as it went wrong in."""

    @app.exception_handler(Problem)
    async def on_problem(request: Request, problem: Problem) -> Response:
        if page := pages.reply(request, problem) if pages else None:
            return page
        nfvbench = any(request.url.path == path or request.url.path.startswith(f"{path}/") for path in PATHS)
        return error_reply(problem) if nfvbench else problem_response(problem)

    @app.exception_handler(HTTPException)
    async def on_http_exception(request: Request, error: HTTPException) -> Response:
        asked = f"{request.method} {request.url.path[:200]}"
        response = await on_problem(request, Problem(error.status_code, f"{asked} asked, {_found(error)}"))
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted(_methods(routes, request.url.path)))
        return response

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
        return await on_problem(request, Problem(422, "; ".join(found), found))

    @app.exception_handler(NodropError)
    async def on_failure(request: Request, error: NodropError) -> Response:
        return await on_problem(request, Problem(500, str(error)))

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        sentence = f"a fault of nodrop's own, {type(error).__name__}; the server's log has more"
        return await on_problem(request, Problem(500, sentence))


def _methods(routes: Sequence[BaseRoute], path: str) -> set[str]:
    """What an endpoint takes: each method of it is a route of its own."""
    matching = (route for route in routes if isinstance(route, Route) and route.path_regex.fullmatch(path))
    return {method for route in matching for method in route.methods or ()}


def _found(error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "there is no such endpoint; GET /openapi.json lists them"
        case 405:
            return "this endpoint takes other methods; GET /openapi.json says which"
    return error.detail
