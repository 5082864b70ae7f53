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
    words = [word for each in names for word in _split(each)]
    found = [selected for word in words for selected in _resolve(word, Path(results_dir), index_url)]
    return tuple({(each.path.absolute(), each.summary.run_id): each for each in found}.values())


def _split(names: str) -> list[str]:
    """Split names at commas, except the name of an existing file."""
    return [names] if Path(names).exists() else [word for part in names.split(",") if (word := part.strip())]


def _resolve(word: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    kind, colon, name = word.partition(":")
    if colon and kind in SELECTOR_KINDS and not Path(word).exists():
        yield from _find_by(kind, name, results_dir, index_url)
    elif found := suites.locate(word, results_dir):
        for run in (run for run in found.suite.runs if not run.removed):
            summaries = _of_file(store.find(found.results_dir / run.run_id))
            yield from (each._replace(variant=run.variant, repeat=run.repeat) for each in summaries)
    else:
        yield from _of_word(word, results_dir)


def _find_by(kind: str, name: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    """Yield all results with a label or a tag."""
    from nodrop.store.index import open_index

    criteria = ResultFilter(label=name, sort=OLDEST) if kind == "label" else ResultFilter(tags=(name,), sort=OLDEST)
    with open_index(results_dir, index_url) as index:
        rows = index.list(criteria)
    if not rows:
        raise ConfigError(f"{kind}:{name}: no such results in {results_dir}; list results with 'nodrop results list'")
    yield from (SelectedResult(row.summary, Path(row.file)) for row in rows)


def _of_word(word: str, results_dir: Path) -> Iterator[SelectedResult]:
    """Yield the results of a file, a directory or an id; `ID#SIZE` is one of several runs in another tester's file."""
    name, _, part = word.partition("#")
    found = _of_file(store.find(word if Path(word).exists() else name, results_dir))
    chosen = [each for each in found if each.summary.run_id.endswith(f"#{part}")] if part else found
    if not chosen:
        run_ids = ", ".join(each.summary.run_id for each in found)
        raise ConfigError(f"result {word}: {found[0].path} has {run_ids}; name one of these, or {name} for all")
    yield from chosen


def _of_file(path: Path) -> list[SelectedResult]:
    """Return all results of a file of any tester. Raises ConfigError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"result {path}: cannot be read ({error.strerror}); name a result.json") from None
    return [SelectedResult(summary, path) for summary in summarize_file(path, content)]
