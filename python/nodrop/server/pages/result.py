"""The page of a stored result or suite: its report, as a page and as one file."""

import functools
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.explain.redecide import add_decisions
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.model.summary import ResultRow
from nodrop.report import html
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Document
from nodrop.report.document.imported import build_imported_document
from nodrop.run.rule_cost import build_cost_table
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_field, read_form
from nodrop.server.pages.render import render, render_placeholder
from nodrop.server.pages.result_selection import find_suite, select_results
from nodrop.server.pages.results import format_result_title
from nodrop.server.rest.problem import Problem
from nodrop.store.selection import SelectedResult
from nodrop.units import format_count

SANDBOX = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'"
"""Keeps the script of a report from using the reader's login."""
DOCUMENTS_MAX = 16


class ResultEntry(NamedTuple):
    """A stored result, or the runs of a suite."""

    name: str
    runs: tuple[SelectedResult, ...]
    suite: Suite | None
    row: ResultRow | None
    """Index row of a single result."""

    @property
    def is_complete(self) -> bool:
        """Whether nodrop measured it; imported results have only figures."""
        return all(run.summary.source == "nodrop" for run in self.runs)


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the pages."""
    router = APIRouter()

    @router.get("/results/{name}")
    async def show(request: Request, name: str) -> Response:
        return await run_in_threadpool(_show, request, name)

    def _show(request: Request, name: str) -> Response:
        entry = _find_entry(site, name)
        # The page links to the attachments that a file contains.
        lean = _build_entry_document(entry).replace(attachments=())
        report = Markup(html.render_fragment(lean, functools.partial(render_placeholder, site.charts)))
        summary = entry.runs[0].summary
        heading = (
            f"{format_result_title(summary)}, {format_count(len(entry.runs), 'run')}"
            if entry.suite
            else format_result_title(summary)
        )
        return render(request, "result.html", entry=entry, report=report, summary=summary, heading=heading)

    @router.get("/results/{name}/report.html")
    async def report(name: str) -> Response:
        entry = await run_in_threadpool(_find_entry, site, name)
        document = await run_in_threadpool(_build_entry_document, entry)
        return await make_report_response(site, document, entry.name)

    @router.get("/results/{name}/result.json")
    async def raw(name: str) -> Response:
        entry = await run_in_threadpool(_find_entry, site, name)
        if entry.suite:
            raise Problem(404, f"{entry.name} has {len(entry.runs)} runs; request one of them")
        headers = _make_file_header(f"{entry.name}.json", "inline")
        return FileResponse(entry.runs[0].path, media_type="application/json", headers=headers)

    @router.get("/results/{name}/nfvbench.json")
    async def as_nfvbench(name: str) -> Response:
        entry = await run_in_threadpool(_find_entry, site, name)
        _require_complete(entry)
        form = await run_in_threadpool(lambda: build_nfvbench_result([_load(run.path) for run in entry.runs]))
        return JSONResponse(form, headers=_make_file_header(f"{entry.name}-nfvbench.json", "inline"))

    @router.post("/results/{name}/tags")
    async def set_tags(request: Request, name: str) -> Response:
        tags = read_field(await read_form(request), "tags").split()
        await run_in_threadpool(_set_tags, name, tags)
        return RedirectResponse(f"/results/{quote(name, safe='')}", 303)

    def _set_tags(name: str, tags: list[str]) -> None:
        entry = _find_entry(site, name)
        if entry.row is None:
            raise Problem(409, f"{name} has several runs; tag one of them")
        try:
            with site.open_store() as index:
                index.tag(name, tags, [tag for tag in entry.row.tags if tag not in tags])
        except ConfigError as error:
            raise Problem(422, str(error)) from None

    return router


async def make_report_response(site: Site, document: Document, name: str) -> Response:
    """Return a report as one self-contained HTML file."""
    charts = await site.charts.render_all(document.charts())
    page = await run_in_threadpool(html.render_page, document, lambda chart: charts[site.charts.register(chart)])
    headers = {"Content-Security-Policy": f"{html.build_policy()}; {SANDBOX}", "Cache-Control": "no-store"}
    return HTMLResponse(page, headers=headers | _make_file_header(f"nodrop-{name}.html", "inline"))


def _find_entry(site: Site, name: str) -> ResultEntry:
    """Find a result or suite by name. Raises Problem."""
    with site.open_store() as index:
        if "," in name or name.partition(":")[0] in ("label", "tag"):
            raise Problem(404, f"{name[:80]!r} is not the id of a result; search the results page")
        runs = select_results(site, index, [name])
        suite = find_suite(site, name)
        return ResultEntry(name, runs, suite, None if suite or len(runs) > 1 else index.find(name))


def _require_complete(entry: ResultEntry) -> None:
    if not entry.is_complete:
        raise Problem(409, f"{entry.name} is imported and has no NFVbench form; request its result.json")


def _build_entry_document(entry: ResultEntry) -> Document:
    """Build the report."""
    if entry.is_complete:
        return _build_document(entry.suite, tuple(run.path for run in entry.runs))
    return build_imported_document([run.summary for run in entry.runs])


@functools.lru_cache(maxsize=DOCUMENTS_MAX)
def _build_document(suite: Suite | None, files: tuple[Path, ...]) -> Document:
    """Build the report of nodrop's results, cached since results never change."""
    results = [load_with_steps(file) for file in files]
    return build_document(results, suite, costs=build_cost_table(suite, results) if suite and suite.pricing else None)


def load_with_steps(file: Path) -> RunResult:
    """Load a result with the decisions of its search. Raises Problem."""
    return add_decisions(_load(file))


def _load(file: Path) -> RunResult:
    try:
        return store.load(file)
    except ConfigError as error:
        raise Problem(410, str(error)) from None


def _make_file_header(name: str, disposition: str) -> dict[str, str]:
    return {"Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(name, safe='')}"}
