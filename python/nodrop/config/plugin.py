"""Configuration plugins: installed packages that know the platform, and supply defaults for it.

A package names, under the entry point group `nodrop.config`, a mapping or a function without arguments that gives one.
Its keys are nodrop's or NFVbench's; they give way to whatever the user writes. `plugins: false` leaves all of them out.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import ParsedFile, from_mapping, preview_value

GROUP = "nodrop.config"
REMEDY = "mend or remove it, or leave all plugins out with plugins: false"


def load_plugins() -> Iterator[ParsedFile]:
    """What each installed plugin says, in the order of their names. Raises ConfigError naming a plugin that fails."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield _document(point)


def _document(point: EntryPoint) -> ParsedFile:
    name = f"plugin {point.name}"
    try:
        supplied = point.load()
        content = supplied() if callable(supplied) else supplied
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{name} ({point.value}): defaults asked for, {type(error).__name__}: {error}; {REMEDY}"
        ) from error
    if not isinstance(content, Mapping):
        raise ConfigError(
            f"{name} ({point.value}): keys with values expected, found {preview_value(content)}; {REMEDY}"
        )
    return from_mapping(content, name)
