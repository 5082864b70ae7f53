"""Files, text, plugins and flags to one Config. One rule: each gives way to those after it, flags to none but overlays.

Keys may be nodrop's or NFVbench's, mixed as one likes. NFVbench's are translated where they stand, so that a later file
wins over an earlier one whichever keys it is written in. Where one file has both, nodrop's own key wins over one that
is translated.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from nodrop.config import plugin
from nodrop.config.keys import GOALS, INTERNAL, SHARED, find_section, is_nfvbench_key
from nodrop.config.messages import COMMAND_LINE, KeyTable, SourcedValue, sentence, unexpected_booleans
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.translator import Translator
from nodrop.config.schema import Config
from nodrop.config.source import NamedMapping, Source, read_source
from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import Key, ParsedFile, from_mapping, preview_value

__all__ = ["LoadedConfig", "Source", "NamedMapping", "load", "load_with_sources"]

DEFAULTS = "defaults of the command"
UNDIVIDED = frozenset({GOALS, ("traffic", "imix")})
"""Mappings that stay together: who names one of their keys names all."""
PLUGINS = ("plugins",)


class LoadedConfig(NamedTuple):
    """A configuration, and who wrote what in it."""

    config: Config
    book: KeyTable
    """Every key of nodrop's own that was written, with the last word on it."""
    nfvbench: KeyTable
    """Every key of NFVbench's, likewise."""


class FlatDocument(NamedTuple):
    """A document with its keys one by one."""

    document: ParsedFile
    keys: tuple[tuple[Key, Any], ...]


def load(
    sources: Sequence[Source],
    overrides: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    overlays: Sequence[Source] = (),
) -> Config:
    """The configuration that sources and flags add up to.

    Args:
        sources: files, text in place of files, or mappings with a name; later ones win.
        overrides: dotted key to value, as `{"search.width": "1%"}`; they win over all sources.
        defaults: likewise; they give way to all sources, and to plugins.
        overlays: sources that win over everything, flags too.

    Raises: ConfigError naming source, line, key and value of everything that cannot be used.
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
    """The same, with who wrote what; without plugins, when asked so. Raises ConfigError likewise."""
    asked = [_asked(read_source(source)) for source in sources]
    asked.append(_dotted(overrides, COMMAND_LINE))
    asked += [_asked(read_source(source)) for source in overlays]
    wanted = plugins and _wants_plugins(asked)
    supplied = [_asked(document) for document in plugin.load_plugins()] if wanted else []
    book: KeyTable = {}
    translator = Translator()
    for each in (_dotted(defaults or {}, DEFAULTS), *supplied, *asked):
        _merge(each, book, translator)
    return LoadedConfig(_validated(book, translator), book, translator.book)


def _merge(asked: FlatDocument, book: KeyTable, translator: Translator) -> None:
    own: set[Key] = set()
    for key, value in asked.keys:
        said = SourcedValue(value, asked.document, key)
        if is_nfvbench_key(key):
            translator.note(key, said)
            continue
        if key[0] in SHARED:
            translator.note(key, said)
        else:
            own.add(key)
        book[key] = said
    for key, said in translator.translate():
        if not any(mine[: len(key)] == key or key[: len(mine)] == mine for mine in own):
            for below in [other for other in book if other[: len(key)] == key and other != key]:
                del book[below]
            book.pop(key, None)
            book[key] = said


def _validated(book: KeyTable, translator: Translator) -> Config:
    wrong = list(translator.complaints())
    own = dict(unexpected_booleans(Config, book))
    for key in [key for key in book if key[0] in INTERNAL]:
        wrong.append(f"{book.pop(key).where(key)}: asked, there is no such key; write NFVbench's keys without it")
    try:
        config = Config.model_validate(nest(book) | {"nfvbench": translator.as_written()})
    except ValidationError as error:
        for detail in error.errors():
            key = tuple(str(part) for part in detail["loc"])
            if not any(key[: len(told)] == told for told in own):
                wrong.append(sentence(detail, book))
    wrong += own.values()
    if wrong:
        raise ConfigError("\n".join(wrong)) from None
    return config


def nest(book: KeyTable) -> dict[str, Any]:
    """Values as a mapping again. Raises ConfigError where a key has both a value and keys below it."""
    nested: dict[str, Any] = {}
    for (*above, last), said in book.items():
        room = nested
        for depth, key in enumerate(above):
            room = room.setdefault(key, {})
            if not isinstance(room, dict):
                outer = ".".join(above[: depth + 1])
                raise ConfigError(
                    f"{said.document.name}: {outer}.{last}: asked, but {outer} is {preview_value(room)}; write one or the other"
                )
        room[last] = dict(said.value) if isinstance(said.value, Mapping) else said.value
    return nested


def _asked(document: ParsedFile) -> FlatDocument:
    return FlatDocument(document, tuple(_flatten(document.content, ())))


def _dotted(keys: Mapping[str, Any], name: str) -> FlatDocument:
    document = from_mapping(keys, name)
    below: list[tuple[Key, Any]] = []
    for key, value in keys.items():
        path = tuple(key.split("."))
        below += _flatten({path[-1]: value}, path[:-1])
    return FlatDocument(document, tuple(below))


def _flatten(content: Mapping[Any, Any], above: Key) -> Iterator[tuple[Key, Any]]:
    """Every key with its path; a section with nothing in it is not there."""
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


def _wants_plugins(asked: Sequence[FlatDocument]) -> bool:
    """What the last of them says of plugins; that they are wanted, when none says anything."""
    said = [value for each in asked for key, value in each.keys if key == PLUGINS]
    return not said or said[-1] not in (False, "false", "no", "off")
