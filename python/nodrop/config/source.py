"""Configuration sources: files, inline text, and mappings that another program parsed."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import ParsedFile, from_mapping, parse_document, preview_value

INLINE = "inline configuration"


class NamedMapping(NamedTuple):
    """Keys and values that do not come from a file, with a name for messages."""

    name: str
    mapping: Mapping[str, Any]


Source = Path | str | NamedMapping
"""A file; text that is a file name or inline YAML; or a mapping with a name."""


def read_source(source: Source) -> ParsedFile:
    """Read and parse a source. Raises ConfigError."""
    if isinstance(source, NamedMapping):
        return from_mapping(source.mapping, source.name)
    if isinstance(source, Path) or os.path.exists(source):  # noqa: PTH110 - long text is neither a file nor an error
        return _read_file(Path(source))
    if _looks_like_file(source):
        raise ConfigError(_describe_missing(source))
    return parse_document(source, INLINE)


def _read_file(file: Path) -> ParsedFile:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot read the configuration ({error.strerror}); name a readable file{_suggest_file(file)}"
        ) from None
    try:
        return parse_document(content.decode("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}: line {line}: not UTF-8 text; name a YAML or JSON file") from None


def _looks_like_file(text: str) -> bool:
    """Return whether text that names no existing file was probably meant as a file name."""
    return not any(sign in text for sign in ("{", "\n", ": ")) and not text.rstrip().endswith(":")


def _describe_missing(text: str) -> str:
    if text.strip() == "":
        return f"{INLINE}: empty; name a file, or write keys with values, e.g. `profile: quick`"
    return (
        f"{preview_value(text)[1:-1]}: cannot read the configuration (No such file or directory); name a readable "
        f"file, or write keys with values, e.g. `profile: quick`{_suggest_file(Path(text))}"
    )


def _suggest_file(file: Path) -> str:
    """Return a hint at the file with the most similar name in the same directory."""
    try:
        names = [each.name for each in file.parent.iterdir() if each.is_file()]
    except (OSError, ValueError):
        return ""
    similar = difflib.get_close_matches(file.name, names, n=1, cutoff=0.7)
    return f"; did you mean {file.parent / similar[0]}?" if similar else ""
