"""Selection of results by ids, labels and tags in a URL; never by file, unlike on the command line."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nodrop.errors import ConfigError
from nodrop.model.result_filter import OLDEST, ResultFilter
from nodrop.model.suite import Suite
from nodrop.server.pages.context import Site
from nodrop.server.rest.problem import Problem
from nodrop.store import suites
from nodrop.store.index import Index
from nodrop.store.selection import SelectedResult

ID = re.compile(r"\w[\w.+#:-]{0,199}")
"""A name that cannot leave its directory."""
NAMES_MAX = 200


def select_results(site: Site, index: Index, names: Sequence[str]) -> tuple[SelectedResult, ...]:
    """Select results, each once: ids of runs or suites, `label:NAME`, `tag:NAME`, separated by commas.

    Raises: Problem for a name without results.
    """
    single = [name for value in names for part in value.split(",") if (name := part.strip())]
    if len(single) > NAMES_MAX:
        raise Problem(400, f"too many results ({len(single)}, at most {NAMES_MAX}); use a label or a tag instead")
    results = [each for name in single for each in _select_results(site, index, name)]
    return tuple({each.summary.run_id: each for each in results}.values())


def find_suite(site: Site, name: str) -> Suite | None:
    """Return the suite of an id, if it exists."""
    if not ID.fullmatch(name) or not (Path(site.config.results_dir) / name / suites.SUITE_FILE).is_file():
        return None
    try:
        stored = suites.locate(Path(site.config.results_dir) / name)
    except ConfigError as error:
        raise Problem(410, str(error)) from None
    return stored.suite if stored else None


def _select_results(site: Site, index: Index, reference: str) -> Iterator[SelectedResult]:
    kind, colon, name = reference.partition(":")
    if colon and kind in ("label", "tag"):
        rows = index.list(
            ResultFilter(label=name, sort=OLDEST) if kind == "label" else ResultFilter(tags=(name,), sort=OLDEST)
        )
    elif suite := find_suite(site, reference):
        by_id = {
            row.summary.run_id: row for row in index.list(ResultFilter(run_ids=tuple(run.run_id for run in suite.runs)))
        }
        for run in suite.runs:
            if row := by_id.get(run.run_id):
                yield SelectedResult(row.summary, Path(row.file), run.variant, run.repeat)
        return
    else:
        rows = index.list(ResultFilter(run_ids=(reference,)))
        exact = tuple(row for row in rows if row.summary.run_id == reference)
        rows = exact or rows
    if not rows:
        raise Problem(404, f"result {reference[:80]!r} not found; search the results page")
    yield from (SelectedResult(row.summary, Path(row.file)) for row in rows)
