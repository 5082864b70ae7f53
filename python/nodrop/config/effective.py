"""The effective configuration, in nodrop's or NFVbench's keys, with the source of each value."""

from typing import Any, NamedTuple

from nodrop.config.keys import SHARED
from nodrop.config.load import LoadedConfig
from nodrop.config.messages import KeyTable
from nodrop.config.nfvbench.schema import NfvbenchConfig, TrafficProfile
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import dump_annotated, dump_pairs, to_plain
from nodrop.system.yaml_reader import Key

DEFAULT = "default"
CUSTOM = "custom_traffic_profile"
"""NFVbench's name for frame sizes that no profile lists."""


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
    view = NfvbenchConfig.model_validate(nfvbench_values).model_copy(update=shared)
    sizes = tuple(str(size) for size in config.frame_sizes)
    profile_sizes = [each.l2frame_size for each in view.traffic_profile if each.name == view.traffic.profile]
    if not sizes or sizes in profile_sizes:
        return view
    profiles = (*view.traffic_profile, TrafficProfile(name=CUSTOM, l2frame_size=sizes))
    return view.model_copy(
        update={"traffic_profile": profiles, "traffic": view.traffic.model_copy(update={"profile": CUSTOM})}
    )


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
