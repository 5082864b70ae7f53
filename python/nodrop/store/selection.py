"""Results that are meant by words: the one way in which every command and page takes several of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.filter import OLDEST, Filter
from nodrop.model.result import RunResult
from nodrop.model.suite import SuiteRun
from nodrop.model.summary import Row, Summary
from nodrop.store import suites
from nodrop.store.index import open_index
from nodrop.store.summaries import summary_of

KINDS = ("label", "tag")


class Selected(NamedTuple):
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
                f"{self.path}: a result that nodrop measured asked, it is {self.summary.source}'s, of which only figures "
                "are known; name one of nodrop's"
            )
        return store.load(self.path)


def select(
    wanted: Sequence[str], results_dir: str | Path = "results", index_url: str | None = None
) -> tuple[Selected, ...]:
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


def _meant(word: str, results_dir: Path, index_url: str | None) -> Iterator[Selected]:
    kind, colon, name = word.partition(":")
    if colon and kind in KINDS and not Path(word).exists():
        yield from _known_as(kind, name, results_dir, index_url)
    elif suite := suites.look_up(word, results_dir):
        for run in suite.suite.runs:
            yield from _of_suite(run, suite.directory)
    else:
        yield from _of_file(store.find(word, results_dir))


def _known_as(kind: str, name: str, results_dir: Path, index_url: str | None) -> Iterator[Selected]:
    """All results of a label or a tag."""
    asked = Filter(label=name, sort=OLDEST) if kind == "label" else Filter(tags=(name,), sort=OLDEST)
    with open_index(results_dir, index_url) as index:
        rows = index.list(asked)
    if not rows:
        raise ConfigError(
            f"results of {kind} {name} asked, {results_dir} has none; list what there is: nodrop results list"
        )
    for row in rows:
        yield _of_row(row)


def _of_row(row: Row) -> Selected:
    return Selected(row.summary, Path(row.file))
