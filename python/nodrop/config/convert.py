"""A configuration in NFVbench's keys, written in nodrop's."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.config.keys import SHARED
from nodrop.config.load import LoadedConfig, Source, load_with_sources
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.untranslated import translation_notes
from nodrop.config.yaml_writer import dump_pairs
from nodrop.system.yaml_reader import Key, to_yaml_line

UNTRANSLATED_HEADING = "Kept as NFVbench has them; they have no effect here:"


class ConvertedConfig(NamedTuple):
    """The same configuration in nodrop's keys."""

    text: str
    """YAML; what nodrop has no key for is in it as it was."""
    changes: tuple[str, ...]
    """What became of each key, one sentence each."""


def convert(source: Source) -> ConvertedConfig:
    """Write a configuration in nodrop's keys. Raises ConfigError when it cannot be used as it is."""
    loaded = load_with_sources([source], {}, plugins=False)
    kept = [key for key in loaded.nfvbench if key[0] not in SHARED and not any(RULES.of(key))]
    own = dump_pairs(_own(loaded), lambda key: _origin(key, loaded))
    rest = dump_pairs(((key, loaded.nfvbench[key].value) for key in kept), lambda _: "")
    text = own + (f"\n# {UNTRANSLATED_HEADING}\n{rest}" if rest else "")
    return ConvertedConfig(text or "{}\n", tuple(_changes(loaded, kept)))


def _own(loaded: LoadedConfig) -> Iterator[tuple[Key, object]]:
    return ((key, said.value) for key, said in loaded.book.items())


def _origin(key: Key, loaded: LoadedConfig) -> str:
    """The key of NFVbench's that it was, where it was one."""
    asked = loaded.book[key].asked
    return ".".join(asked) if asked != key[: len(asked)] else ""


def _changes(loaded: LoadedConfig, kept: list[Key]) -> Iterator[str]:
    became: dict[str, list[str]] = {}
    for key, said in loaded.book.items():
        if origin := _origin(key, loaded):
            became.setdefault(origin, []).append(f"{'.'.join(key)}: {to_yaml_line(said.value)}")
    for key, said in loaded.nfvbench.items():
        name = ".".join(key)
        if key[0] in SHARED:
            continue
        if name in became:
            yield f"{name}: {to_yaml_line(said.value)} became {', '.join(became[name])}"
        elif key in kept:
            yield f"{name}: {to_yaml_line(said.value)} is kept"
        elif together := _with(key, loaded):
            yield f"{name}: {to_yaml_line(said.value)} went into {', '.join(together)}"
        else:
            yield f"{name}: {to_yaml_line(said.value)} is left out; beside the other keys it has no effect"
    yield from translation_notes(loaded.config.nfvbench)


def _with(key: Key, loaded: LoadedConfig) -> list[str]:
    """The keys that a key was translated to together with others."""
    writes = [write for rule in RULES.of(key) for write in rule.writes]
    said = {write: loaded.book.get(tuple(write.split("."))) for write in dict.fromkeys(writes)}
    return [write for write, each in said.items() if each and each.asked != tuple(write.split("."))]
