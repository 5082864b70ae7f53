"""The page of a run: what it does now, what it has found so far, and all of it kept up to date while it goes on.

The page is whole as it is sent. A script then listens to a stream of pieces: whenever something happened, the pieces
that changed are sent as HTML, and the rows of the charts. Every message holds things as they are, not what changed, so
whoever misses some, or comes back after the server was started again, has lost nothing and sees nothing twice.
"""

import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from nodrop.charts import live as charts
from nodrop.charts.base import Chart, Row
from nodrop.charts.theme import Theme
from nodrop.charts.vega_compile import compiled
from nodrop.model.event import TrialProgress
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import form_token
from nodrop.server.pages.render import environment, render
from nodrop.server.pages.run_presenter import bounds, doing, headline, latencies, numbers, trials
from nodrop.server.pages.run_view import SEARCH, Watched
from nodrop.server.pages.runs import title_of
from nodrop.server.rest.sse import EVENT_STREAM, KEEP_ALIVE

EVERY_S = 0.45
"""Pieces of a running trial are sent so often at most: to draw them takes CPU time that the measurement may want."""
PIECES = ("state", "milestone", "doing", "now", "bounds", "parts", "latency", "trials", "log")
"""What of the page changes; each is a block of run_pieces.html."""
PASSING = ("state", "now")
"""Those that change while a trial runs."""
PROGRESS = TrialProgress.__name__.encode()
CHARTS = (charts.bounds_chart(()), charts.rate_chart(), charts.loss_chart(), charts.search_chart())
"""All that may be shown, for their headings; which of them are is known once it is known what is measured."""
LastEventId = Annotated[int, Header(alias="Last-Event-ID", ge=0, le=2**53)]


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()

    @router.get("/runs/{run_id}")
    async def show_run(request: Request, run_id: str) -> Response:
        watched, _ = await _caught_up(site, run_id)
        pieces = _pieces(watched, request)
        values: dict[str, Any] = {
            "title": title_of(watched.view.asked),
            "headline": headline(watched),
            "charts": CHARTS,
        }
        return render(request, "run.html", view=watched.view, pieces=pieces, **values)

    @router.get("/runs/{run_id}/charts")
    async def definitions(request: Request, run_id: str) -> Response:
        watched, _ = await _caught_up(site, run_id)
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        shown = charts_of(watched)
        found = await run_in_threadpool(lambda: {chart.name: compiled(chart, theme) for chart in shown})
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

    @router.get("/runs/{run_id}/live")
    async def follow(request: Request, run_id: str, last_event_id: LastEventId = 0) -> Response:
        entry = site.runs.find(run_id)
        if last_event_id and entry.state.is_over and site.runs.event_count(run_id) <= last_event_id:
            return Response(status_code=204)  # or a browser would ask again and again
        stream = _stream(site, request, run_id)
        return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})

    return router


async def _caught_up(site: Site, run_id: str) -> tuple[Watched, int]:
    """A run as it is now, and the number of the event it is as of."""
    watched, number = Watched(site.runs.show(site.runs.find(run_id))), 0
    until = site.runs.event_count(run_id)
    if until:
        async for told in site.runs.events(run_id, 0):
            if told is not None:
                number = _hear(watched, told)
            if number >= until:
                break
    watched.view = site.runs.show(site.runs.find(run_id))
    return watched, number


def _hear(watched: Watched, told: tuple[int, bytes]) -> int:
    number, line = told
    event = json.loads(line)
    watched.hear(event["event"], event["data"])
    return number


async def _stream(site: Site, request: Request, run_id: str) -> AsyncIterator[str]:
    """All pieces once, then those that change, until the run is over."""
    watched, number = Watched(site.runs.show(site.runs.find(run_id))), 0
    until, shown_s = site.runs.event_count(run_id), 0.0
    shown = Shown()
    async for told in site.runs.events(run_id, 0):
        if told is None:
            watched.view = site.runs.show(site.runs.find(run_id))  # its place in the queue may be another
            yield _message(watched, request, number, shown) or KEEP_ALIVE
            continue
        number = _hear(watched, told)
        is_passing = PROGRESS in told[1][: len(PROGRESS) * 2] and number > until
        if number >= until and not (is_passing and time.monotonic() - shown_s < EVERY_S):
            shown_s = time.monotonic()
            yield _message(watched, request, number, shown, is_passing)
    watched.view = site.runs.show(site.runs.find(run_id))
    yield _message(watched, request, number, shown)


@dataclass
class Shown:
    """What somebody has been sent of a page."""

    pieces: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)


def _message(watched: Watched, request: Request, number: int, shown: Shown, only_passing: bool = False) -> str:
    """What differs from what is shown already; empty when nothing does."""
    pieces = _pieces(watched, request, PASSING if only_passing else PIECES)
    rows = _passing_rows(watched) if only_passing else _passing_rows(watched) | _search_rows(watched)
    told = {
        "state": watched.view.state,
        "over": watched.view.state.is_over,
        "headline": headline(watched),
        "charts": [chart.name for chart in charts_of(watched)],
        "pieces": {name: html for name, html in pieces.items() if shown.pieces.get(name) != html},
        "rows": {name: each for name, each in rows.items() if shown.rows.get(name) != each},
    }
    shown.pieces |= pieces
    shown.rows |= rows
    if not told["pieces"] and not told["rows"]:
        return ""
    return f"id: {number}\nevent: pieces\ndata: {json.dumps(told)}\n\n"


def _pieces(watched: Watched, request: Request, names: Sequence[str] = PIECES) -> dict[str, str]:
    """Some of what changes, as HTML."""
    template = environment().get_template("run_pieces.html")
    told = {each.__name__: partial(each, watched) for each in (bounds, doing, headline, latencies, numbers, trials)}
    common = {"form_token": form_token(request), "run": watched, "view": watched.view, "left_s": watched.left_s()}
    context = template.new_context(told | common)
    return {name: Markup("".join(template.blocks[name](context)).strip()) for name in names}


def charts_of(watched: Watched) -> tuple[Chart, ...]:
    """The charts that fit what is measured; none before that is known."""
    plan = watched.plan
    if plan is None or plan.no_traffic:
        return ()
    of_trial = (charts.rate_chart(), charts.loss_chart())
    if plan.fixed:
        return of_trial
    of_search = charts.bounds_chart(plan.search.goals), charts.search_chart()
    return of_search if watched.view.state.is_over else (of_search[0], *of_trial, of_search[1])


def _passing_rows(watched: Watched) -> dict[str, list[Row]]:
    """Rows of the charts of the running trial."""
    return charts.trial_rows(watched.progress) if watched.progress else {}


def _search_rows(watched: Watched) -> dict[str, list[Row]]:
    """Rows of the charts of the search."""
    result = watched.result()
    if result is None or not any(trial.phase == SEARCH for trial in result.trials):
        return {}
    now = watched.started if watched.started and watched.started.phase == SEARCH else None
    return charts.search_rows(result, watched.steps, now)
