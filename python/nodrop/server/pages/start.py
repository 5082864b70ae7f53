"""The page that starts a run: a form of the configuration's keys, checked as it is filled in."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from nodrop.config.load import load
from nodrop.config.schema import Config
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import TOKEN_FIELD, read_form
from nodrop.server.pages.render import environment, render
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
"""What the button is called that only has a form looked at."""
PIECE_HEADER = "X-Piece"
FLAGS = {"sut": "--sut", "profile": "--profile", "chains": "--chains", "rate": "--rate", "search.budget": "--budget"}
"""Keys that have flags by which people know them."""


class FormCheck(NamedTuple):
    """A form that was looked at."""

    written: Mapping[str, str]
    body: dict[str, Any]
    wrong: dict[str, str]
    """What is wrong, by field."""
    wrong_besides: tuple[str, ...] = ()
    preview: RequestPreview | None = None
    """What would be done; None as long as something is wrong."""


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()

    @router.get("/start")
    async def ask(request: Request, again: str | None = None) -> Response:
        written = {key: value for key, value in request.query_params.items() if key != "again"}
        if again:
            written = fill_fields(site.runs.find(again).asked) | written
        return await _page(request, site, await run_in_threadpool(_look, site, written))

    @router.post("/start")
    async def start(request: Request) -> Response:
        fields = await read_form(request)
        written = {key: values[0] for key, values in fields.items() if key not in (TOKEN_FIELD, CHECK)}
        look = await run_in_threadpool(_look, site, written)
        if request.headers.get(PIECE_HEADER) == CHECK:
            values = _values(request, site, look)
            aside = await run_in_threadpool(lambda: environment().get_template("start_look.html").render(values))
            return JSONResponse({"wrong": look.wrong, "aside": aside}, headers={"Cache-Control": "no-store"})
        if look.preview is None or CHECK in fields:
            return await _page(request, site, look, 200 if look.preview else 422)
        try:
            entry = site.runs.create(look.body)
        except Problem as problem:
            return await _page(request, site, look._replace(wrong_besides=(problem.detail,)), problem.status)
        return RedirectResponse(f"/runs/{entry.id}", 303)

    return router


def _look(site: Site, written: Mapping[str, str]) -> FormCheck:
    """See what a form asks for."""
    body, wrong = parse_fields(written)
    if wrong:
        return FormCheck(written, body, wrong)
    try:
        return FormCheck(written, body, {}, (), preview_plans(check_body(body, site.config)))
    except Problem as problem:
        fields, besides = assign_errors(problem.errors or (problem.detail,))
        return FormCheck(written, body, fields, besides)


async def _page(request: Request, site: Site, look: FormCheck, status: int = 200) -> Response:
    config = await run_in_threadpool(_defaults, site)
    values = _values(request, site, look) | {
        "usual": list_usual_fields(config),
        "groups": list(list_further_groups(config)),
        "pasted": look.written.get(PASTED, ""),
    }
    return render(request, "start.html", status, **values)


def _defaults(site: Site) -> Config:
    """What a run is where the form says nothing."""
    return load(site.config.config, {})


def _values(request: Request, site: Site, look: FormCheck) -> dict[str, Any]:
    """What the piece beside the form shows."""
    return {
        "look": look,
        "command": format_command(look.body, site.config.config),
        "curl": format_curl(look.body, str(request.base_url), needs_token=site.sessions is not None),
        "queued_count": site.runs.queued_count + (site.runs.running is not None),
    }


def format_command(body: Mapping[str, Any], config: tuple[str, ...]) -> str:
    """The same run by `nodrop run`."""
    words = ["nodrop", "run", *(word for source in config for word in ("-c", source))]
    for key, value in flatten(body):
        words += [FLAGS[key], value] if key in FLAGS else ["--set", f"{key}={value}"]
    return shlex.join(words)


def format_curl(body: Mapping[str, Any], base_url: str, *, needs_token: bool) -> str:
    """The same run by the REST interface."""
    token = ' -H "Authorization: Bearer $TOKEN"' if needs_token else ""
    asked = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl -H 'Content-Type: application/json'{token} -d {asked} {base_url}api/v1/runs"
