"""The page that starts a run: a form of the configuration's keys, checked while the user types."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from nodrop.config.load import build_config
from nodrop.config.schema import Config
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import TOKEN_FIELD, read_form
from nodrop.server.pages.render import make_environment, render
from nodrop.server.pages.run_form import (
    PASTED,
    assign_errors,
    fill_fields,
    flatten,
    list_further_groups,
    list_usual_fields,
    parse_fields,
)
from nodrop.server.rest.preview import RequestPreview, preview_plans
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.run_request import check_body

CHECK = "check"
"""Name of the button that checks the form without starting a run."""
PIECE_HEADER = "X-Piece"
FLAGS = {"sut": "--sut", "profile": "--profile", "chains": "--chains", "rate": "--rate", "search.budget": "--budget"}
"""Keys with their own flags of `nodrop run`."""


class FormCheck(NamedTuple):
    """A checked form."""

    fields: Mapping[str, str]
    body: dict[str, Any]
    errors: dict[str, str]
    """Errors by field."""
    other_errors: tuple[str, ...] = ()
    preview: RequestPreview | None = None
    """None if there are errors."""


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()

    @router.get("/start")
    async def ask(request: Request, again: str | None = None) -> Response:
        fields = {key: value for key, value in request.query_params.items() if key != "again"}
        if again:
            fields = fill_fields(site.runs.find(again).asked) | fields
        return await _render_page(request, site, await run_in_threadpool(_check, site, fields))

    @router.post("/start")
    async def start(request: Request) -> Response:
        form = await read_form(request)
        fields = {key: values[0] for key, values in form.items() if key not in (TOKEN_FIELD, CHECK)}
        result = await run_in_threadpool(_check, site, fields)
        if request.headers.get(PIECE_HEADER) == CHECK:
            values = _build_preview_values(request, site, result)
            aside = await run_in_threadpool(
                lambda: make_environment().get_template("start_preview.html").render(values)
            )
            return JSONResponse({"errors": result.errors, "aside": aside}, headers={"Cache-Control": "no-store"})
        if result.preview is None or CHECK in form:
            return await _render_page(request, site, result, 200 if result.preview else 422)
        try:
            entry = site.runs.create(result.body)
        except Problem as problem:
            return await _render_page(request, site, result._replace(other_errors=(problem.detail,)), problem.status)
        return RedirectResponse(f"/runs/{entry.id}", 303)

    return router


def _check(site: Site, fields: Mapping[str, str]) -> FormCheck:
    """Check a form and preview its runs."""
    body, errors = parse_fields(fields)
    if errors:
        return FormCheck(fields, body, errors)
    try:
        return FormCheck(fields, body, {}, (), preview_plans(check_body(body, site.config)))
    except Problem as problem:
        by_field, unassigned = assign_errors(problem.errors or (problem.detail,))
        return FormCheck(fields, body, by_field, unassigned)


async def _render_page(request: Request, site: Site, result: FormCheck, status: int = 200) -> Response:
    config = await run_in_threadpool(_load_defaults, site)
    values = _build_preview_values(request, site, result) | {
        "usual": list_usual_fields(config),
        "groups": list(list_further_groups(config)),
        "pasted": result.fields.get(PASTED, ""),
    }
    return render(request, "start.html", status, **values)


def _load_defaults(site: Site) -> Config:
    """Return the configuration of empty fields."""
    return build_config(site.config.sources, {})


def _build_preview_values(request: Request, site: Site, result: FormCheck) -> dict[str, Any]:
    """Return the variables of the preview next to the form."""
    return {
        "check": result,
        "command": format_command(result.body, site.config.sources),
        "curl": format_curl(result.body, str(request.base_url), needs_token=site.sessions is not None),
        "queued_count": site.runs.queued_count + (site.runs.running is not None),
    }


def format_command(body: Mapping[str, Any], config: tuple[str, ...]) -> str:
    """Format the equivalent `nodrop run` command."""
    words = ["nodrop", "run", *(word for source in config for word in ("-c", source))]
    for key, value in flatten(body):
        words += [FLAGS[key], value] if key in FLAGS else ["--set", f"{key}={value}"]
    return shlex.join(words)


def format_curl(body: Mapping[str, Any], base_url: str, *, needs_token: bool) -> str:
    """Format the equivalent REST request."""
    token = ' -H "Authorization: Bearer $TOKEN"' if needs_token else ""
    content = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl -H 'Content-Type: application/json'{token} -d {content} {base_url}api/v1/runs"
