"""Configuration plugins: installed packages that supply defaults for their platform.

A package registers, under the entry point group `nodrop.config`, a mapping or a function without arguments that returns
one. Its keys are nodrop's or NFVbench's; every value that the user sets overrides them. `plugins: false` ignores all
plugins.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import ParsedFile, from_mapping, preview_value

GROUP = "nodrop.config"
FIX = "repair or uninstall it, or ignore all plugins with plugins: false"


def load_plugins() -> Iterator[ParsedFile]:
    """Yield the defaults of each installed plugin, ordered by name. Raises ConfigError if a plugin fails."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield _load(point)


def _load(point: EntryPoint) -> ParsedFile:
    name = f"plugin {point.name}"
    try:
        loaded = point.load()
        content = loaded() if callable(loaded) else loaded
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} ({point.value}): {type(error).__name__}: {error}; {FIX}") from error
    if not isinstance(content, Mapping):
        raise ConfigError(f"{name} ({point.value}): not a mapping ({preview_value(content)}); {FIX}")
    return from_mapping(content, name)
