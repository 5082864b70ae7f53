"""Converts a configuration from NFVbench's keys to nodrop's."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.config.keys import SHARED
from nodrop.config.load import LoadedConfig, Source, load_with_sources
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.untranslated import list_translation_notes
from nodrop.config.yaml_writer import dump_pairs
from nodrop.system.yaml_reader import Key, to_yaml_line

UNTRANSLATED_HEADING = "NFVbench's keys, kept unchanged; they have no effect in nodrop:"


class ConvertedConfig(NamedTuple):
    """The same configuration in nodrop's keys."""

    text: str
    """YAML; NFVbench's keys without a counterpart are kept unchanged."""
    changes: tuple[str, ...]
    """What each key was converted to, one sentence each."""


def convert_config(source: Source) -> ConvertedConfig:
    """Convert a configuration to nodrop's keys. Raises ConfigError if it is invalid."""
    loaded = load_with_sources([source], {}, plugins=False)
    unused = [key for key in loaded.nfvbench if key[0] not in SHARED and not any(RULES.find(key))]
    converted = dump_pairs(_list_own_values(loaded), lambda key: _find_nfvbench_key(key, loaded))
    untranslated = dump_pairs(((key, loaded.nfvbench[key].value) for key in unused), lambda _: "")
    text = converted + (f"\n# {UNTRANSLATED_HEADING}\n{untranslated}" if untranslated else "")
    return ConvertedConfig(text or "{}\n", tuple(_list_changes(loaded, unused)))


def _list_own_values(loaded: LoadedConfig) -> Iterator[tuple[Key, object]]:
    return ((key, entry.value) for key, entry in loaded.keys.items())


def _find_nfvbench_key(key: Key, loaded: LoadedConfig) -> str:
    """Return NFVbench's key that a key was translated from; empty if it was not translated."""
    source_key = loaded.keys[key].source_key
    return ".".join(source_key) if source_key != key[: len(source_key)] else ""


def _list_changes(loaded: LoadedConfig, unused: list[Key]) -> Iterator[str]:
    translated: dict[str, list[str]] = {}
    for key, entry in loaded.keys.items():
        if origin := _find_nfvbench_key(key, loaded):
            translated.setdefault(origin, []).append(f"{'.'.join(key)}: {to_yaml_line(entry.value)}")
    for key, entry in loaded.nfvbench.items():
        name = ".".join(key)
        if key[0] in SHARED:
            continue
        if name in translated:
            yield f"{name}: {to_yaml_line(entry.value)} becomes {', '.join(translated[name])}"
        elif key in unused:
            yield f"{name}: {to_yaml_line(entry.value)} is kept unchanged"
        elif combined := _list_combined_keys(key, loaded):
            yield f"{name}: {to_yaml_line(entry.value)} is included in {', '.join(combined)}"
        else:
            yield f"{name}: {to_yaml_line(entry.value)} is dropped; it has no effect with the other keys"
    yield from list_translation_notes(loaded.config.nfvbench)


def _list_combined_keys(key: Key, loaded: LoadedConfig) -> list[str]:
    """Return nodrop's keys that this and other keys of NFVbench's were translated to."""
    names = dict.fromkeys(name for rule in RULES.find(key) for name in rule.writes)
    entries = {name: loaded.keys.get(tuple(name.split("."))) for name in names}
    return [name for name, entry in entries.items() if entry and entry.source_key != tuple(name.split("."))]
