"""The ASGI application. Start reading here; `nodrop serve` runs it."""

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
from nodrop.export.openmetrics import CONTENT_TYPE, format_openmetrics
from nodrop.model.validation_message import format_location, state_problem
from nodrop.server.rest import openapi
from nodrop.server.rest.auth_middleware import AuthMiddleware
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.nfvbench import PATHS, make_error_reply, make_nfvbench_routes
from nodrop.server.rest.page_provider import MakePageProvider, PageProvider
from nodrop.server.rest.problem import Problem, make_problem_response
from nodrop.server.rest.result_routes import make_result_routes
from nodrop.server.rest.results import find_last_results
from nodrop.server.rest.routes_v1 import make_v1_routes
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.schemas import Health
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions
from nodrop.server.rest.tokens import Tokens

DESCRIPTION = """\
Measures the highest packet rates that a data plane forwards without loss. `/api/v1` is nodrop's own interface; \
`/start_run`, `/status`, `/echo` and `/version` are NFVbench's. One run measures at a time; others wait in a queue."""


FAULT = (
    "The server failed to build this page ({name}). Its log, the output of 'nodrop serve', has the details; runs in "
    "progress continue."
)
OPENMETRICS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/openmetrics-text": {"schema": {"type": "string"}}}}
}


def make_app(
    runs: RunQueue, config: ServerConfig, tokens: Tokens | None, host: str, make_pages: MakePageProvider | None = None
) -> FastAPI:
    """Build the application.

    Args:
        runs: queue behind the endpoints.
        config: settings that all runs share.
        tokens: valid access tokens; None: no authentication, on loopback only.
        host: host name or address of the server, accepted in Host headers.
        make_pages: factory of the HTML pages; None: interfaces only.
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
        docs_url=None,  # its pages would load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )
    routers = (
        make_v1_routes(runs, config),
        make_result_routes(config),
        make_nfvbench_routes(runs, config),
        _make_monitoring_routes(runs, config),
    )
    for router in routers:
        app.include_router(router)
    sessions = Sessions(tokens) if tokens else None
    pages = make_pages(runs, config, sessions) if make_pages else None
    _add_errors(app, [route for router in routers for route in router.routes], pages)
    app.openapi = lambda: openapi.make_openapi(app)  # type: ignore[method-assign]
    app.add_middleware(
        AuthMiddleware, tokens=tokens, host=host, sessions=sessions, make_page=pages.reply if pages else None
    )
    if pages:
        pages.add_to(app)  # after AuthMiddleware, so that their headers are added to its responses, too
    return app


def make_openapi_document() -> dict[str, Any]:
    """Build the OpenAPI document without a server."""
    config = ServerConfig(results_dir="results")
    document: dict[str, Any] = make_app(
        RunQueue(Journal(config.results_dir), config), config, None, "127.0.0.1"
    ).openapi()
    return document


def _make_monitoring_routes(runs: RunQueue, config: ServerConfig) -> APIRouter:
    """Return the routes for monitoring."""
    router = APIRouter(tags=["server"])

    @router.get(
        "/metrics",
        summary="The last result and the running run, as OpenMetrics",
        response_class=Response,
        responses=OPENMETRICS,
    )
    async def metrics() -> Response:
        text = await run_in_threadpool(
            lambda: format_openmetrics(find_last_results(runs.newest_first(), config.results_dir), runs.running_state)
        )
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    @router.get("/health", summary="Health of the server")
    async def health() -> Health:
        running = runs.running
        return Health(version=__version__, running=running.id if running else None, queued_count=runs.queued_count)

    return router


def _add_errors(app: FastAPI, routes: Sequence[BaseRoute], pages: PageProvider | None) -> None:
    """Add exception handlers that answer in the form of the interface, or with a page."""

    @app.exception_handler(Problem)
    async def on_problem(request: Request, problem: Problem) -> Response:
        if page := pages.reply(request, problem) if pages else None:
            return page
        nfvbench = any(request.url.path == path or request.url.path.startswith(f"{path}/") for path in PATHS)
        return make_error_reply(problem) if nfvbench else make_problem_response(problem)

    @app.exception_handler(HTTPException)
    async def on_http_exception(request: Request, error: HTTPException) -> Response:
        endpoint = f"{request.method} {request.url.path[:200]}"
        problem = Problem(
            error.status_code,
            f"{endpoint}: {_describe(error)}",
            page_detail=_describe_for_reader(error, request.url.path[:200]),
        )
        response = await on_problem(request, problem)
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted(_list_methods(routes, request.url.path)))
        return response

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [f"{format_location(one)}: {state_problem(one)}" for one in error.errors()]
        return await on_problem(request, Problem(422, "; ".join(errors), errors))

    @app.exception_handler(NodropError)
    async def on_failure(request: Request, error: NodropError) -> Response:
        return await on_problem(request, Problem(500, str(error)))

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        name = type(error).__name__
        sentence = f"internal error ({name}); see the server's log"
        return await on_problem(request, Problem(500, sentence, page_detail=FAULT.format(name=name)))


def _list_methods(routes: Sequence[BaseRoute], path: str) -> set[str]:
    """Return the methods of an endpoint, each of which is a route."""
    matching = (route for route in routes if isinstance(route, Route) and route.path_regex.fullmatch(path))
    return {method for route in matching for method in route.methods or ()}


def _describe(error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "no such endpoint; list endpoints with GET /openapi.json"
        case 405:
            return "method not allowed; list methods with GET /openapi.json"
    return error.detail


def _describe_for_reader(error: HTTPException, path: str) -> str:
    match error.status_code:
        case 404:
            return f"There is no page {path}."
        case 405:
            return f"The page {path} cannot be changed by this request."
    return error.detail
