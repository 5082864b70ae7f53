"""The page that lists stored results."""

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.model.summary import Summary
from nodrop.report.listing import format_listed_measure
from nodrop.server.pages import lookup
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render

FIGURES_MAX = 2
ESTIMATE = "_estimate"
"""End of the keys of measures without bounds."""


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()

    @router.get("/results")
    async def look_up(request: Request) -> Response:
        return await run_in_threadpool(_look_up, request)

    def _look_up(request: Request) -> Response:
        query = lookup.parse_query(request.query_params)
        criteria = query.filter()
        with site.open_store() as index:
            rows, count, problems = index.list(criteria), index.count(criteria), index.problems
        return render(
            request,
            "results.html",
            query=query,
            rows=rows,
            count=count,
            first=criteria.offset + 1,
            last=criteria.offset + len(rows),
            problems=(*index.warnings, *problems),
            sorts=lookup.SORTS,
            statuses=lookup.STATUSES,
            sources=lookup.SOURCES,
            texts=lookup.TEXTS,
            **ROW_HELPERS,
        )

    return router


def format_result_title(summary: Summary) -> str:
    """Return the display name of a result."""
    return summary.label or summary.sut or summary.run_id


def list_headline_figures(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Return names and values of the main rates and losses."""
    metrics = [measure for measure in summary.measures if measure.unit != "ns"][:FIGURES_MAX]
    return tuple((measure.text, format_listed_measure(measure)) for measure in metrics)


def describe_outcome(summary: Summary) -> tuple[str, str]:
    """Return class and text of the status; a complete search may have found nothing."""
    found = any(not measure.key.endswith(ESTIMATE) for measure in summary.measures)
    if summary.status == "complete" and summary.missing_goals and not found:
        return "note", "nothing found"
    return summary.status, summary.status.replace("_", " ")


def list_missing_goals(summary: Summary) -> tuple[str, ...]:
    """Return a sentence on each goal without a load: `NDR not found: The search ended before ...`; each reason once."""
    names: dict[str, list[str]] = {}
    for goal in summary.missing_goals:
        names.setdefault(goal.reason, []).append(goal.text)
    return tuple(
        f"{' and '.join(goals)} not found: {f'{reason[:1].lower()}{reason[1:]}' if reason else 'no reason recorded'}"
        for reason, goals in names.items()
    )


def format_headline_latency(summary: Summary) -> tuple[str, str] | None:
    """Return the p99 latency at the main load."""
    metrics = [measure for measure in summary.measures if measure.unit == "ns" and "p99_" in measure.key]
    return (metrics[0].text.partition(" at ")[2], format_listed_measure(metrics[0])) if metrics else None


ROW_HELPERS: dict[str, Any] = {
    "figures": list_headline_figures,
    "latency": format_headline_latency,
    "missing": list_missing_goals,
    "outcome": describe_outcome,
    "title": format_result_title,
}
"""Functions that result_rows.html uses."""
