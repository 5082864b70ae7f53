"""The page of a run: what it does now, what it has found so far, and all of it kept up to date while it goes on.

The page is whole as it is sent. A script then listens to a stream of pieces: whenever something happened, the pieces
that changed are sent as HTML, and the rows of the charts. Every message holds things as they are, not what changed, so
whoever misses some, or comes back after the server was started again, has lost nothing and sees nothing twice.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse, StreamingResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from nodrop.api.problem import Problem
from nodrop.api.sse import EVENT_STREAM, KEEP_ALIVE
from nodrop.api.state import State
from nodrop.charts import live as charts
from nodrop.charts.base import Chart, Row
from nodrop.charts.compiled import compiled
from nodrop.charts.theme import Theme
from nodrop.model.goal import GoalResult
from nodrop.model.latency import latency_of
from nodrop.model.plan import Plan
from nodrop.model.trial import FIXED, TrialResult
from nodrop.units import format_ns, format_ratio
from nodrop.web.forms import form_token, read_form
from nodrop.web.page import environment, render
from nodrop.web.runs import title_of
from nodrop.web.site import Site
from nodrop.web.watching import SEARCH, Watched
from nodrop.wording import goal_text, shown_loss_ratio, stop_text, width_text

EVERY_S = 0.24
"""Pieces of a running trial are sent so often at most: to draw them takes CPU time that the measurement may want."""
PIECES = ("state", "milestone", "doing", "now", "bounds", "parts", "latency", "trials", "log")
"""What of the page changes; each is a block of run_pieces.html."""
CHARTS = (charts.bounds_chart(()), charts.rate_chart(), charts.loss_chart(), charts.search_chart())
"""All that may be shown, for their headings; which of them are is known once it is known what is measured."""
PERCENTILES = (50.0, 99.0, 99.9)
LastEventId = Annotated[int, Header(alias="Last-Event-ID", ge=0, le=2**53)]


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()

    @router.get("/runs/{run_id}")
    async def show_run(request: Request, run_id: str) -> Response:
        watched, _ = await _caught_up(site, run_id)
        pieces = _pieces(watched, request)
        title, headline = title_of(watched.view.asked), _headline(watched)
        return render(request, "run.html", view=watched.view, title=title, headline=headline, pieces=pieces, charts=CHARTS)

    @router.get("/runs/{run_id}/charts")
    async def definitions(request: Request, run_id: str) -> Response:
        watched, _ = await _caught_up(site, run_id)
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        shown = charts_of(watched.plan)
        found = await run_in_threadpool(lambda: {chart.name: compiled(chart, theme) for chart in shown})
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

    @router.get("/runs/{run_id}/live")
    async def follow(request: Request, run_id: str, last_event_id: LastEventId = 0) -> Response:
        entry = site.runs.find(run_id)
        if last_event_id and entry.state.is_over and site.runs.event_count(run_id) <= last_event_id:
            return Response(status_code=204)  # or a browser would ask again and again
        stream = _stream(site, request, run_id)
        return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})

    @router.post("/runs/{run_id}/end")
    async def end(request: Request, run_id: str) -> Response:
        await read_form(request)
        try:
            site.runs.cancel(run_id)
        except Problem as problem:
            if problem.status != 409:  # it may have ended by itself meanwhile
                raise
        return RedirectResponse(f"/runs/{run_id}", 303)

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
        is_due = b"TrialProgress" not in told[1][:40] or time.monotonic() - shown_s >= EVERY_S
        if number >= until and is_due:
            shown_s = time.monotonic()
            yield _message(watched, request, number, shown)
    watched.view = site.runs.show(site.runs.find(run_id))
    yield _message(watched, request, number, shown)


@dataclass
class Shown:
    """What somebody has been sent of a page."""

    pieces: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)


def _message(watched: Watched, request: Request, number: int, shown: Shown) -> str:
    """What differs from what is shown already; empty when nothing does."""
    pieces, rows = _pieces(watched, request), _rows(watched)
    told = {
        "state": watched.view.state,
        "over": watched.view.state.is_over,
        "headline": _headline(watched),
        "charts": [chart.name for chart in charts_of(watched.plan)],
        "pieces": {name: html for name, html in pieces.items() if shown.pieces.get(name) != html},
        "rows": {name: each for name, each in rows.items() if shown.rows.get(name) != each},
    }
    shown.pieces, shown.rows = pieces, rows
    if not told["pieces"] and not told["rows"]:
        return ""
    return f"id: {number}\nevent: pieces\ndata: {json.dumps(told)}\n\n"


def _pieces(watched: Watched, request: Request) -> dict[str, str]:
    """Everything that changes, as HTML."""
    template = environment().get_template("run_pieces.html")
    values = {"form_token": form_token(request), "run": watched, "view": watched.view, "left_s": watched.left_s()}
    values |= {"numbers": _numbers(watched), "latencies": list(_latencies(watched)), "trials": _trials(watched)}
    values |= {"bounds": list(_bounds(watched)), "headline": _headline(watched), "State": State}
    context = template.new_context(values)
    return {name: Markup("".join(template.blocks[name](context)).strip()) for name in PIECES}


def _headline(watched: Watched) -> str:
    """How far it is in a few words, for the title of the window and for screen readers: it changes seldom."""
    state = watched.view.state
    if state is not State.RUNNING:
        return str(state).capitalize()
    if not watched.plan or not watched.facts:
        return "Sets up"
    if watched.plan.fixed:
        return "Measures at the rate asked for"
    phase = watched.started.phase if watched.started else watched.trials[-1].phase if watched.trials else SEARCH
    if phase != SEARCH:
        return f"Measures {phase}"
    found = [goal_text(each.goal) for each in watched.goals if each.regular]
    return f"Searches; {' and '.join(found)} found" if found else "Searches"


def _numbers(watched: Watched) -> dict[str, Any] | None:
    """What passes in the running trial; of the last one between two."""
    if watched.started and watched.progress:
        now, before = watched.progress[-1], watched.progress[-2:-1]
        since_s = now.elapsed_s - (before[0].elapsed_s if before else 0.0)
        counts = [before[0].offered_count, before[0].received_count] if before else [0, 0]
        return {
            "trial": watched.started,
            "elapsed_s": min(now.elapsed_s, watched.started.trial.duration_s),
            "sent_pps": (now.offered_count - counts[0]) / since_s if since_s else 0.0,
            "received_pps": (now.received_count - counts[1]) / since_s if since_s else 0.0,
            "lost_count": now.lost_count,
            "loss": format_ratio(now.lost_count / now.offered_count if now.offered_count else 0.0),
        }
    return None


def _bounds(watched: Watched) -> Iterator[dict[str, Any]]:
    """What is known of each goal."""
    plan = watched.plan
    if not plan or plan.fixed or plan.no_traffic:
        return
    found = {each.goal.label: each for each in watched.goals}
    for goal in plan.search.goals:
        known = found.get(goal.label)
        yield {
            "goal": goal_text(goal),
            "lower_pps": known.lower.load_pps if known and known.lower else None,
            "upper_pps": known.upper.load_pps if known and known.upper else None,
            "width": width_text(known) if known else "-",
            "asked": format_ratio(goal.width_ratio) if goal.width_ratio else "-",
            "regular": bool(known and known.regular),
            "why": _meaning(known),
        }


def _meaning(known: GoalResult | None) -> str:
    """What the bounds say as long as they move, and why they are where they are once they do not."""
    if known is None or (known.lower is None and known.upper is None):
        return "no load is decided yet"
    if known.regular:
        return known.explanation
    if known.upper is None:
        return "met at every load tried in earnest so far"
    return "closing in" if known.lower else "not met so far, looks further down"


def _latencies(watched: Watched) -> Iterator[dict[str, Any]]:
    """Latency where it was measured for its own sake, else that of the last trial."""
    wanted = [trial for trial in watched.trials if trial.phase != SEARCH] or watched.trials[-1:]
    for trial in wanted:
        figures = latency_of(trial, PERCENTILES)
        if figures:
            phase = trial.phase.removeprefix("latency ") if trial.phase not in (SEARCH, FIXED) else f"trial {trial.index}"
            shown = [format_ns(figures.percentiles_ns[each]) for each in PERCENTILES if each in figures.percentiles_ns]
            yield {
                "at": phase,
                "load_pps": trial.trial.intended_load_pps,
                "percentiles": [*shown, *["-"] * (len(PERCENTILES) - len(shown))],
                "max": format_ns(figures.max_ns),
            }


def _trials(watched: Watched) -> list[dict[str, Any]]:
    """All trials, the latest first."""
    return [_trial(trial) for trial in reversed(watched.trials)]


def _trial(trial: TrialResult) -> dict[str, Any]:
    return {
        "trial": trial,
        "load_pps": trial.trial.intended_load_pps,
        "loss": format_ratio(shown_loss_ratio(trial)),
        "stop": stop_text(trial),
        "reason": trial.trial.reason or trial.phase,
        "doubts": [doubt.text for doubt in trial.validity.doubts],
    }


def charts_of(plan: Plan | None) -> tuple[Chart, ...]:
    """The charts that fit what is measured; none before that is known."""
    if plan is None or plan.no_traffic:
        return ()
    of_trial = (charts.rate_chart(), charts.loss_chart())
    return of_trial if plan.fixed else (charts.bounds_chart(plan.search.goals), *of_trial, charts.search_chart())


def _rows(watched: Watched) -> dict[str, list[Row]]:
    """Rows of all charts."""
    rows = charts.trial_rows(watched.progress) if watched.progress else {}
    result = watched.result()
    if result and any(trial.phase == SEARCH for trial in result.trials):
        now = watched.started if watched.started and watched.started.phase == SEARCH else None
        rows |= charts.search_rows(result, watched.steps, now)
    return rows
