"""What was asked in NFVbench's keys so far, as rules of translation read it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.system.yaml_reader import Key


class NfvbenchSettings(NamedTuple):
    """NFVbench's configuration with its defaults, and which of its keys were written."""

    config: NfvbenchConfig
    written: Mapping[Key, int]
    """Keys that were written, and in which source, counted."""
    shared: Mapping[str, Any]
    """Values, as written, of keys that nodrop has under the same name."""

    def has(self, *keys: str) -> bool:
        """Whether any of these keys, dotted, or one below it, was written."""
        paths = [tuple(key.split(".")) for key in keys]
        return any(key[: len(path)] == path for key in self.written for path in paths)

    def in_turn(self, *keys: str) -> bool:
        """Whether these plain keys were all written, none of them in an earlier source than the one before it."""
        turns = [self.written.get(tuple(key.split("."))) for key in keys]
        found = [turn for turn in turns if turn is not None]
        return len(found) == len(turns) and found == sorted(found)


TranslateFunction = Callable[[NfvbenchSettings], Mapping[str, Any]]
"""Keys of nodrop's own, dotted, and their values. Raises ValueError for what cannot be meant."""


class Rule(NamedTuple):
    """How some of NFVbench's keys become nodrop's."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    act: TranslateFunction
    beside: tuple[str, ...] = ()
    """Keys that are read as well, and only decide whether these act."""

    def reads_key(self, key: Key) -> bool:
        """Whether a key, or a section it is in, is among those read."""
        return _is_among(key, (*self.reads, *self.beside))

    def is_of(self, key: Key) -> bool:
        """Whether a key, or a section it is in, is among those that act."""
        return _is_among(key, self.reads)


def _is_among(key: Key, names: tuple[str, ...]) -> bool:
    return any(key[: len(path)] == path for path in (tuple(name.split(".")) for name in names))


class Rules(list[Rule]):
    """All rules there are, in the order in which they apply."""

    def rule(self, reads: str, writes: str, beside: str = "") -> Callable[[TranslateFunction], TranslateFunction]:
        """Adds a function as the rule for these keys, separated by blanks."""

        def add(act: TranslateFunction) -> TranslateFunction:
            self.append(Rule(tuple(reads.split()), tuple(writes.split()), act, tuple(beside.split())))
            return act

        return add

    def alias(self, read: str, write: str, convert: Callable[[Any], Any] = lambda value: value) -> None:
        """Adds a rule for a key that has another name here."""

        def act(asked: NfvbenchSettings) -> Mapping[str, Any]:
            return {write: convert(get_key_value(asked.config, read))}

        self.append(Rule((read,), (write,), act))

    def of(self, key: Key) -> Iterator[Rule]:
        """Those that read a key."""
        return (rule for rule in self if rule.reads_key(key))


def get_key_value(config: NfvbenchConfig, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, "json_file" if part == "json" else part)
    return value
