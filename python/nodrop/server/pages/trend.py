"""The page of a metric over time: changes and their possible causes."""

from functools import partial
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.analysis.stored_trends import analyze_stored_trends
from nodrop.analysis.trend import Trend
from nodrop.analysis.trend_text import (
    describe_trend,
    format_change,
    format_run_count,
    format_segment_spread,
    format_series_title,
    format_time_in_series,
)
from nodrop.charts import trend as charts
from nodrop.errors import ConfigError
from nodrop.formatting import format_measure
from nodrop.server.pages import lookup
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render, render_placeholder
from nodrop.server.pages.setups import SetupRow, list_setups
from nodrop.store.selection import SelectedResult

RUNS_MAX = 1000
"""Longest series; the newest runs count."""
METRICS = ("", "ndr", "pdr", "latency_p50_at_ndr", "latency_p99_at_ndr", "latency_p99.9_at_ndr")


def make_routes(site: Site) -> APIRouter:
    """Return the route of the page."""
    router = APIRouter()

    @router.get("/trend")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    def _show(request: Request) -> Response:
        query = lookup.parse_query(request.query_params)
        metric = request.query_params.get("metric", "").strip()
        trends: tuple[Trend, ...] = ()
        problem = ""
        setups: tuple[SetupRow, ...] = ()
        if not query.fields:
            setups = list_setups(site)
        try:
            trends = _analyze_trends(site, query, metric) if query.fields else ()
        except ConfigError as error:
            problem = str(error)
        return render(
            request,
            "trend.html",
            status=200 if not problem else 422,
            query=query,
            metric=metric,
            metrics=METRICS,
            trends=[
                (each, list(describe_trend(each)), charts.build_chart(each) if each.groups else None) for each in trends
            ],
            problem=problem,
            setups=setups,
            placeholder=partial(render_placeholder, site.charts),
            title=format_series_title,
            change_text=format_change,
            group_text=format_run_count,
            spread_text=format_segment_spread,
            time_text=format_time_in_series,
            measure_text=format_measure,
        )

    return router


def _analyze_trends(site: Site, query: lookup.Lookup, metric: str) -> tuple[Trend, ...]:
    """Analyze the runs of a query. Raises ConfigError."""
    status = query.fields.get("status", "complete")
    criteria = query.filter().replace(status=status, limit=RUNS_MAX, offset=0, sort="newest")
    with site.open_store() as index:
        rows = index.list(criteria)
    if not rows:
        raise ConfigError("no matching runs; search the results page")
    runs = [SelectedResult(row.summary, Path(row.file)) for row in rows]
    return analyze_stored_trends(runs, metric, results_dir=site.config.results_dir)
