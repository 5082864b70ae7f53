"""Results of other testers: `<results dir>/<id>/imported.json`, an unchanged copy of the file.

The file is parsed on each access; nothing derived from it is stored.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.summary import Summary
from nodrop.store import IMPORTED_FILE, imported_nfvbench, imported_trex
from nodrop.store.checksums import compute_sha256

ID_TIME = "%Y%m%dT%H%M%SZ"
ID_DIGITS = 6


class ImportedFile(NamedTuple):
    """An imported file."""

    run_id: str
    path: Path
    """Path of the copy."""
    is_new: bool
    """False where the same file was imported before."""
    summaries: tuple[Summary, ...]
    """The summaries, one for each frame size."""


def import_file(file: str | Path, results_dir: str | Path) -> ImportedFile:
    """Store a copy of another tester's result. The same file always gets the same id.

    Args:
        file: JSON of NFVbench, or JSON or output of TRex's `ndr` tool.
        results_dir: the results directory.

    Raises: ConfigError where the file cannot be read, has an unknown format, or contains no results.
    """
    source = Path(file)
    content = _read_bytes(source)
    earlier = _find_earlier_import(content, Path(results_dir))
    if earlier:
        return ImportedFile(earlier.parent.name, earlier, is_new=False, summaries=summarize_import(earlier))
    run_id = _run_id(source, content)
    imported = _build_summaries(source, content, run_id)
    path = Path(results_dir) / run_id / IMPORTED_FILE
    store.write_once(path, content.decode())
    return ImportedFile(run_id, path, is_new=True, summaries=imported)


def summarize_import(file: str | Path) -> tuple[Summary, ...]:
    """Summarize another tester's result, one summary for each frame size. Raises ConfigError.

    Args:
        file: an imported file, whose directory is its id, or any other file, with the id that an import would give it.
    """
    path = Path(file)
    content = _read_bytes(path)
    run_id = path.parent.name if path.name == IMPORTED_FILE else _run_id(path, content)
    return _build_summaries(path, content, run_id)


def _read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        content.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a result of NFVbench or TRex") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file; name a result of NFVbench or TRex") from None
    return content


def _find_earlier_import(content: bytes, results_dir: Path) -> Path | None:
    """Return the path of an earlier import of the same file."""
    candidates = results_dir.glob(f"*-{compute_sha256(content)[:ID_DIGITS]}/{IMPORTED_FILE}")
    return next((path for path in sorted(candidates) if path.read_bytes() == content), None)


def _run_id(path: Path, content: bytes) -> str:
    """Build an id, `20210701T102030Z-3f9a2c`, from the date in the file, or its modification time, and its hash."""
    date = imported_nfvbench.parse_date(parsed) if isinstance(parsed := _parse(path, content), dict) else None
    moment = date or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return f"{moment:{ID_TIME}}-{compute_sha256(content)[:ID_DIGITS]}"


def _build_summaries(path: Path, content: bytes, run_id: str) -> tuple[Summary, ...]:
    parsed = _parse(path, content)
    began = _parse_run_time(run_id)
    if imported_trex.is_trex_result(parsed):
        if missing := imported_trex.find_missing_key(parsed):
            raise ConfigError(f"{path}: {missing}; name a complete result")
        return (imported_trex.build_summary(parsed, run_id, began),)
    if not isinstance(parsed, dict) or "schema_version" in parsed or "benchmarks" not in parsed:
        raise ConfigError(
            f"{path}: not a result of NFVbench (benchmarks) or of TRex's ndr tool (results, config), but "
            f"{_describe(parsed)}; name a result of these testers"
        )
    imported = imported_nfvbench.build_summaries(parsed, run_id, began)
    if not imported:
        raise ConfigError(f"{path}: benchmarks.network.service_chain: no frame sizes; name a result with traffic")
    return imported


def _parse(path: Path, content: bytes) -> Any:
    """Parse the JSON of a file, also within the output of TRex's tool."""
    text = content.decode().removeprefix("\ufeff")
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        parsed = imported_trex.extract_json(text)
        if not parsed:
            raise ConfigError(
                f"{path}: not JSON ({error.msg} in line {error.lineno}); name a complete result of NFVbench or TRex"
            ) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: not JSON; name a result of NFVbench or TRex") from None
    try:
        json.dumps(parsed, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{path}: invalid text (a lone surrogate); correct the file") from None
    return parsed


def _describe(parsed: Any) -> str:
    if not isinstance(parsed, dict):
        return "not an object"
    if "schema_version" in parsed:
        return "a result of nodrop, which needs no import"
    return f"keys {', '.join(sorted(parsed)[:5])}" if parsed else "an empty object"


def _parse_run_time(run_id: str) -> datetime:
    """Return the time of measurement from a run id."""
    try:
        return datetime.strptime(run_id.split("-", maxsplit=1)[0], ID_TIME).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
