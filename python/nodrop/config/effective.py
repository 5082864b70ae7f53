"""A configuration as text: as it takes effect, with the source of each value; or converted to nodrop's keys."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from nodrop.config.keys import SHARED
from nodrop.config.load import LoadedConfig, Source, load_with_sources
from nodrop.config.messages import KeyTable
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import CUSTOM_PROFILE, NfvbenchConfig, TrafficProfile
from nodrop.config.nfvbench.untranslated import list_translation_notes
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import dump_annotated, dump_pairs, to_plain
from nodrop.system.yaml_reader import Key, to_yaml_line

DEFAULT = "default"
UNTRANSLATED_HEADING = "NFVbench's keys, kept unchanged; they have no effect in nodrop:"


class ConfigView(NamedTuple):
    """A configuration for display."""

    text: str
    """YAML, with the sources as comments if requested."""
    values: dict[str, Any]


def render_config(loaded: LoadedConfig, *, sources: bool, changed: bool) -> ConfigView:
    """Return the configuration in nodrop's keys."""
    return _render(loaded.config, loaded.keys, sources=sources, changed=changed)


def render_nfvbench(loaded: LoadedConfig, *, sources: bool, changed: bool) -> ConfigView:
    """Return the configuration in NFVbench's keys, with NFVbench's defaults for keys that are not set."""
    return _render(build_nfvbench_view(loaded.config), loaded.nfvbench, sources=sources, changed=changed)


def build_nfvbench_view(config: Config) -> NfvbenchConfig:
    """Return a configuration as NFVbench's; keys of the same name have nodrop's values."""
    nfvbench_values = {key: value for key, value in config.nfvbench.items() if key not in SHARED}
    shared = {key: getattr(config, key) for key in config.nfvbench if key in SHARED}
    view = NfvbenchConfig.model_validate(nfvbench_values).replace(**shared)
    sizes = tuple(str(size) for size in config.frame_sizes)
    if not sizes or view.lists_frame_sizes(sizes):
        return view
    profiles = (*view.traffic_profile, TrafficProfile(name=CUSTOM_PROFILE, l2frame_size=sizes))
    return view.replace(traffic_profile=profiles, traffic=view.traffic.replace(profile=CUSTOM_PROFILE))


def _render(model: Config | NfvbenchConfig, keys: KeyTable, *, sources: bool, changed: bool) -> ConfigView:
    def comment(key: Key) -> str:
        return _describe_source(key, keys) if sources else ""

    values = to_plain(model)
    if not changed:
        return ConfigView(dump_annotated(model, comment), values)
    pairs = [(key, _get(values, key)) for key in keys]
    return ConfigView(dump_pairs(pairs, comment), _nest(pairs))


def _describe_source(key: Key, keys: KeyTable) -> str:
    """Return the source of a key, or of a key below it."""
    entries = [entry for other, entry in keys.items() if other[: len(key)] == key]
    if not entries:
        return DEFAULT
    entry = entries[-1]
    line = entry.source.find_line(entry.source_key)
    place = f"{entry.source.name}, line {line}" if line else entry.source.name
    return place if entry.source_key[: len(key)] == key else f"{place}: {'.'.join(entry.source_key)}"


def _get(values: Any, key: Key) -> Any:
    for part in key:
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _nest(pairs: list[tuple[Key, Any]]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in pairs:
        parent = nested
        for part in key[:-1]:
            parent = parent.setdefault(part, {})
        parent[key[-1]] = value
    return nested


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
