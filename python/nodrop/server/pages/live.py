"""The page of a run: current activity and results so far, updated while the run goes on.

The server sends a complete page. A script then listens to a stream of pieces: after each event the server sends the
changed pieces as HTML, and the rows of the charts. Every message holds complete pieces, not differences, so a client
that misses some, or reconnects after a restart of the server, loses nothing and sees nothing twice.
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

from nodrop.charts import live as charts
from nodrop.charts.base import Chart, Row
from nodrop.charts.theme import Theme
from nodrop.model.event import TrialProgress
from nodrop.model.trial import SEARCH
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import make_form_token
from nodrop.server.pages.render import make_environment, render
from nodrop.server.pages.run_presenter import (
    describe_activity,
    format_headline,
    get_current_figures,
    get_display_state,
    list_bounds,
    list_latencies,
    list_trials,
)
from nodrop.server.pages.run_view import LiveRun
from nodrop.server.pages.runs import make_run_title
from nodrop.server.rest.sse import EVENT_STREAM, KEEP_ALIVE

INTERVAL_S = 0.45
"""Shortest interval between updates of a running trial: rendering takes CPU time from the measurement."""
PIECES = ("state", "actions", "milestone", "doing", "now", "bounds", "parts", "latency", "trials", "log")
"""Parts of the page that change; each is a block of run_pieces.html."""
PROGRESS_PIECES = ("state", "now")
"""Pieces that change during a trial."""
PROGRESS = TrialProgress.__name__.encode()
CHARTS = (
    charts.build_bounds_chart(()),
    charts.build_rate_chart(),
    charts.build_loss_chart(),
    charts.build_search_chart(),
)
"""All charts a page may show, for their headings; the plan decides which of them apply."""
LastEventId = Annotated[int, Header(alias="Last-Event-ID", ge=0, le=2**53)]


def make_routes(site: Site) -> APIRouter:
    """Return the routes of these pages."""
    router = APIRouter()

    @router.get("/runs/{run_id}")
    async def show_run(request: Request, run_id: str) -> Response:
        run, _ = await _load_run(site, run_id)
        pieces = _render_pieces(run, request)
        values: dict[str, Any] = {
            "title": make_run_title(run.view.asked),
            "headline": format_headline(run),
            "charts": CHARTS,
        }
        return render(request, "run.html", view=run.view, pieces=pieces, **values)

    @router.get("/runs/{run_id}/charts")
    async def definitions(request: Request, run_id: str) -> Response:
        run, _ = await _load_run(site, run_id)
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        compiled = await site.charts.compile(select_charts(run), theme)
        return JSONResponse(compiled, headers={"Cache-Control": "no-store"})

    @router.get("/runs/{run_id}/live")
    async def follow(request: Request, run_id: str, last_event_id: LastEventId = 0) -> Response:
        entry = site.runs.find(run_id)
        if last_event_id and entry.state.is_over and site.runs.event_count(run_id) <= last_event_id:
            return Response(status_code=204)  # a browser would reconnect forever
        stream = _iter_messages(site, request, run_id)
        return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})

    return router


async def _load_run(site: Site, run_id: str) -> tuple[LiveRun, int]:
    """Return a run as of now, and the number of its last event."""
    run, number = LiveRun(site.runs.show(site.runs.find(run_id))), 0
    until = site.runs.event_count(run_id)
    if until:
        async for line in site.runs.events(run_id, 0):
            if line is not None:
                number = _apply(run, line)
            if number >= until:
                break
    run.view = site.runs.show(site.runs.find(run_id))
    return run, number


def _apply(run: LiveRun, numbered_line: tuple[int, bytes]) -> int:
    number, line = numbered_line
    event = json.loads(line)
    run.handle(event["event"], event["data"])
    return number


async def _iter_messages(site: Site, request: Request, run_id: str) -> AsyncIterator[str]:
    """Yield all pieces once, then those that change, until the run is over."""
    run, number = LiveRun(site.runs.show(site.runs.find(run_id))), 0
    until, sent_s = site.runs.event_count(run_id), 0.0
    sent = SentPieces()
    async for line in site.runs.events(run_id, 0):
        if line is None:
            run.view = site.runs.show(site.runs.find(run_id))  # its place in the queue may have changed
            yield _format_message(run, request, number, sent) or KEEP_ALIVE
            continue
        number = _apply(run, line)
        is_progress = PROGRESS in line[1][: len(PROGRESS) * 2] and number > until
        if number >= until and not (is_progress and time.monotonic() - sent_s < INTERVAL_S):
            sent_s = time.monotonic()
            yield _format_message(run, request, number, sent, is_progress)
    run.view = site.runs.show(site.runs.find(run_id))
    yield _format_message(run, request, number, sent)


@dataclass
class SentPieces:
    """The parts of a page that a client has."""

    pieces: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)


def _format_message(run: LiveRun, request: Request, number: int, sent: SentPieces, progress_only: bool = False) -> str:
    """Return the difference to what the client has; empty if none."""
    pieces = _render_pieces(run, request, PROGRESS_PIECES if progress_only else PIECES)
    rows = _build_trial_row_sets(run) if progress_only else _build_trial_row_sets(run) | _search_rows(run)
    content = {
        "state": run.view.state,
        "over": run.view.state.is_over,
        "headline": format_headline(run),
        "charts": [chart.name for chart in select_charts(run)],
        "pieces": {name: html for name, html in pieces.items() if sent.pieces.get(name) != html},
        "rows": {name: each for name, each in rows.items() if sent.rows.get(name) != each},
    }
    sent.pieces |= pieces
    sent.rows |= rows
    if not content["pieces"] and not content["rows"]:
        return ""
    return f"id: {number}\nevent: pieces\ndata: {json.dumps(content)}\n\n"


def _render_pieces(run: LiveRun, request: Request, names: Sequence[str] = PIECES) -> dict[str, str]:
    """Return the named pieces of the page as HTML."""
    template = make_environment().get_template("run_pieces.html")
    values = {
        "activity": partial(describe_activity, run),
        "bounds": partial(list_bounds, run),
        "figures": partial(get_current_figures, run),
        "headline": partial(format_headline, run),
        "latencies": partial(list_latencies, run),
        "trials": partial(list_trials, run),
    }
    shown = {"shown_state": get_display_state(run.view)}
    common = shown | {
        "form_token": make_form_token(request),
        "run": run,
        "view": run.view,
        "remaining_s": run.remaining_s(),
    }
    context = template.new_context(values | common)
    return {name: Markup("".join(template.blocks[name](context)).strip()) for name in names}


def select_charts(run: LiveRun) -> tuple[Chart, ...]:
    """Return the charts that apply to a run; none before its plan is known."""
    plan = run.plan
    if plan is None or plan.no_traffic:
        return ()
    trial_charts = (charts.build_rate_chart(), charts.build_loss_chart())
    if plan.fixed:
        return trial_charts
    search_charts = charts.build_bounds_chart(plan.search.goals), charts.build_search_chart()
    return search_charts if run.view.state.is_over else (search_charts[0], *trial_charts, search_charts[1])


def _build_trial_row_sets(run: LiveRun) -> dict[str, list[Row]]:
    """Return the rows of the charts of the running trial."""
    return charts.build_trial_rows(run.windows) if run.windows else {}


def _search_rows(run: LiveRun) -> dict[str, list[Row]]:
    """Return the rows of the charts of the search."""
    result = run.result()
    if result is None or not any(trial.phase == SEARCH for trial in result.trials):
        return {}
    trial = run.running_trial
    return charts.build_search_rows(result, run.decisions, trial if trial and trial.phase == SEARCH else None)
