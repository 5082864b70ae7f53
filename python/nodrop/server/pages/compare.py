"""Two set-ups compared: what is B beside A, and why may that be."""

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.analysis import Comparison, Margins
from nodrop.analysis.stored_comparison import Runs, compare_results, split_variants
from nodrop.analysis.text import (
    describe_method,
    format_effect_range,
    format_series,
    format_short_outcome,
    format_signed_effect,
)
from nodrop.charts import comparison as charts
from nodrop.errors import ConfigError
from nodrop.report.comparison import known_lines
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Document
from nodrop.report.document.imported import build_imported_document
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render
from nodrop.server.pages.result import load_with_steps, make_report_response
from nodrop.server.pages.result_selection import select_results
from nodrop.server.pages.results import result_title
from nodrop.server.rest.problem import Problem
from nodrop.units import parse_ratio


def routes(site: Site) -> APIRouter:
    """The page."""
    router = APIRouter()

    @router.get("/compare")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    @router.get("/compare/report.html")
    async def report(request: Request) -> Response:
        shown = await run_in_threadpool(_document, request)
        return await make_report_response(site, shown, "comparison")

    def _document(request: Request) -> Document:
        query = request.query_params
        try:
            sides = _sides(site, _words(query.getlist("a")), _words(query.getlist("b")))
            comparison = _compared(*sides, query.get("margin", "").strip())
        except ConfigError as error:
            raise Problem(422, str(error)) from None
        runs = (*sides[0], *sides[1])
        others = [run.summary for run in runs if run.summary.source != "nodrop"]
        own = [load_with_steps(run.path) for run in runs if run.summary.source == "nodrop"]
        return build_document(own, None, comparison, others) if own else build_imported_document(others, comparison)

    def _show(request: Request) -> Response:
        query = request.query_params
        asked_a, asked_b = _words(query.getlist("a")), _words(query.getlist("b"))
        margin = query.get("margin", "").strip()
        comparison, complaint, sides = None, "", None
        if asked_a or asked_b:
            try:
                sides = _sides(site, asked_a, asked_b)
                comparison = _compared(*sides, margin)
            except ConfigError as error:
                complaint = str(error)
        return render(
            request,
            "compare.html",
            status=200 if not complaint else 422,
            asked_a=",".join(asked_a),
            asked_b=",".join(asked_b),
            margin=margin,
            address=urlencode({"a": ",".join(asked_a), "b": ",".join(asked_b), "margin": margin}),
            comparison=comparison,
            lead=format_short_outcome(comparison) if comparison else "",
            complaint=complaint,
            sides=sides,
            chart=charts.build_chart(comparison) if comparison else None,
            drawing=site.drawings.placeholder,
            known=tuple(known_lines(comparison)) if comparison else (),
            title=result_title,
            method_text=describe_method,
            series_text=format_series,
            signed_text=format_signed_effect,
            span_text=format_effect_range,
        )

    return router


def _words(written: Sequence[str]) -> list[str]:
    return [word for each in written for part in each.split(",") if (word := part.strip())]


def _sides(site: Site, a: Sequence[str], b: Sequence[str]) -> tuple[Runs, Runs]:
    """The runs of A and of B; a single suite may have both. Raises ConfigError or Problem."""
    with site.open_store() as index:
        if a and b:
            return select_results(site, index, a), select_results(site, index, b)
        both = split_variants(select_results(site, index, a or b))
    if both is None:
        raise ConfigError("one side alone asked, two expected; tick results in both columns, or name a suite with two")
    return both


def _compared(a: Runs, b: Runs, margin: str) -> Comparison:
    """Raises ConfigError."""
    try:
        margins = Margins(pps=parse_ratio(margin)) if margin else Margins()
    except ValueError:
        raise ConfigError(f"margin {margin[:40]} asked, a share above 0 expected; write for example 1%") from None
    return compare_results(a, b, margins=margins)
