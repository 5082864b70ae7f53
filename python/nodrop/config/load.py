"""Loads files, inline text, plugins and flags into one Config.

Precedence, lowest first: defaults of the command, plugins, sources in their order, flags, overlays.

Keys may be nodrop's or NFVbench's, in any mixture. NFVbench's keys are translated source by source, so that a later
file overrides an earlier one whichever keys it uses. Within one file, nodrop's own key overrides a translated one. A
null value restores the default.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from nodrop.config import plugin
from nodrop.config.keys import GOALS, INTERNAL, SHARED, find_field, find_section, is_nfvbench_key
from nodrop.config.messages import COMMAND_LINE, KeyTable, SourcedValue, describe_error, find_unexpected_booleans
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.translator import Translator
from nodrop.config.schema import Config
from nodrop.config.source import NamedMapping, Source, read_source
from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import Key, ParsedFile, from_mapping, preview_value

__all__ = ["LoadedConfig", "NamedMapping", "Source", "build_config", "load_with_sources"]

DEFAULTS = "defaults of the command"
UNDIVIDED = frozenset({GOALS, ("traffic", "imix")})
"""Mappings that are replaced as one value: to set one of their keys, set all."""
PLUGINS = ("plugins",)


class LoadedConfig(NamedTuple):
    """A configuration and the source of each value."""

    config: Config
    keys: KeyTable
    """nodrop's keys that a source sets."""
    nfvbench: KeyTable
    """NFVbench's keys that a source sets."""


class FlatFile(NamedTuple):
    """A parsed file and its keys as dotted paths."""

    source: ParsedFile
    keys: tuple[tuple[Key, Any], ...]


def build_config(
    sources: Sequence[Source],
    overrides: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    overlays: Sequence[Source] = (),
) -> Config:
    """Merge sources and flags into one configuration.

    Args:
        sources: files, inline text, or named mappings; later ones override earlier ones.
        overrides: values by dotted key, e.g. `{"search.width": "1%"}`; they override all sources.
        defaults: values by dotted key; all sources and plugins override them.
        overlays: sources that override everything, flags included.

    Raises: ConfigError with source, line, key and value of everything that cannot be used.
    """
    return load_with_sources(sources, overrides, defaults, overlays=overlays).config


def load_with_sources(
    sources: Sequence[Source],
    overrides: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    *,
    plugins: bool = True,
    overlays: Sequence[Source] = (),
) -> LoadedConfig:
    """Merge as `build_config` and keep each value's source; `plugins=False` ignores plugins. Raises ConfigError."""
    files = [_flatten_file(read_source(source)) for source in sources]
    files.append(_flatten_dotted(overrides, COMMAND_LINE))
    files += [_flatten_file(read_source(source)) for source in overlays]
    use_plugins = plugins and _are_plugins_enabled(files)
    plugin_files = [_flatten_file(each) for each in plugin.load_plugins()] if use_plugins else []
    keys: KeyTable = {}
    translator = Translator()
    for file in (_flatten_dotted(defaults or {}, DEFAULTS), *plugin_files, *files):
        _merge(file, keys, translator)
    return LoadedConfig(_validate(keys, translator), keys, translator.keys)


def _merge(file: FlatFile, keys: KeyTable, translator: Translator) -> None:
    file_keys: set[Key] = set()
    for key, value in file.keys:
        entry = SourcedValue(value, file.source, key)
        is_translated = is_nfvbench_key(key)
        if is_translated or key[0] in SHARED:
            translator.add(key, entry)
        if is_translated:
            continue
        if value is None and find_field(Config, key):
            keys.pop(key, None)
            continue
        if key[0] not in SHARED:
            file_keys.add(key)
        keys[key] = entry
    for key, entry in translator.translate(keys):
        if not any(file_key[: len(key)] == key or key[: len(file_key)] == file_key for file_key in file_keys):
            for below in [other for other in keys if other[: len(key)] == key and other != key]:
                del keys[below]
            keys.pop(key, None)
            keys[key] = entry


def _validate(keys: KeyTable, translator: Translator) -> Config:
    errors = list(translator.find_errors())
    booleans = dict(find_unexpected_booleans(Config, keys))
    for key in [key for key in keys if key[0] in INTERNAL]:
        errors.append(f"{keys.pop(key).locate(key)}: unknown key; write NFVbench's keys at the top level")
    try:
        config = Config.model_validate(nest_keys(keys) | {"nfvbench": translator.to_mapping()})
    except ValidationError as error:
        for detail in error.errors():
            key = tuple(str(part) for part in detail["loc"])
            if not any(key[: len(reported)] == reported for reported in booleans):
                errors.append(describe_error(detail, keys))
    errors += booleans.values()
    if errors:
        raise ConfigError("\n".join(errors)) from None
    return config


def nest_keys(keys: KeyTable) -> dict[str, Any]:
    """Return the values as a nested mapping. Raises ConfigError if a key has both a value and keys below it."""
    nested: dict[str, Any] = {}
    for (*above, last), entry in keys.items():
        parent = nested
        for depth, key in enumerate(above):
            parent = parent.setdefault(key, {})
            if not isinstance(parent, dict):
                outer = ".".join(above[: depth + 1])
                raise ConfigError(
                    f"{entry.source.name}: {outer}.{last}: {outer} is already set to {preview_value(parent)}; write "
                    f"either a value or keys below {outer}"
                )
        parent[last] = dict(entry.value) if isinstance(entry.value, Mapping) else entry.value
    return nested


def _flatten_file(source: ParsedFile) -> FlatFile:
    return FlatFile(source, tuple(_flatten(source.content, ())))


def _flatten_dotted(keys: Mapping[str, Any], name: str) -> FlatFile:
    source = from_mapping(keys, name)
    below: list[tuple[Key, Any]] = []
    for key, value in keys.items():
        path = tuple(key.split("."))
        below += _flatten({path[-1]: value}, path[:-1])
    return FlatFile(source, tuple(below))


def _flatten(content: Mapping[Any, Any], above: Key) -> Iterator[tuple[Key, Any]]:
    """Yield every key with its path; an empty section counts as absent."""
    for key, value in content.items():
        path = (*above, str(key))
        if value is None and _is_section(path):
            continue
        if isinstance(value, Mapping) and path not in UNDIVIDED and value:
            yield from _flatten(value, path)
        elif not (value == {} and _is_section(path)):
            yield path, value


def _is_section(key: Key) -> bool:
    return find_section(Config, key) is not None or find_section(NfvbenchConfig, key) is not None


def _are_plugins_enabled(files: Sequence[FlatFile]) -> bool:
    """Return the last value of `plugins`, true if no source sets it."""
    values = [value for file in files for key, value in file.keys if key == PLUGINS]
    return not values or values[-1] not in (False, "false", "no", "off")
