"""Results that are meant by words: the one way in which every command and page takes several of them."""

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
    """A result that is meant."""

    summary: Summary
    path: Path
    """Its file."""
    variant: str = ""
    """Of a suite that measured two set-ups in turn: which, `A` or `B`."""
    repeat: int = 1
    """Of a suite with repeats: which."""

    def result(self) -> RunResult:
        """All of it. Raises ConfigError for what nodrop did not measure."""
        if self.summary.source != "nodrop":
            raise ConfigError(
                f"{self.path}: a result that nodrop measured asked, it is {self.summary.source}'s, of which only "
                "figures are known; name one of nodrop's"
            )
        return store.load(self.path)


def select_results(
    wanted: Sequence[str], results_dir: str | Path = "results", index_url: str | None = None
) -> tuple[SelectedResult, ...]:
    """Results that are meant by words, in the order of these, each once.

    Args:
        wanted: words, or several joined by commas. Each is a file, a directory, a run id, a suite id (all its runs),
            `latest` (with all runs of its suite), `label:NAME` or `tag:NAME` (all that have it, oldest first; `*` in a
            name stands for any letters).
        results_dir: where ids, labels and tags are looked for.
        index_url: database that holds their index; None: the one in the directory.

    Raises: ConfigError for a word that means nothing that is there.
    """
    words = [word for each in wanted for word in _words(each)]
    found = [selected for word in words for selected in _meant(word, Path(results_dir), index_url)]
    return tuple({(each.path.absolute(), each.summary.run_id): each for each in found}.values())


def _words(written: str) -> list[str]:
    """Those joined by commas; a file whose name has one is not taken apart."""
    return [written] if Path(written).exists() else [word for part in written.split(",") if (word := part.strip())]


def _meant(word: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    kind, colon, name = word.partition(":")
    if colon and kind in SELECTOR_KINDS and not Path(word).exists():
        yield from _known_as(kind, name, results_dir, index_url)
    elif found := suites.locate(word, results_dir):
        for run in (run for run in found.suite.runs if not run.removed):
            summaries = _of_file(store.find(found.results_dir / run.run_id))
            yield from (each._replace(variant=run.variant, repeat=run.repeat) for each in summaries)
    else:
        yield from _of_word(word, results_dir)


def _known_as(kind: str, name: str, results_dir: Path, index_url: str | None) -> Iterator[SelectedResult]:
    """All results of a label or a tag."""
    from nodrop.store.index import open_index

    asked = ResultFilter(label=name, sort=OLDEST) if kind == "label" else ResultFilter(tags=(name,), sort=OLDEST)
    with open_index(results_dir, index_url) as index:
        rows = index.list(asked)
    if not rows:
        raise ConfigError(
            f"results of {kind} {name} asked, {results_dir} has none; list what there is: nodrop results list"
        )
    yield from (SelectedResult(row.summary, Path(row.file)) for row in rows)


def _of_word(word: str, results_dir: Path) -> Iterator[SelectedResult]:
    """A file, a directory or an id; `ID#SIZE` is one of several runs in another tester's file."""
    name, _, part = word.partition("#")
    found = _of_file(store.find(word if Path(word).exists() else name, results_dir))
    chosen = [each for each in found if each.summary.run_id.endswith(f"#{part}")] if part else found
    if not chosen:
        names = ", ".join(each.summary.run_id for each in found)
        raise ConfigError(f"result {word} asked, {found[0].path} has {names}; name one of these, or {name} for all")
    yield from chosen


def _of_file(path: Path) -> list[SelectedResult]:
    """Everything a file says, whoever wrote it. Raises ConfigError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"result {path} asked, {error.strerror}; name a result.json") from None
    return [SelectedResult(summary, path) for summary in summarize_file(path, content)]
