"""Sentences about what cannot be used: who wrote it where, what was asked, and what to write instead."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from nodrop.config.keys import accepts_bool, find_field, suggest_key
from nodrop.config.schema import ATTRIBUTES_FORM, RATIO_FORM
from nodrop.system.yaml_reader import Key, ParsedFile, preview_value

COMMAND_LINE = "command line"
BOOLEAN_WORDS = {True: "true", False: "false"}


class SourcedValue(NamedTuple):
    """A value and who said it."""

    value: Any
    document: ParsedFile
    asked: Key
    """The key as it was written: of a translated value, NFVbench's."""

    def where(self, key: Key) -> str:
        """Document, line and key, for a message about this key or something in it."""
        translated = key[: len(self.asked)] != self.asked and self.asked[: len(key)] != key
        line = self.document.line(self.asked if translated else key)
        place = f"{self.document.name}: line {line}" if line else self.document.name
        written = f"{'.'.join(self.asked)} (here {'.'.join(key)})" if translated else ".".join(key)
        return f"{place}: {written}"


KeyTable = dict[Key, SourcedValue]
"""Every key that was written, with the last word on it."""


def sentence(detail: ErrorDetails, book: KeyTable) -> str:
    """What was asked, found and can be done about it."""
    key = _path(detail)
    where = _where(key, book)
    asked = preview_value(detail["input"])
    kind = detail["type"]
    if kind == "extra_forbidden":
        return f"{where}: {asked} asked, there is no such key; {suggest_key(key)}"
    if kind == "missing":
        example = ": 0.5%" if key[-1] == "loss_ratio" else ""
        return f"{where}: nothing asked, it has no default; write for example {key[-1]}{example or ': ...'}"
    if kind == "value_error":
        return f"{where}: {detail['ctx']['error']}"
    if kind in ("model_type", "dict_type"):
        return f"{where}: {asked} asked, keys with values expected; write them below it, indented"
    return f"{where}: {asked} asked, it {detail['msg'].replace('Input should', 'should', 1)}"


def unexpected_booleans(root: type[BaseModel], book: KeyTable) -> Iterator[tuple[Key, str]]:
    """Every key at which true or false was written where something else is wanted, with the sentence for it."""
    for key, said in book.items():
        field = find_field(root, key)
        if field is None or accepts_bool(field.annotation) or not _holds_truth(said.value):
            continue
        asked = (
            BOOLEAN_WORDS.get(said.value, preview_value(said.value))
            if isinstance(said.value, bool)
            else preview_value(said.value)
        )
        yield key, f"{said.where(key)}: {asked} asked, a number or text expected; put quotes around a word"


def _path(detail: ErrorDetails) -> Key:
    """The key an error is about, without the names pydantic gives to forms of values."""
    return tuple(str(part) for part in detail["loc"] if part not in ("[key]", RATIO_FORM, ATTRIBUTES_FORM))


def _where(key: Key, book: KeyTable) -> str:
    """Who wrote the key, or else something in it or around it."""
    for candidate, said in reversed(book.items()):
        if candidate[: len(key)] == key or key[: len(candidate)] == candidate:
            return said.where(key)
    return f"{COMMAND_LINE}: {'.'.join(key)}"


def _holds_truth(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_truth(each) for pair in value.items() for each in pair)
    if isinstance(value, (list, tuple)):
        return any(_holds_truth(each) for each in value)
    return isinstance(value, bool)
