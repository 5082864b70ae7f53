"""Lists of runs that belong together, on disk: `<results dir>/<suite id>/suite.json`."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite

SUITE_FILE = "suite.json"


class StoredSuite(NamedTuple):
    """A list of runs and what came of them."""

    suite: Suite
    results: tuple[RunResult, ...]
    """In the order of the list."""


def save(suite: Suite, results_dir: str | Path) -> Path:
    """Keep a list in place of an earlier state of it; gives its file. Raises ConfigError."""
    path = Path(results_dir) / suite.suite_id / SUITE_FILE
    store.write_text(path, to_json(suite))
    return path


def to_json(suite: Suite) -> str:
    """A list as it is stored."""
    return suite.model_dump_json(indent=1) + "\n"


def to_results_json(suite: Suite, results: Sequence[RunResult]) -> str:
    """A list and its results in one document, for programs."""
    content = {"suite": suite.model_dump(mode="json"), "results": [each.model_dump(mode="json") for each in results]}
    return json.dumps(content, indent=1) + "\n"


class SuiteLocation(NamedTuple):
    """A list of runs and where they are."""

    suite: Suite
    results_dir: Path


def locate(wanted: str | Path, results_dir: str | Path = "results") -> SuiteLocation | None:
    """A list of runs, without them; None where a single result is meant. As `load`."""
    path = _latest(Path(results_dir)) if str(wanted) == "latest" else _named(str(wanted), Path(results_dir))
    return SuiteLocation(_read(path), path.parent.parent) if path else None


def load(wanted: str | Path, results_dir: str | Path = "results") -> StoredSuite | None:
    """Runs that belong together; None where a single result is meant.

    Args:
        wanted: a suite.json, its directory, the id of a suite, or `latest`: a suite when the last run is of one.
        results_dir: where ids are looked for.

    Raises: ConfigError when there is a list that cannot be read, or a run of it is not there.
    """
    found = locate(wanted, results_dir)
    if found is None:
        return None
    suite, directory = found
    return StoredSuite(
        suite, tuple(store.load(directory / run.run_id, directory) for run in suite.runs if not run.removed)
    )


def list_suites(results_dir: str | Path) -> Iterator[Suite]:
    """Every list that can be read, oldest first."""
    for path in sorted(Path(results_dir).glob(f"*/{SUITE_FILE}"), key=lambda path: path.parent.name):
        with contextlib.suppress(ConfigError):
            yield _read(path)


def _named(wanted: str, results_dir: Path) -> Path | None:
    for path in (Path(wanted), Path(wanted) / SUITE_FILE, results_dir / wanted / SUITE_FILE):
        if path.name == SUITE_FILE and path.is_file():
            return path
    return None


def _latest(results_dir: Path) -> Path | None:
    """The list that the last run is in; ids sort by time, and a list is older than its runs."""
    runs = [path.parent.name for path in results_dir.glob(f"*/{store.RESULT_FILE}")]
    lists = sorted(results_dir.glob(f"*/{SUITE_FILE}"), key=lambda path: path.parent.name)
    if not lists or not runs:
        return None
    return lists[-1] if max(runs) in {run.run_id for run in _read(lists[-1]).runs} else None


def _read(path: Path) -> Suite:
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: asked for as a list of runs, {error.strerror}; name one that can be read") from None
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(str(part) for part in detail["loc"]) or "the file"
        raise ConfigError(
            f"{path}: a list of runs as nodrop writes it expected, {where}: {detail['msg']}; name one of its runs"
        ) from None
