"""A finished run or several, as a page and as one file: what the report says, laid out by it."""

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
from nodrop.explain.redecide import with_decisions
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
from nodrop.server.pages.render import render
from nodrop.server.pages.result_selection import find_suite, select_results
from nodrop.server.pages.results import result_title
from nodrop.server.rest.problem import Problem
from nodrop.store.selection import SelectedResult

SANDBOX = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'"
"""A report's own script may do nothing with the reader's login."""
DOCUMENTS_MAX = 16


class ResultEntry(NamedTuple):
    """A result of the store, or the runs of a suite."""

    name: str
    runs: tuple[SelectedResult, ...]
    suite: Suite | None
    row: ResultRow | None
    """Of a single one."""

    @property
    def is_ours(self) -> bool:
        """Whether nodrop measured it; of others only figures are known."""
        return all(run.summary.source == "nodrop" for run in self.runs)


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()

    @router.get("/results/{name}")
    async def show(request: Request, name: str) -> Response:
        return await run_in_threadpool(_show, request, name)

    def _show(request: Request, name: str) -> Response:
        kept = _find(site, name)
        # The page has links to what a file carries along.
        lean = _shown(kept).model_copy(update={"attachments": ()})
        report = Markup(html.render_fragment(lean, site.drawings.placeholder))
        summary = kept.runs[0].summary
        heading = f"{result_title(summary)}, {len(kept.runs)} runs" if kept.suite else result_title(summary)
        return render(request, "result.html", kept=kept, report=report, summary=summary, heading=heading)

    @router.get("/results/{name}/report.html")
    async def report(name: str) -> Response:
        kept = await run_in_threadpool(_find, site, name)
        shown = await run_in_threadpool(_shown, kept)
        return await make_report_response(site, shown, kept.name)

    @router.get("/results/{name}/result.json")
    async def raw(name: str) -> Response:
        kept = await run_in_threadpool(_find, site, name)
        if kept.suite:
            raise Problem(404, f"the result of {kept.name} asked, it is of {len(kept.runs)} runs; ask for one of them")
        headers = _file_name(f"{kept.name}.json", "inline")
        return FileResponse(kept.runs[0].path, media_type="application/json", headers=headers)

    @router.get("/results/{name}/nfvbench.json")
    async def as_nfvbench(name: str) -> Response:
        kept = await run_in_threadpool(_find, site, name)
        _require_ours(kept)
        form = await run_in_threadpool(lambda: build_nfvbench_result([_load(run.path) for run in kept.runs]))
        return JSONResponse(form, headers=_file_name(f"{kept.name}-nfvbench.json", "inline"))

    @router.post("/results/{name}/tags")
    async def set_tags(request: Request, name: str) -> Response:
        wanted = read_field(await read_form(request), "tags").split()
        await run_in_threadpool(_set_tags, name, wanted)
        return RedirectResponse(f"/results/{quote(name, safe='')}", 303)

    def _set_tags(name: str, wanted: list[str]) -> None:
        kept = _find(site, name)
        if kept.row is None:
            raise Problem(409, f"tags for {name} asked, it is of several runs; tag one of them")
        try:
            with site.open_store() as index:
                index.tag(name, wanted, [tag for tag in kept.row.tags if tag not in wanted])
        except ConfigError as error:
            raise Problem(422, str(error)) from None

    return router


async def make_report_response(site: Site, shown: Document, name: str) -> Response:
    """A report as people send it to each other."""
    drawn = await site.drawings.all_of(shown.charts())
    page = await run_in_threadpool(html.render_page, shown, lambda chart: drawn[site.drawings.promise(chart)])
    headers = {"Content-Security-Policy": f"{html.build_policy()}; {SANDBOX}", "Cache-Control": "no-store"}
    return HTMLResponse(page, headers=headers | _file_name(f"nodrop-{name}.html", "inline"))


def _find(site: Site, name: str) -> ResultEntry:
    """What is kept under a name. Raises Problem."""
    with site.open_store() as index:
        if "," in name or name.partition(":")[0] in ("label", "tag"):
            raise Problem(404, f"result {name[:80]!r} asked, one id expected; look for it among the results")
        runs = select_results(site, index, [name])
        suite = find_suite(site, name)
        return ResultEntry(name, runs, suite, None if suite or len(runs) > 1 else index.find(name))


def _require_ours(kept: ResultEntry) -> None:
    if not kept.is_ours:
        raise Problem(409, f"{kept.name} asked in NFVbench's form, nodrop did not measure it; ask for its result.json")


def _shown(kept: ResultEntry) -> Document:
    """The report of it."""
    if kept.is_ours:
        return _document(kept.suite, tuple(run.path for run in kept.runs))
    return build_imported_document([run.summary for run in kept.runs])


@functools.lru_cache(maxsize=DOCUMENTS_MAX)
def _document(suite: Suite | None, files: tuple[Path, ...]) -> Document:
    """Kept, as results never change."""
    results = [load_with_steps(file) for file in files]
    return build_document(results, suite, prices=build_cost_table(suite, results) if suite and suite.pricing else None)


def load_with_steps(file: Path) -> RunResult:
    """A result with its search step by step. Raises Problem."""
    return with_decisions(_load(file))


def _load(file: Path) -> RunResult:
    try:
        return store.load(file)
    except ConfigError as error:
        raise Problem(410, str(error)) from None


def _file_name(name: str, how: str) -> dict[str, str]:
    return {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(name, safe='')}"}
