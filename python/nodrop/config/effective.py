"""The configuration in force, in either form, with who wrote what."""

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
"""What NFVbench calls frame sizes that were not given as a profile."""


class ConfigView(NamedTuple):
    """A configuration to look at."""

    text: str
    """YAML, with comments when they were asked for."""
    values: dict[str, Any]


def render_own(loaded: LoadedConfig, *, sources: bool, changed: bool) -> ConfigView:
    """In nodrop's keys."""
    return _shown(loaded.config, loaded.book, sources=sources, changed=changed)


def render_nfvbench(loaded: LoadedConfig, *, sources: bool, changed: bool) -> ConfigView:
    """In NFVbench's keys: those that were written, and its defaults for the rest."""
    return _shown(build_nfvbench_view(loaded.config), loaded.nfvbench, sources=sources, changed=changed)


def build_nfvbench_view(config: Config) -> NfvbenchConfig:
    """NFVbench's view of a configuration. What both have under the same name is as nodrop has it."""
    own = {key: value for key, value in config.nfvbench.items() if key not in SHARED}
    shared = {key: getattr(config, key) for key in config.nfvbench if key in SHARED}
    view = NfvbenchConfig.model_validate(own).model_copy(update=shared)
    sizes = tuple(str(size) for size in config.frame_sizes)
    named = [each.l2frame_size for each in view.traffic_profile if each.name == view.traffic.profile]
    if not sizes or sizes in named:
        return view
    profiles = (*view.traffic_profile, TrafficProfile(name=CUSTOM, l2frame_size=sizes))
    return view.model_copy(
        update={"traffic_profile": profiles, "traffic": view.traffic.model_copy(update={"profile": CUSTOM})}
    )


def _shown(model: Config | NfvbenchConfig, book: KeyTable, *, sources: bool, changed: bool) -> ConfigView:
    def beside(key: Key) -> str:
        return _who(key, book) if sources else ""

    values = to_plain(model)
    if not changed:
        return ConfigView(dump_annotated(model, beside), values)
    pairs = [(key, _at(values, key)) for key in book]
    return ConfigView(dump_pairs(pairs, beside), _nested(pairs))


def _who(key: Key, book: KeyTable) -> str:
    """Who wrote a key, or something in it."""
    found = [said for other, said in book.items() if other[: len(key)] == key]
    if not found:
        return DEFAULT
    said = found[-1]
    line = said.document.line(said.asked)
    place = f"{said.document.name}, line {line}" if line else said.document.name
    return place if said.asked[: len(key)] == key else f"{place}: {'.'.join(said.asked)}"


def _at(values: Any, key: Key) -> Any:
    for part in key:
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _nested(pairs: list[tuple[Key, Any]]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in pairs:
        room = nested
        for part in key[:-1]:
            room = room.setdefault(part, {})
        room[key[-1]] = value
    return nested
