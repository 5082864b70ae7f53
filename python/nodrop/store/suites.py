"""Suites on disk: `<results dir>/<suite id>/suite.json`."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite

SUITE_FILE = "suite.json"


class StoredSuite(NamedTuple):
    """A suite and its results."""

    suite: Suite
    results: tuple[RunResult, ...]
    """Results in the order of the suite."""


def save(suite: Suite, results_dir: str | Path) -> Path:
    """Store a suite, replace its earlier state, and return its path. Raises ConfigError."""
    path = Path(results_dir) / suite.suite_id / SUITE_FILE
    store.write_text(path, to_json(suite))
    return path


def to_json(suite: Suite) -> str:
    """Serialize a suite as stored."""
    return suite.model_dump_json(indent=1) + "\n"


def to_results_json(suite: Suite, results: Sequence[RunResult], report: Value | None = None) -> str:
    """Serialize a suite with its results, and the report of its test procedure, as one JSON document."""
    content: dict[str, Any] = {"suite": suite.model_dump(mode="json")}
    if report:
        content["report"] = report.model_dump(mode="json", exclude={"plan"})
    content["results"] = [json.loads(store.to_json(each)) for each in results]
    return json.dumps(content, indent=1) + "\n"


class SuiteLocation(NamedTuple):
    """A suite and its results directory."""

    suite: Suite
    results_dir: Path


def locate(name: str | Path, results_dir: str | Path = "results") -> SuiteLocation | None:
    """Return a suite without its results, named as for `load`; None for a single result."""
    path = _find_latest(Path(results_dir)) if str(name) == "latest" else _find_by_name(str(name), Path(results_dir))
    return SuiteLocation(_read(path), path.parent.parent) if path else None


def load(name: str | Path, results_dir: str | Path = "results") -> StoredSuite | None:
    """Load a suite with its results; None for a single result.

    Args:
        name: a suite.json, its directory, the id of a suite, or `latest` (a suite if the last run is part of one).
        results_dir: directory of the ids.

    Raises: ConfigError where the suite cannot be read, or one of its runs is missing.
    """
    location = locate(name, results_dir)
    if location is None:
        return None
    suite, directory = location
    return StoredSuite(
        suite, tuple(store.load(directory / run.run_id, directory) for run in suite.runs if not run.removed)
    )


def list_suites(results_dir: str | Path) -> Iterator[Suite]:
    """Yield all readable suites, oldest first."""
    for path in sorted(Path(results_dir).glob(f"*/{SUITE_FILE}"), key=lambda path: path.parent.name):
        with contextlib.suppress(ConfigError):
            yield _read(path)


def _find_by_name(name: str, results_dir: Path) -> Path | None:
    for path in (Path(name), Path(name) / SUITE_FILE, results_dir / store.expand_id(name, results_dir) / SUITE_FILE):
        if path.name == SUITE_FILE and path.is_file():
            return path
    return None


def _find_latest(results_dir: Path) -> Path | None:
    """Return the suite of the last run; ids sort by time, and a suite is older than its runs."""
    runs = [path.parent.name for path in results_dir.glob(f"*/{store.RESULT_FILE}")]
    lists = sorted(results_dir.glob(f"*/{SUITE_FILE}"), key=lambda path: path.parent.name)
    if not lists or not runs:
        return None
    return lists[-1] if max(runs) in {run.run_id for run in _read(lists[-1]).runs} else None


def _read(path: Path) -> Suite:
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the suite ({error.strerror}); name a readable suite.json") from None
    except ValidationError as error:
        # Local: it loads the YAML reader, which a command that lists runs does not need.
        from nodrop.model.validation_message import format_location, state_problem

        detail = error.errors()[0]
        problem = f"{format_location(detail) or 'the file'}: {state_problem(detail)}"
        raise ConfigError(f"{path}: not a suite of nodrop ({problem}); name one of its runs") from None
