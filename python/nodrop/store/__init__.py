"""Results on disk: `<results dir>/<run id>/result.json` is the truth."""

import contextlib
import json
import os
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.store import checksums

if TYPE_CHECKING:
    from nodrop.model.result import RunResult

RESULT_FILE = "result.json"
IMPORTED_FILE = "imported.json"
"""A result of another tester, as it was given."""
RESULT_FILES = (RESULT_FILE, IMPORTED_FILE)
SCHEMA_VERSION = "1"
"""That of `RunResult`, which lists of results do not wait for."""


def new_run_id(now: datetime | None = None) -> str:
    """A name for a run that sorts by time, to 4 ms: `20260131T120000Z-3f9a2c`, where 3f are 256ths of the second."""
    moment = now or datetime.now(UTC)
    fraction = moment.microsecond * 256 // 1_000_000
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}-{fraction:02x}{secrets.token_hex(2)}"


def require_writable(directory: str | Path, key: str = "results_dir") -> None:
    """Make sure, before anything is measured, that a result can be kept. Raises ConfigError naming the key."""
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ConfigError(
            f"{key}: {directory} asked, it cannot be written to: {error.strerror}; name a directory that can be"
        ) from None


def save(result: "RunResult", results_dir: str | Path) -> Path:
    """Keep a result and its hash; gives its file. It is there as a whole or not at all, and never written again.

    Raises: ConfigError when it cannot be written, or is there already.
    """
    path = Path(results_dir) / result.run_id / RESULT_FILE
    write_once(path, to_json(result))
    return path


def write_once(path: Path, text: str) -> None:
    """Write a file that is never written again, and beside it its hash. Raises ConfigError."""
    if path.exists():
        raise ConfigError(f"{path}: asked to be written, it is there already, and a result is never rewritten")
    write_text(
        checksums.checksum_path(path), checksums.format_line(path, text.encode())
    )  # first, so that no result is without
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a text in one step: as `write_bytes`. Raises ConfigError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step, in a directory made for it where there is none. Raises ConfigError.

    What is not a plain file, as /dev/null or a link to somewhere else, is written to and not replaced.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(3)}")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: asked to be written, {error.strerror}; name a place that can be") from None
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)


def to_json(result: "RunResult") -> str:
    """A result as it is stored."""
    return result.model_dump_json(indent=1) + "\n"


def load(wanted: str | Path, results_dir: str | Path = "results") -> "RunResult":
    """A stored result.

    Args:
        wanted: a file, the directory of a run, a run id, or `latest`.
        results_dir: where run ids are looked for.

    Raises: ConfigError when there is none, or it is not a result this release can read.
    """
    path, content = read(wanted, results_dir)
    return _parse(content, path)


def read(wanted: str | Path, results_dir: str | Path = "results") -> tuple[Path, Any]:
    """The file that is meant, and its JSON, whatever it holds. Raises ConfigError when there is none."""
    path = find(wanted, results_dir)
    if not path.exists() and (several := path.with_name("suite.json")).exists():
        raise ConfigError(f"result {wanted} asked, it is of several runs; name one of those listed in {several}")
    try:
        return path, json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"result {wanted} asked, {path}: {error.strerror}; name a result.json") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"result {wanted} asked, {path} is not JSON: {error.msg} in line {error.lineno}; name a result.json that "
            "nodrop or NFVbench wrote, whole"
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(
            f"result {wanted} asked, {path} is not JSON; name a result.json that nodrop or NFVbench wrote"
        ) from None


def find(wanted: str | Path, results_dir: str | Path = "results") -> Path:
    """The file of a result: as `load`. Raises ConfigError when there is nothing of that name."""
    if str(wanted) == "latest":
        return _latest(Path(results_dir))
    for path in (Path(wanted), Path(results_dir) / wanted):
        if path.is_dir():
            return next((path / name for name in RESULT_FILES if (path / name).exists()), path / RESULT_FILE)
        if path.exists():
            return path
    raise ConfigError(
        f"result {wanted} asked, no such file and no run of that id in {results_dir}; "
        "name a result.json, a run id, or latest"
    )


def _latest(results_dir: Path) -> Path:
    """The file of the run that began last; run ids sort by time."""
    stored = sorted(results_dir.glob(f"*/{RESULT_FILE}"), key=lambda path: path.parent.name)
    if not stored:
        raise ConfigError(f"the latest result asked, {results_dir} holds none; measure first: nodrop run")
    return stored[-1]


def _parse(content: object, path: Path) -> "RunResult":
    from pydantic import ValidationError

    from nodrop.model.result import RunResult

    if not isinstance(content, dict) or "schema_version" not in content:
        raise ConfigError(
            f"{path}: a result of nodrop or NFVbench expected, schema_version and benchmarks are missing; name a "
            "result.json"
        )
    version = content["schema_version"]
    if version != SCHEMA_VERSION:
        raise ConfigError(
            f"{path}: schema_version {SCHEMA_VERSION} expected, found {version}; read it with the release that wrote it"
        )
    try:
        return RunResult.model_validate(content)
    except ValidationError as error:
        detail = error.errors()[0]
        differs = f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
        if "run_id" not in content:
            raise ConfigError(f"{path}: a nodrop result expected, {differs}; name a result.json") from None
        raise ConfigError(
            f"{path}: a result of schema_version {SCHEMA_VERSION} as nodrop {__version__} writes it expected, found "
            f"one of another shape ({differs}), written {_written_by(content)}; read it with that build, or measure "
            "again"
        ) from None


def _written_by(content: dict[str, Any]) -> str:
    """Which build a result says it is of, whatever shape it has."""
    facts = content.get("facts")
    versions = facts.get("versions") if isinstance(facts, dict) else None
    if not isinstance(versions, dict) or "nodrop" not in versions:
        return "by a build it does not name"
    return f"by nodrop {versions['nodrop']}, commit {versions.get('commit', 'unknown')}"
