"""The page that compares two setups."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.analysis import Comparison, Margins
from nodrop.analysis.stored_comparison import Runs, compare_results, split_variants
from nodrop.analysis.text import (
    describe_method,
    format_metric_effect,
    format_metric_range,
    format_outcome,
    format_series,
    format_short_outcome,
)
from nodrop.charts import comparison as charts
from nodrop.errors import ConfigError
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import ResultRow
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Document
from nodrop.report.document.comparison import list_cautions
from nodrop.report.document.imported import build_imported_document
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render, render_placeholder
from nodrop.server.pages.result import load_with_steps, make_report_response
from nodrop.server.pages.result_selection import select_results
from nodrop.server.pages.results import ROW_HELPERS
from nodrop.server.rest.problem import Problem
from nodrop.units import parse_ratio

RECENT_MAX = 12
"""Results that the page offers while none is selected."""


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()

    @router.get("/compare")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    @router.get("/compare/report.html")
    async def report(request: Request) -> Response:
        document = await run_in_threadpool(_document, request)
        return await make_report_response(site, document, "comparison")

    def _document(request: Request) -> Document:
        query = request.query_params
        try:
            sides = _select_sides(site, _split_names(query.getlist("a")), _split_names(query.getlist("b")))
            comparison = _compare(*sides, query.get("margin", "").strip())
        except ConfigError as error:
            raise Problem(422, str(error)) from None
        runs = (*sides[0], *sides[1])
        imported = [run.summary for run in runs if run.summary.source != "nodrop"]
        results = [load_with_steps(run.path) for run in runs if run.summary.source == "nodrop"]
        return (
            build_document(results, None, comparison, imported)
            if results
            else build_imported_document(imported, comparison)
        )

    def _show(request: Request) -> Response:
        query = request.query_params
        names_a, names_b = _split_names(query.getlist("a")), _split_names(query.getlist("b"))
        margin = query.get("margin", "").strip()
        comparison, problem, sides = None, "", None
        if names_a or names_b:
            try:
                sides = _select_sides(site, names_a, names_b)
                comparison = _compare(*sides, margin)
            except ConfigError as error:
                problem = str(error)
        return render(
            request,
            "compare.html",
            status=200 if not problem else 422,
            names_a=",".join(names_a),
            names_b=",".join(names_b),
            margin=margin,
            query=urlencode({"a": ",".join(names_a), "b": ",".join(names_b), "margin": margin}),
            comparison=comparison,
            lead=format_short_outcome(comparison) if comparison else "",
            problem=problem,
            sides=sides,
            chart=charts.build_chart(comparison) if comparison else None,
            placeholder=partial(render_placeholder, site.charts),
            known=tuple(list_cautions(comparison)) if comparison else (),
            rows=() if comparison else _list_recent(site),
            **ROW_HELPERS,
            method_text=describe_method,
            series_text=format_series,
            effect_text=format_metric_effect,
            span_text=format_metric_range,
            outcome_text=format_outcome,
        )

    return router


def _list_recent(site: Site) -> tuple[ResultRow, ...]:
    """Return the newest results, to choose from."""
    with site.open_store() as index:
        return index.list(ResultFilter(limit=RECENT_MAX))


def _split_names(values: Sequence[str]) -> list[str]:
    return [name for value in values for part in value.split(",") if (name := part.strip())]


def _select_sides(site: Site, a: Sequence[str], b: Sequence[str]) -> tuple[Runs, Runs]:
    """Return the runs of A and of B, which may be one suite. Raises ConfigError or Problem."""
    with site.open_store() as index:
        if a and b:
            return select_results(site, index, a), select_results(site, index, b)
        both = split_variants(select_results(site, index, a or b))
    if both is None:
        raise ConfigError("a comparison needs two sides; select results in both columns or name an interleaved suite")
    return both


def _compare(a: Runs, b: Runs, margin: str) -> Comparison:
    """Compare two sides. Raises ConfigError."""
    try:
        margins = Margins(pps=parse_ratio(margin)) if margin else Margins()
    except ValueError:
        raise ConfigError(f"margin: {margin[:40]!r} is not a ratio above 0; use e.g. 1%") from None
    return compare_results(a, b, margins=margins)
