"""The first page: what runs, what waits, what is done."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from nodrop.export.openmetrics import RunningState
from nodrop.formatting import format_goal
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import Summary
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_field, read_form
from nodrop.server.pages.login import safe_target
from nodrop.server.pages.partial_update import render_or_update
from nodrop.server.pages.results import headline_figures
from nodrop.server.rest.schemas import RunEntry, RunView
from nodrop.units import format_pps

PAGE_RUNS = 50
TEXT_MAX = 160


class RunResultRow(NamedTuple):
    """A result of a run, in short."""

    run_id: str
    frame_size: str
    """Empty where the run has no other."""
    figures: tuple[tuple[str, str], ...]


class RunRow(NamedTuple):
    """A run as lists show it."""

    view: RunView
    title: str
    asked: str
    """What differs from the defaults, in words."""
    progress: str
    """Where it is, while it goes on."""
    found: tuple[RunResultRow, ...]


class SummaryCache:
    """What runs of this server found; kept, as results never change, and lists are asked for every few seconds."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._known: dict[str, Summary] = {}

    async def of(self, entries: Sequence[RunEntry]) -> Mapping[str, Summary]:
        """By run id, of those that have one."""
        wanted = tuple(run_id for entry in entries for run_id in entry.run_ids if run_id not in self._known)
        if wanted:
            self._known |= await run_in_threadpool(self._look_up, wanted)
        return self._known

    def _look_up(self, wanted: tuple[str, ...]) -> dict[str, Summary]:
        with self._site.open_store() as index:
            return {row.summary.run_id: row.summary for row in index.list(ResultFilter(run_ids=wanted))}


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()
    summaries = SummaryCache(site)

    @router.get("/")
    async def show_runs(request: Request, before: str | None = None) -> Response:
        entries = site.runs.newest_first()
        live = [] if before else [entry for entry in entries if not entry.state.is_over]
        over = [entry for entry in entries if entry.state.is_over]
        begin = over.index(site.runs.find(before)) + 1 if before else 0
        shown = over[begin : begin + PAGE_RUNS]
        known = await summaries.of(shown)
        values = {
            "live": [_line(site, entry, known) for entry in reversed(live)],
            "over": [_line(site, entry, known) for entry in shown],
            "more": shown[-1].id if begin + PAGE_RUNS < len(over) else None,
            "first": before is None,
            "total_count": len(over),
            "results_dir": site.config.results_dir,
        }
        return render_or_update(request, "runs.html", "runs_now.html", **values)

    @router.post("/runs/{run_id}/cancel")
    async def cancel(request: Request, run_id: str) -> Response:
        fields = await read_form(request)
        if not site.runs.find(run_id).state.is_over:  # it may have ended by itself meanwhile
            site.runs.cancel(run_id)
        return RedirectResponse(safe_target(read_field(fields, "next")), 303)

    return router


def _line(site: Site, entry: RunEntry, known: Mapping[str, Summary]) -> RunRow:
    now = site.runs.now if entry.id == getattr(site.runs.running, "id", None) else None
    summaries = [known[run_id] for run_id in entry.run_ids if run_id in known]
    return RunRow(
        view=site.runs.show(entry),
        title=make_run_title(entry.asked),
        asked=describe_request(entry.asked),
        progress=describe_progress(now) if now else "",
        found=tuple(
            RunResultRow(each.run_id, each.frame_size if len(summaries) > 1 else "", headline_figures(each)) for each in summaries
        ),
    )


def make_run_title(asked: Mapping[str, Any]) -> str:
    """What to call a run: its label or, where it has none, what is measured."""
    if label := asked.get("label"):
        return str(label)[:TEXT_MAX]
    if rate := asked.get("rate"):
        return f"At {rate}"[:TEXT_MAX]
    return "NDR and PDR"


def describe_request(asked: Mapping[str, Any]) -> str:
    """What a body sets beside the label: `sut wire, search.width 5%`."""
    said = ", ".join(f"{key} {value}" for key, value in _flat(asked) if key != "label")
    return said if len(said) <= TEXT_MAX else f"{said[: TEXT_MAX - 1]}…"


def _flat(asked: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in asked.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, list):
            yield f"{before}{key}", " ".join(str(one) for one in value)
        elif value is not None:
            yield f"{before}{key}", str(value)


def describe_progress(now: RunningState) -> str:
    """Where a run is: its goals so far, and its trial."""
    goals = ", ".join(
        f"{format_goal(found.goal)} above {format_pps(found.lower.load_pps)}" for found in now.goals if found.lower
    )
    trial = f"trial {now.trial_count + 1}" + (
        f" at {format_pps(now.intended_load_pps)}" if now.intended_load_pps else ""
    )
    return f"{trial}; {goals}" if goals else trial
