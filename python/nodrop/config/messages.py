"""Messages about values that cannot be used, with their source, line and key."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from nodrop.config.keys import accepts_bool, find_field, suggest_key
from nodrop.config.schema import ATTRIBUTES_FORM, RATIO_FORM
from nodrop.model.validation_message import describe_problem
from nodrop.system.yaml_reader import Key, ParsedFile, preview_value

COMMAND_LINE = "command line"


class SourcedValue(NamedTuple):
    """A value and its source."""

    value: Any
    source: ParsedFile
    source_key: Key
    """The key in the source: NFVbench's key for a translated value."""

    def locate(self, key: Key) -> str:
        """Return source, line and key for a message about this key or a key below it."""
        translated = key[: len(self.source_key)] != self.source_key and self.source_key[: len(key)] != key
        line = self.source.find_line(self.source_key if translated else key)
        place = f"{self.source.name}: line {line}" if line else self.source.name
        name = f"{'.'.join(self.source_key)} (translated to {'.'.join(key)})" if translated else ".".join(key)
        return f"{place}: {name}"


KeyTable = dict[Key, SourcedValue]
"""Every key that a source sets, with the value that takes precedence."""


def describe_error(detail: ErrorDetails, keys: KeyTable) -> str:
    """Return the location, the problem and the fix of a value that pydantic rejects."""
    key = _key_of(detail)
    fix = suggest_key(key) if detail["type"] == "extra_forbidden" else ""
    example = f"{key[-1]}: {'0.5%' if key[-1] == 'loss_ratio' else '...'}" if key else ""
    return f"{_locate(key, keys)}: {describe_problem(detail, fix, example)}"


def find_unexpected_booleans(root: type[BaseModel], keys: KeyTable) -> Iterator[tuple[Key, str]]:
    """Yield every key that is true or false but takes another type, with a message about it."""
    for key, entry in keys.items():
        field = find_field(root, key)
        if field is None or accepts_bool(field.annotation) or not _contains_bool(entry.value):
            continue
        value = str(entry.value).lower() if isinstance(entry.value, bool) else preview_value(entry.value)
        yield key, f"{entry.locate(key)}: expected a number or text ({value}); put quotes around a word"


def _key_of(detail: ErrorDetails) -> Key:
    """Return the key of an error, without the names that pydantic inserts for union members."""
    return tuple(str(part) for part in detail["loc"] if part not in ("[key]", RATIO_FORM, ATTRIBUTES_FORM))


def _locate(key: Key, keys: KeyTable) -> str:
    """Return the source of the key, or of a key below or above it."""
    for candidate, entry in reversed(keys.items()):
        if candidate[: len(key)] == key or key[: len(candidate)] == candidate:
            return entry.locate(key)
    return f"{COMMAND_LINE}: {'.'.join(key)}"


def _contains_bool(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_contains_bool(each) for pair in value.items() for each in pair)
    if isinstance(value, (list, tuple)):
        return any(_contains_bool(each) for each in value)
    return isinstance(value, bool)
