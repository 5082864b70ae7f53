"""Translation rules from NFVbench's keys to nodrop's, and the settings that they read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.system.yaml_reader import Key


class NfvbenchSettings(NamedTuple):
    """NFVbench's configuration with its defaults, and the keys that are set."""

    config: NfvbenchConfig
    source_numbers: Mapping[Key, int]
    """Keys that are set, with the number of the source that sets each."""
    shared: Mapping[str, Any]
    """Original values of keys that nodrop has under the same name."""

    def has(self, *keys: str) -> bool:
        """Return whether any of these dotted keys, or a key below one, is set."""
        paths = [tuple(key.split(".")) for key in keys]
        return any(key[: len(path)] == path for key in self.source_numbers for path in paths)

    def set_in_order(self, *keys: str) -> bool:
        """Return whether all these keys are set, none in an earlier source than the key before it."""
        numbers = [self.source_numbers.get(tuple(key.split("."))) for key in keys]
        present = [number for number in numbers if number is not None]
        return len(present) == len(numbers) and present == sorted(present)


TranslateFunction = Callable[[NfvbenchSettings], Mapping[str, Any]]
"""Returns nodrop's dotted keys and their values. Raises ValueError for contradictory values."""


class Rule(NamedTuple):
    """Translation of some of NFVbench's keys."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    translate: TranslateFunction
    conditions: tuple[str, ...] = ()
    """Further keys that only decide whether the rule applies."""

    def reads_key(self, key: Key) -> bool:
        """Return whether the rule reads a key or its section."""
        return _is_listed(key, (*self.reads, *self.conditions))

    def translates_key(self, key: Key) -> bool:
        """Return whether the rule translates a key or its section."""
        return _is_listed(key, self.reads)


def _is_listed(key: Key, names: tuple[str, ...]) -> bool:
    return any(key[: len(path)] == path for path in (tuple(name.split(".")) for name in names))


class Rules(list[Rule]):
    """Translation rules in the order in which they apply."""

    def rule(self, reads: str, writes: str, conditions: str = "") -> Callable[[TranslateFunction], TranslateFunction]:
        """Return a decorator that adds a function as the rule for these keys, separated by blanks."""

        def add(function: TranslateFunction) -> TranslateFunction:
            self.append(Rule(tuple(reads.split()), tuple(writes.split()), function, tuple(conditions.split())))
            return function

        return add

    def alias(self, read: str, write: str, convert: Callable[[Any], Any] = lambda value: value) -> None:
        """Add a rule for a key that has another name in nodrop."""

        def translate(settings: NfvbenchSettings) -> Mapping[str, Any]:
            return {write: convert(get_key_value(settings.config, read))}

        self.append(Rule((read,), (write,), translate))

    def derive(self, reads: str, write: str, compute: Callable[[NfvbenchConfig], Any]) -> None:
        """Add a rule for keys, separated by blanks, that together have one key in nodrop."""
        self.rule(reads, write)(lambda settings: {write: compute(settings.config)})

    def find(self, key: Key) -> Iterator[Rule]:
        """Return the rules that read a key."""
        return (rule for rule in self if rule.reads_key(key))


def get_key_value(config: NfvbenchConfig, key: str) -> Any:
    """Return the value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, "json_file" if part == "json" else part)
    return value
