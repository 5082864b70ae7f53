"""The results that are kept: looked up, and one by one."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.model.summary import Summary
from nodrop.report.listing import format_listed_measure
from nodrop.server.pages import lookup
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render

FIGURES_MAX = 2


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()

    @router.get("/results")
    async def look_up(request: Request) -> Response:
        return await run_in_threadpool(_look_up, request)

    def _look_up(request: Request) -> Response:
        asked = lookup.read(request.query_params)
        wanted = asked.filter()
        with site.open_store() as index:
            rows, count, problems = index.list(wanted), index.count(wanted), index.problems
        return render(
            request,
            "results.html",
            asked=asked,
            rows=rows,
            count=count,
            first=wanted.offset + 1,
            last=wanted.offset + len(rows),
            problems=(*index.warnings, *problems),
            sorts=lookup.SORTS,
            statuses=lookup.STATUSES,
            sources=lookup.SOURCES,
            texts=lookup.TEXTS,
            figures=headline_figures,
            latency=headline_latency,
            title=result_title,
        )

    return router


def result_title(summary: Summary) -> str:
    """What to call a result."""
    return summary.label or summary.sut or summary.run_id


def headline_figures(summary: Summary) -> tuple[tuple[str, str], ...]:
    """The rates and losses it found, the most telling first: names and figures."""
    told = [measure for measure in summary.measures if measure.unit != "ns"][:FIGURES_MAX]
    return tuple((measure.text, format_listed_measure(measure)) for measure in told)


def headline_latency(summary: Summary) -> tuple[str, str] | None:
    """The latency that is asked for most: of all but the slowest hundredth, at the most telling load."""
    told = [measure for measure in summary.measures if measure.unit == "ns" and "p99_" in measure.key]
    return (told[0].text.partition(" at ")[2], format_listed_measure(told[0])) if told else None
