"""Results on disk: `<results dir>/<run id>/result.json` is authoritative."""

import contextlib
import json
import os
import re
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.store import checksums
from nodrop.units import format_count

if TYPE_CHECKING:
    from nodrop.model.result import RunResult

RESULT_FILE = "result.json"
IMPORTED_FILE = "imported.json"
"""The unchanged result of another tester."""
RESULT_FILES = (RESULT_FILE, IMPORTED_FILE)
SHORT_ID = re.compile(r"[0-9a-f]{4,6}")
"""The end of a run id or suite id."""
FREE_BYTES_MIN = 16_000_000
"""Free space required before a run: the results of long searches through many chains have several megabytes."""
SCHEMA_VERSION = "2"
"""Schema version of `RunResult`; listings of results do not check it."""
READABLE_VERSIONS = ("1", SCHEMA_VERSION)
"""Schema versions that this release reads."""


def make_run_id(now: datetime | None = None) -> str:
    """Return a run id that sorts by time to 4 ms: `20260131T120000Z-3f9a2c`, where 3f is in 1/256 s."""
    moment = now or datetime.now(UTC)
    fraction = moment.microsecond * 256 // 1_000_000
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}-{fraction:02x}{secrets.token_hex(2)}"


def require_writable(directory: str | Path, key: str = "results_dir") -> None:
    """Check before a measurement that a result can be stored. Raises ConfigError with the key."""
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ConfigError(
            f"{key}: cannot write to {directory} ({error.strerror}); choose a writable directory"
        ) from None


def require_space(directory: str | Path) -> None:
    """Check before a measurement that the filesystem of a results directory has space. Raises ConfigError."""
    try:
        stats = os.statvfs(directory)
    except OSError:
        return
    free_bytes = stats.f_bavail * stats.f_frsize
    if free_bytes >= FREE_BYTES_MIN and (stats.f_favail or not stats.f_files):  # some filesystems do not count inodes
        return
    found = f"{free_bytes / 1e6:.1f} MB" if free_bytes < FREE_BYTES_MIN else "no inode"
    raise ConfigError(
        f"results_dir: {found} free in {directory}, and a run needs up to {FREE_BYTES_MIN / 1e6:.0f} MB; free some "
        "space, or choose another directory with --results-dir"
    )


def save(result: "RunResult", results_dir: str | Path) -> Path:
    """Store a result and its hash atomically, and return its path. A stored result is never overwritten.

    Raises: ConfigError where the result cannot be written or exists already.
    """
    path = Path(results_dir) / result.run_id / RESULT_FILE
    write_once(path, to_json(result))
    return path


def write_once(path: Path, text: str) -> None:
    """Write a file that is never overwritten, and its hash file. Raises ConfigError."""
    if path.exists():
        raise ConfigError(f"{path}: already exists; results are never overwritten")
    checksum = checksums.get_checksum_path(path)
    try:
        write_text(checksum, checksums.format_line(path, text.encode()))  # first, so that every result has a hash
        write_text(path, text)
    except ConfigError:
        with contextlib.suppress(OSError):
            checksum.unlink(missing_ok=True)
            path.parent.rmdir()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text atomically, like `write_bytes`. Raises ConfigError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, and create its directory if necessary. Raises ConfigError.

    A path that is not a regular file, e.g. /dev/null or a symbolic link, is written to and not replaced.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(3)}")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror}); choose a writable path") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def to_json(result: "RunResult") -> str:
    """Serialize a result as stored."""
    from nodrop.formatting.messages import WITH_SENTENCES

    return result.model_dump_json(indent=1, context=WITH_SENTENCES) + "\n"


def load(name: str | Path, results_dir: str | Path = "results") -> "RunResult":
    """Load a stored result.

    Args:
        name: a file, the directory of a run, a run id, the last characters of one (`e392bc`), `latest`, or `latest~1`
            for the run before it.
        results_dir: directory of the run ids.

    Raises: ConfigError where the result does not exist, or this release cannot read it.
    """
    path, content = read(name, results_dir)
    return _parse(content, path)


def read(name: str | Path, results_dir: str | Path = "results") -> tuple[Path, Any]:
    """Return the file of a result and its JSON, of any kind. Raises ConfigError where it does not exist."""
    path = find(name, results_dir)
    if not path.exists() and (several := path.with_name("suite.json")).exists():
        raise ConfigError(f"result {name}: a suite of several runs; name one of the runs in {several}")
    try:
        return path, json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"result {name}: cannot read {path} ({error.strerror}); name a result.json") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"result {name}: {path} is not JSON ({error.msg} in line {error.lineno}); name a complete result.json "
            "of nodrop or NFVbench"
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"result {name}: {path} is not JSON; name a result.json of nodrop or NFVbench") from None


def find(name: str | Path, results_dir: str | Path = "results") -> Path:
    """Return the file of a result, named as for `load`. Raises ConfigError where it does not exist."""
    if position := re.fullmatch(r"latest(?:~(\d+))?", str(name)):
        return _find_latest(Path(results_dir), int(position[1] or 0))
    for path in (Path(name), Path(results_dir) / name, Path(results_dir) / expand_id(str(name), results_dir)):
        if path.is_dir():
            return next((path / file for file in RESULT_FILES if (path / file).exists()), path / RESULT_FILE)
        if path.exists():
            return path
    raise ConfigError(
        f"result {name}: no such file, and no such run id in {results_dir}; name a result.json, a run id, or latest"
    )


def expand_id(name: str, results_dir: str | Path) -> str:
    """Return the id of the run or suite that ends in `name`, at least four characters; without such an id, the name.

    Raises: ConfigError if several ids end in it.
    """
    if not SHORT_ID.fullmatch(name):
        return name
    ids = sorted(path.name for path in Path(results_dir).glob(f"*{name}") if path.is_dir())
    if len(ids) > 1:
        raise ConfigError(f"result {name}: {len(ids)} ids in {results_dir} end in it ({', '.join(ids)}); name one")
    return ids[0] if ids else name


def _find_latest(results_dir: Path, position: int) -> Path:
    """Return the result file of the latest run, or of that many runs before; run ids sort by time."""
    stored = sorted(results_dir.glob(f"*/{RESULT_FILE}"), key=lambda path: path.parent.name)
    if not stored:
        raise ConfigError(f"result latest: {results_dir} contains no result; run 'nodrop run' first")
    if position >= len(stored):
        raise ConfigError(
            f"result latest~{position}: {results_dir} contains {format_count(len(stored), 'result')}; name at most "
            f"latest~{len(stored) - 1}"
        )
    return stored[-1 - position]


def _parse(content: object, path: Path) -> "RunResult":
    from pydantic import ValidationError

    from nodrop.model.result import RunResult
    from nodrop.model.validation_message import format_location, state_problem

    if not isinstance(content, dict) or "schema_version" not in content:
        raise ConfigError(
            f"{path}: not a result of nodrop or NFVbench (no schema_version, no benchmarks); name a result.json"
        )
    version = content["schema_version"]
    if version not in READABLE_VERSIONS:
        raise ConfigError(
            f"{path}: unsupported schema_version ({version}, not {SCHEMA_VERSION}); use the release that wrote it"
        )
    try:
        return RunResult.model_validate(content)
    except ValidationError as error:
        detail = error.errors()[0]
        differs = f"{format_location(detail)}: {state_problem(detail)}"
        if "run_id" not in content:
            raise ConfigError(f"{path}: not a nodrop result ({differs}); name a result.json") from None
        raise ConfigError(
            f"{path}: schema_version {SCHEMA_VERSION}, but not as written by nodrop {__version__} ({differs}); written "
            f"{_describe_build(content)}; read it with that build, or measure again"
        ) from None


def _describe_build(content: dict[str, Any]) -> str:
    """Describe the build that wrote a result of any shape."""
    facts = content.get("facts")
    versions = facts.get("versions") if isinstance(facts, dict) else None
    if not isinstance(versions, dict) or "nodrop" not in versions:
        return "by an unknown build"
    return f"by nodrop {versions['nodrop']}, commit {versions.get('commit', 'unknown')}"
