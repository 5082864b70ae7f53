"""NFVbench's keys to nodrop's own, source by source."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from nodrop.config.keys import SHARED
from nodrop.config.messages import KeyTable, SourcedValue, sentence, unexpected_booleans
from nodrop.config.nfvbench.rule import NfvbenchSettings, Rule
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.system.yaml_reader import Key


class Translator:
    """Keeps NFVbench's keys as they are written, and says what they become."""

    def __init__(self) -> None:
        self.book: KeyTable = {}
        """Every key of NFVbench's, with the last word on it."""
        self._new: dict[Key, None] = {}
        self._turns: dict[Key, int] = {}
        self._turn = 0
        self._refused: dict[int, str] = {}

    def note(self, key: Key, said: SourcedValue) -> None:
        """Take a key down, over what was said before."""
        for other in [other for other in self.book if other[: len(key)] == key or key[: len(other)] == other]:
            del self.book[other]
        self.book[key] = said
        self._new[key] = None
        self._turns[key] = self._turn

    def translate(self) -> Iterator[tuple[Key, SourcedValue]]:
        """nodrop's keys for those that were noted since the last time; a later one wins over an earlier one.

        What has a wrong value is not translated before it is put right; see `complaints`.
        """
        self._turn += 1
        if not self._new:
            return
        try:
            asked = self._asked()
        except ValidationError:
            return
        for number, rule in enumerate(RULES):
            read = [key for key in self._new if rule.reads_key(key)]
            if read:
                yield from self._apply(number, rule, asked, read[-1])
        self._new.clear()

    def complaints(self) -> Iterator[str]:
        """A sentence for everything that cannot be used as it stands."""
        truths = dict(unexpected_booleans(NfvbenchConfig, self._own()))
        try:
            self._asked()
        except ValidationError as error:
            for detail in error.errors():
                key = tuple(str(part) for part in detail["loc"])
                if not any(key[: len(told)] == told for told in truths):
                    yield sentence(detail, self.book)
        yield from truths.values()
        yield from self._refused.values()

    def as_written(self) -> dict[str, Any]:
        """All of them as a mapping, values as written."""
        return _nested(self.book)

    def _apply(self, number: int, rule: Rule, asked: NfvbenchSettings, read: Key) -> Iterator[tuple[Key, SourcedValue]]:
        said = self.book[read]
        self._refused.pop(number, None)
        try:
            for written, value in rule.act(asked).items():
                yield tuple(written.split(".")), SourcedValue(value, said.document, read)
        except ValueError as error:
            self._refused[number] = f"{said.where(read)}: {error}"

    def _own(self) -> KeyTable:
        return {key: said for key, said in self.book.items() if key[0] not in SHARED}

    def _asked(self) -> NfvbenchSettings:
        shared = {key: said for key, said in self.book.items() if key[0] in SHARED}
        config = NfvbenchConfig.model_validate(_nested(self._own()))
        return NfvbenchSettings(config, {key: self._turns[key] for key in self.book}, _nested(shared))


def _nested(book: KeyTable) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, said in book.items():
        room = nested
        for part in key[:-1]:
            room = room.setdefault(part, {})
        room[key[-1]] = said.value
    return nested
