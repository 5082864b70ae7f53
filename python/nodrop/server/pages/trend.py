"""A figure over time: where it changed, by how much, and what differed from then on."""

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from nodrop.analysis.stored_trends import trends
from nodrop.analysis.trend import Trend
from nodrop.analysis.trend_text import change_text, group_text, sentences, spread_text, time_text, title
from nodrop.charts import trend as charts
from nodrop.errors import ConfigError
from nodrop.formatting import measure_text
from nodrop.server.pages import lookup
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import render
from nodrop.store.selection import Selected

RUNS_MAX = 1000
"""Of more, the newest."""
METRICS = ("", "ndr", "pdr", "latency_p50_at_ndr", "latency_p99_at_ndr", "latency_p99.9_at_ndr")


def routes(site: Site) -> APIRouter:
    """The page."""
    router = APIRouter()

    @router.get("/trend")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    def _show(request: Request) -> Response:
        asked = lookup.read(request.query_params)
        metric = request.query_params.get("metric", "").strip()
        found: tuple[Trend, ...] = ()
        complaint = ""
        try:
            found = _found(site, asked, metric) if asked.fields else ()
        except ConfigError as error:
            complaint = str(error)
        return render(
            request,
            "trend.html",
            status=200 if not complaint else 422,
            asked=asked,
            metric=metric,
            metrics=METRICS,
            trends=[(each, list(sentences(each)), charts.chart(each) if each.groups else None) for each in found],
            complaint=complaint,
            drawing=site.drawings.placeholder,
            title=title,
            change_text=change_text,
            group_text=group_text,
            spread_text=spread_text,
            time_text=time_text,
            measure_text=measure_text,
        )

    return router


def _found(site: Site, asked: lookup.Lookup, metric: str) -> tuple[Trend, ...]:
    """The trends of what is asked for. Raises ConfigError."""
    status = asked.fields.get("status", "complete")
    wanted = asked.filter().model_copy(update={"status": status, "limit": RUNS_MAX, "offset": 0, "sort": "newest"})
    with site.open_store() as index:
        rows = index.list(wanted)
    if not rows:
        raise ConfigError("a trend asked, there are no such runs; look for them among the results")
    runs = [Selected(row.summary, Path(row.file)) for row in rows]
    return trends(runs, metric, results_dir=site.base.results_dir)
