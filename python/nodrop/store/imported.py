"""Results of other testers: `<results dir>/<id>/imported.json`, the very file that was given.

What it says is read anew each time it is asked for, and never stored beside it.
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
    """A file that was taken in."""

    run_id: str
    path: Path
    """Where it is kept."""
    is_new: bool
    """False when the same file had been taken before."""
    summaries: tuple[Summary, ...]
    """What it says: one for each frame size."""


def import_file(file: str | Path, results_dir: str | Path) -> ImportedFile:
    """Keep a copy of another tester's result among ours. The same file is known by the same id however often it comes.

    Args:
        file: JSON of NFVbench, or of TRex's `ndr` tool, also as the tool prints it.
        results_dir: where results are.

    Raises: ConfigError when it cannot be read, is of nobody that is known, or says nothing.
    """
    source = Path(file)
    content = _bytes(source)
    kept = _kept(content, Path(results_dir))
    if kept:
        return ImportedFile(kept.parent.name, kept, is_new=False, summaries=summarize_import(kept))
    run_id = _run_id(source, content)
    found = _summaries(source, content, run_id)
    path = Path(results_dir) / run_id / IMPORTED_FILE
    store.write_once(path, content.decode())
    return ImportedFile(run_id, path, is_new=True, summaries=found)


def summarize_import(file: str | Path) -> tuple[Summary, ...]:
    """What another tester's result says: one for each frame size. Raises ConfigError.

    Args:
        file: one that was taken in, whose directory is its id; or any other, with an id it would have.
    """
    path = Path(file)
    content = _bytes(path)
    run_id = path.parent.name if path.name == IMPORTED_FILE else _run_id(path, content)
    return _summaries(path, content, run_id)


def _bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        content.decode()
    except OSError as error:
        raise ConfigError(f"{path}: asked to be read, {error.strerror}; name a result of NFVbench or TRex") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: JSON expected, found no text; name a result of NFVbench or TRex") from None
    return content


def _kept(content: bytes, results_dir: Path) -> Path | None:
    """The same file, taken before."""
    known = results_dir.glob(f"*-{compute_sha256(content)[:ID_DIGITS]}/{IMPORTED_FILE}")
    return next((path for path in sorted(known) if path.read_bytes() == content), None)


def _run_id(path: Path, content: bytes) -> str:
    """As `20210701T102030Z-3f9a2c`: the file's own date, or else when it was last written, and its hash."""
    said = imported_nfvbench.parse_date(parsed) if isinstance(parsed := _parsed(path, content), dict) else None
    moment = said or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return f"{moment:{ID_TIME}}-{compute_sha256(content)[:ID_DIGITS]}"


def _summaries(path: Path, content: bytes, run_id: str) -> tuple[Summary, ...]:
    parsed = _parsed(path, content)
    began = _moment(run_id)
    if imported_trex.is_trex_result(parsed):
        if missing := imported_trex.find_missing_key(parsed):
            raise ConfigError(f"{path}: {missing}; name a whole result")
        return (imported_trex.build_summary(parsed, run_id, began),)
    if not isinstance(parsed, dict) or "schema_version" in parsed or "benchmarks" not in parsed:
        raise ConfigError(
            f"{path}: a result of NFVbench (benchmarks) or of TRex's ndr tool (results, config) expected, found "
            f"{_what(parsed)}; name such a file"
        )
    found = imported_nfvbench.build_summaries(parsed, run_id, began)
    if not found:
        raise ConfigError(
            f"{path}: benchmarks.network.service_chain: at least one frame size expected, found none; name a result "
            "with traffic"
        )
    return found


def _parsed(path: Path, content: bytes) -> Any:
    """The JSON of a file, also where it stands among what TRex's tool prints."""
    text = content.decode().removeprefix("\ufeff")
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        parsed = imported_trex.extract_json(text)
        if not parsed:
            raise ConfigError(
                f"{path}: JSON expected, {error.msg} in line {error.lineno}; name a result of NFVbench or TRex, whole"
            ) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: JSON expected, found none; name a result of NFVbench or TRex") from None
    try:
        json.dumps(parsed, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{path}: text expected, found half a character (a lone surrogate); correct it") from None
    return parsed


def _what(parsed: Any) -> str:
    if not isinstance(parsed, dict):
        return "no object"
    if "schema_version" in parsed:
        return "a result of nodrop, which needs no import"
    return f"keys {', '.join(sorted(parsed)[:5])}" if parsed else "an empty object"


def _moment(run_id: str) -> datetime:
    """When a file was measured, as far as its id tells."""
    try:
        return datetime.strptime(run_id.split("-", maxsplit=1)[0], ID_TIME).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
