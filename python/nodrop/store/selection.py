"""Selection of results by names, shared by all commands and pages."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.result_filter import OLDEST, ResultFilter
from nodrop.model.summary import Summary
from nodrop.store import suites
from nodrop.store.reader import summarize_file

SELECTOR_KINDS = ("label", "tag")


class SelectedResult(NamedTuple):
    """A selected result."""

    summary: Summary
    path: Path
    """Path of its file."""
    variant: str = ""
    """Variant `A` or `B` in a suite that alternates two setups."""
    repeat: int = 1
    """Number of the repeat in a suite."""

    def result(self) -> RunResult:
        """Load the full result. Raises ConfigError for results of other testers."""
        if self.summary.source != "nodrop":
            raise ConfigError(
                f"{self.path}: a result of {self.summary.source}, which has only measures; name a result of nodrop"
            )
        return store.load(self.path)


def select_results(
    names: Sequence[str], results_dir: str | Path = "results", index_url: str | None = None
) -> tuple[SelectedResult, ...]:
    """Select results by names, in the order of the names, without duplicates.

    Args:
        names: names, or several joined by commas: a file, a directory, a run id, a suite id (all its runs),
            `latest` (with all runs of its suite), `label:NAME` or `tag:NAME` (all matches, oldest first; `*` in a
            name matches any characters).
        results_dir: directory of ids, labels and tags.
        index_url: URL of the index; None: the index in the directory.

    Raises: ConfigError for a name without results.
    """
    references = [reference for each in names for reference in _split(each)]
    selection = [selected for reference in references for selected in _resolve(reference, Path(results_dir), index_url)]
    return tuple({(each.path.absolute(), each.summary.run_id): each for each in selection}.values())


def _split(names: str) -> list[str]:
    """Split names at commas, except the name of an existing file."""
    return [names] if Path(names).exists() else [word for part in names.split(",") if (word := part.strip())]


def _resolve(reference: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    kind, colon, name = reference.partition(":")
    if colon and kind in SELECTOR_KINDS and not Path(reference).exists():
        yield from _find_by(kind, name, results_dir, index_url)
    elif stored := suites.locate(reference, results_dir):
        for run in (run for run in stored.suite.runs if not run.removed):
            summaries = _read_file(store.find(stored.results_dir / run.run_id))
            yield from (each._replace(variant=run.variant, repeat=run.repeat) for each in summaries)
    else:
        yield from _select_by_reference(reference, results_dir)


def _find_by(kind: str, name: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    """Yield all results with a label or a tag."""
    from nodrop.store.index import open_index

    criteria = ResultFilter(label=name, sort=OLDEST) if kind == "label" else ResultFilter(tags=(name,), sort=OLDEST)
    with open_index(results_dir, index_url) as index:
        rows = index.list(criteria)
    if not rows:
        raise ConfigError(f"{kind}:{name}: no such results in {results_dir}; list results with 'nodrop results list'")
    yield from (SelectedResult(row.summary, Path(row.file)) for row in rows)


def _select_by_reference(reference: str, results_dir: Path) -> Iterator[SelectedResult]:
    """Yield the results of a file, a directory or an id; `ID#SIZE` is one of several runs in another tester's file."""
    name, _, part = reference.partition("#")
    results = _read_file(store.find(reference if Path(reference).exists() else name, results_dir))
    matches = [each for each in results if each.summary.run_id.endswith(f"#{part}")] if part else results
    if not matches:
        run_ids = ", ".join(each.summary.run_id for each in results)
        raise ConfigError(f"result {reference}: {results[0].path} has {run_ids}; name one of these, or {name} for all")
    yield from matches


def _read_file(path: Path) -> list[SelectedResult]:
    """Return all results of a file of any tester. Raises ConfigError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"result {path}: cannot be read ({error.strerror}); name a result.json") from None
    return [SelectedResult(summary, path) for summary in summarize_file(path, content)]
