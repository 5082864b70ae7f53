"""The first page: running, queued and finished runs."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from nodrop.formatting import format_goal
from nodrop.model.result_filter import ResultFilter
from nodrop.model.run_state import RunState
from nodrop.model.summary import Summary
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_field, read_form
from nodrop.server.pages.last_result import LastResultCache
from nodrop.server.pages.login import safe_target
from nodrop.server.pages.render import render
from nodrop.server.pages.results import format_result_title, list_headline_figures, list_missing_goals
from nodrop.server.pages.run_presenter import describe_wait, get_display_state
from nodrop.server.rest.schemas import RunEntry, RunView
from nodrop.units import format_pps

PAGE_RUNS = 50
TEXT_MAX = 160
PIECE_HEADER = "X-Piece"
"""Requests only the changing piece of a page; the value is the version that the client has."""


class RunResultRow(NamedTuple):
    """Main figures of a result of a run."""

    run_id: str
    frame_size: str
    """Empty if the run has one result."""
    figures: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    """Goals without a load, with the reason."""


class RunRow(NamedTuple):
    """A run in a list."""

    view: RunView
    title: str
    request: str
    """Keys of the request."""
    state: str
    """State for the reader: `waiting` before its turn on this machine."""
    progress: str
    """Progress of the running run, or the reason for which a run waits; otherwise empty."""
    results: tuple[RunResultRow, ...]


class SummaryCache:
    """Summaries of results, cached since results never change and lists are requested every few seconds."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._summaries: dict[str, Summary] = {}

    async def load(self, entries: Sequence[RunEntry]) -> Mapping[str, Summary]:
        """Load the summaries of the results of runs; returns all summaries by run id."""
        missing = tuple(run_id for entry in entries for run_id in entry.run_ids if run_id not in self._summaries)
        if missing:
            self._summaries |= await run_in_threadpool(self._read_summaries, missing)
        return self._summaries

    def _read_summaries(self, run_ids: tuple[str, ...]) -> dict[str, Summary]:
        with self._site.open_store() as index:
            return {row.summary.run_id: row.summary for row in index.list(ResultFilter(run_ids=run_ids))}


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()
    cache, last_result = SummaryCache(site), LastResultCache(site)

    @router.get("/")
    async def show_runs(request: Request, before: str | None = None) -> Response:
        entries = site.runs.newest_first()
        live = [] if before else [entry for entry in entries if not entry.state.is_over]
        over = [entry for entry in entries if entry.state.is_over]
        begin = over.index(site.runs.find(before)) + 1 if before else 0
        page_entries = over[begin : begin + PAGE_RUNS]
        summaries = await cache.load(page_entries)
        values = {
            "live": [_make_row(site, entry, summaries) for entry in reversed(live)],
            "over": [_make_row(site, entry, summaries) for entry in page_entries],
            "more": page_entries[-1].id if begin + PAGE_RUNS < len(over) else None,
            "first": before is None,
            "last": await last_result.load() if before is None else None,
            "title": format_result_title,
            "total_count": len(over),
            "results_dir": site.config.results_dir,
        }
        return _render_or_update(request, "runs.html", "runs_now.html", **values)

    @router.post("/runs/{run_id}/cancel")
    async def cancel(request: Request, run_id: str) -> Response:
        fields = await read_form(request)
        if not site.runs.find(run_id).state.is_over:  # it may have ended in the meantime
            site.runs.cancel(run_id)
        return RedirectResponse(safe_target(read_field(fields, "next")), 303)

    return router


def _render_or_update(request: Request, template: str, piece: str, **values: Any) -> Response:
    """Render a page or, for its script, only the piece that changes: 204 if it is unchanged."""
    current_version = request.headers.get(PIECE_HEADER)
    part = render(request, piece, **values)
    version = hashlib.sha256(part.body).hexdigest()[:16]
    if current_version == version:
        return Response(status_code=204)
    part.headers[PIECE_HEADER] = version
    return part if current_version is not None else render(request, template, **values, piece_version=version)


def _make_row(site: Site, entry: RunEntry, cached: Mapping[str, Summary]) -> RunRow:
    state = site.runs.running_state if entry.id == getattr(site.runs.running, "id", None) else None
    summaries = [cached[run_id] for run_id in entry.run_ids if run_id in cached]
    view = site.runs.show(entry)
    progress = describe_progress(state) if state else "Bringing up the lab"
    return RunRow(
        view=view,
        title=make_run_title(entry.asked),
        request=describe_request(entry.asked),
        state=get_display_state(view),
        progress=describe_wait(view) if view.is_waiting or view.place else progress,
        results=tuple(
            RunResultRow(
                each.run_id,
                each.frame_size if len(summaries) > 1 else "",
                list_headline_figures(each),
                list_missing_goals(each),
            )
            for each in summaries
        ),
    )


def make_run_title(body: Mapping[str, Any]) -> str:
    """Return the label of a run or, without one, its measurement."""
    if label := body.get("label"):
        return str(label)[:TEXT_MAX]
    if rate := body.get("rate"):
        return f"At {rate}"[:TEXT_MAX]
    return "NDR and PDR"


def describe_request(body: Mapping[str, Any]) -> str:
    """Format the keys of a body except the label: `sut wire, search.width 5%`."""
    text = ", ".join(f"{key} {value}" for key, value in _flatten(body) if key != "label")
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _flatten(body: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in body.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", " ".join(map(str, value))
        elif value is not None:
            yield f"{prefix}{key}", str(value)


def describe_progress(state: RunState) -> str:
    """Describe the progress of a run: trial, and goals so far."""
    goals = ", ".join(
        f"{format_goal(goal_result.goal)} above {format_pps(goal_result.lower.load_pps)}"
        for goal_result in state.goals
        if goal_result.lower
    )
    load = f" at {format_pps(state.trial.trial.intended_load_pps)}" if state.trial else ""
    trial = f"Trial {len(state.trials) + 1}{load}"
    return f"{trial}; {goals}" if goals else trial
