"""Where configuration comes from: files, text given in place of a file, and mappings that somebody else has read."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import ParsedFile, from_mapping, parse_document, preview_value

INLINE = "inline configuration"


class NamedMapping(NamedTuple):
    """Keys with values that come from elsewhere than a file, with a name for messages."""

    name: str
    mapping: Mapping[str, Any]


Source = Path | str | NamedMapping
"""A file; a file or the configuration itself, whichever the text is; or a mapping with a name."""


def read_source(source: Source) -> ParsedFile:
    """What a source says. Raises ConfigError when it cannot be read."""
    if isinstance(source, NamedMapping):
        return from_mapping(source.mapping, source.name)
    if isinstance(source, Path) or os.path.exists(source):  # noqa: PTH110 - a long text is no file, and no error either
        return _of_file(Path(source))
    if _may_be_file(source):
        raise ConfigError(_missing(source))
    return parse_document(source, INLINE)


def _of_file(file: Path) -> ParsedFile:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{file}: asked for as configuration, {error.strerror}; name a file that can be read{_neighbor(file)}"
        ) from None
    try:
        return parse_document(content.decode("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{file}: line {line}: asked for as configuration, is not UTF-8 text; name a YAML or JSON file"
        ) from None


def _may_be_file(text: str) -> bool:
    """Whether text that is not the name of a file was probably meant to be one."""
    return not any(sign in text for sign in ("{", "\n", ": ")) and not text.rstrip().endswith(":")


def _missing(text: str) -> str:
    if text.strip() == "":
        return f"{INLINE}: nothing found, a file or keys with values expected; write for example `profile: quick`"
    return (
        f"{preview_value(text)[1:-1]}: asked for as configuration, No such file or directory; name a file that can be read, or "
        f"write keys with values, as `profile: quick`{_neighbor(Path(text))}"
    )


def _neighbor(file: Path) -> str:
    """The file in the same directory whose name is most like it."""
    try:
        names = [each.name for each in file.parent.iterdir() if each.is_file()]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(file.name, names, n=1, cutoff=0.7)
    return f"; there is {file.parent / near[0]}" if near else ""
