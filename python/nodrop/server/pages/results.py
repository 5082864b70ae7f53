"""The page that lists stored results."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.model.summary import Summary
from nodrop.report.listing import format_listed_measure
from nodrop.server.pages import lookup
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render

FIGURES_MAX = 2


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
            figures=list_headline_figures,
            latency=format_headline_latency,
            title=format_result_title,
        )

    return router


def format_result_title(summary: Summary) -> str:
    """Return the display name of a result."""
    return summary.label or summary.sut or summary.run_id


def list_headline_figures(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Return names and values of the main rates and losses."""
    metrics = [measure for measure in summary.measures if measure.unit != "ns"][:FIGURES_MAX]
    return tuple((measure.text, format_listed_measure(measure)) for measure in metrics)


def format_headline_latency(summary: Summary) -> tuple[str, str] | None:
    """Return the p99 latency at the main load."""
    metrics = [measure for measure in summary.measures if measure.unit == "ns" and "p99_" in measure.key]
    return (metrics[0].text.partition(" at ")[2], format_listed_measure(metrics[0])) if metrics else None
