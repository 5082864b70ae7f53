"""Translates NFVbench's keys to nodrop's, source by source."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from nodrop.config.keys import SHARED
from nodrop.config.messages import KeyTable, SourcedValue, describe_error, find_unexpected_booleans
from nodrop.config.nfvbench.rule import NfvbenchSettings, Rule
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.section import is_absent
from nodrop.system.yaml_reader import Key


class Translator:
    """Collects NFVbench's keys and translates them."""

    def __init__(self) -> None:
        self.keys: KeyTable = {}
        """NFVbench's keys, each with the value that takes precedence."""
        self._new: dict[Key, None] = {}
        self._written: dict[int, dict[Key, SourcedValue]] = {}
        """The translation of every rule that has been applied."""
        self._source_numbers: dict[Key, int] = {}
        self._source_number = 0
        self._rule_errors: dict[int, str] = {}

    def add(self, key: Key, entry: SourcedValue) -> None:
        """Set a key, in place of keys above and below it."""
        for other in [other for other in self.keys if other[: len(key)] == key or key[: len(other)] == other]:
            del self.keys[other]
        self.keys[key] = entry
        self._new[key] = None
        self._source_numbers[key] = self._source_number

    def translate(self, keys: KeyTable) -> Iterator[tuple[Key, SourcedValue]]:
        """Yield nodrop's keys for those added since the last call; later ones override earlier ones.

        A key that a rule wrote before and writes no longer is removed from `keys`, unless another source has set it.
        Keys with invalid values are not translated; see `find_errors`.
        """
        self._source_number += 1
        if not self._new:
            return
        try:
            settings = self._validate()
        except ValidationError:
            return
        for number, rule in enumerate(RULES):
            read = [key for key in self._new if rule.reads_key(key)]
            if read:
                before = self._written.get(number, {})
                self._written[number] = dict(self._apply(number, rule, settings, read[-1]))
                for key, entry in before.items():
                    if keys.get(key) is entry:
                        del keys[key]
                yield from self._written[number].items()
        self._new.clear()

    def find_errors(self) -> Iterator[str]:
        """Yield a message for every value that cannot be used."""
        booleans = dict(find_unexpected_booleans(NfvbenchConfig, self._collect_nfvbench_only()))
        try:
            self._validate()
        except ValidationError as error:
            for detail in error.errors():
                key = tuple(str(part) for part in detail["loc"])
                if not any(key[: len(reported)] == reported for reported in booleans):
                    yield describe_error(detail, self.keys)
        yield from booleans.values()
        yield from self._rule_errors.values()

    def to_mapping(self) -> dict[str, Any]:
        """Return all keys as a nested mapping, with their original values."""
        return _nest(self.keys)

    def _apply(
        self, number: int, rule: Rule, settings: NfvbenchSettings, read: Key
    ) -> Iterator[tuple[Key, SourcedValue]]:
        entry = self.keys[read]
        self._rule_errors.pop(number, None)
        if not settings.has(*rule.reads, *rule.conditions):
            return
        try:
            for name, value in rule.translate(settings).items():
                yield tuple(name.split(".")), SourcedValue(value, entry.source, read)
        except ValueError as error:
            self._rule_errors[number] = f"{entry.locate(read)}: {error}"

    def _collect_nfvbench_only(self) -> KeyTable:
        return {key: entry for key, entry in self.keys.items() if key[0] not in SHARED}

    def _validate(self) -> NfvbenchSettings:
        present = {key: entry for key, entry in self.keys.items() if not is_absent(entry.value)}
        shared = {key: entry for key, entry in present.items() if key[0] in SHARED}
        config = NfvbenchConfig.model_validate(_nest(self._collect_nfvbench_only()))
        return NfvbenchSettings(config, {key: self._source_numbers[key] for key in present}, _nest(shared))


def _nest(keys: KeyTable) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, entry in keys.items():
        parent = nested
        for part in key[:-1]:
            parent = parent.setdefault(part, {})
        parent[key[-1]] = entry.value
    return nested
