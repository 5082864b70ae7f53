"""Files and flags to one Config. One rule: defaults give way to files, a file to the files after it, all to flags."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nodrop.config.schema import ATTRIBUTES_FORM, RATIO_FORM, Config, GoalConfig
from nodrop.config.traffic import RangeConfig
from nodrop.errors import ConfigError

FLAGS = "command line"
DEFAULTS = "defaults of the command"
GOALS = "goals"
WHOLE = frozenset({(GOALS,), ("traffic", "imix"), ("user_info",), ("nfvbench",)})
"""Mappings that stay together: who names one of their keys names all."""
RANGES = ("traffic", "ranges")
Key = tuple[str, ...]
Written = dict[Key, tuple[Any, str]]
"""Value and source of every key that was written, the key as its path from the top."""


def load(
    files: Sequence[Path | str], overrides: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> Config:
    """The configuration that files and flags add up to.

    Args:
        files: YAML files, later ones win.
        overrides: dotted key to value, as `{"search.width": "1%"}`; they win over all files.
        defaults: likewise; they give way to all files.

    Raises: ConfigError naming file, key and value of everything that cannot be used.
    """
    written: Written = {}
    _merge(written, _dotted(defaults or {}), DEFAULTS)
    for file in files:
        _merge(written, _flatten(_read(Path(file)), ()), str(file))
    _merge(written, _dotted(overrides), FLAGS)
    try:
        return Config.model_validate(_nest(written))
    except ValidationError as error:
        sentences = [_sentence(detail, written) for detail in error.errors()]
        raise ConfigError("\n".join(sentences)) from None


class _Loader(yaml.SafeLoader):
    """YAML in which a key may be written only once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key!r} is written twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _read(file: Path) -> Mapping[Any, Any]:
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise ConfigError(
            f"{file}: asked for as configuration, {error.strerror}; name a file that can be read"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: asked for as configuration, is not UTF-8 text; name a YAML file") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        raise ConfigError(f"{file}: {where}: YAML expected, {error.problem}; mend the line") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: YAML expected, {error}") from None
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f"{file}: keys with values expected, found {content!r}; write for example `profile: quick`")
    return content


def _flatten(content: Mapping[Any, Any], above: Key) -> Iterator[tuple[Key, Any]]:
    """Every key with its path."""
    for key, value in content.items():
        path = (*above, str(key))
        if isinstance(value, Mapping) and path not in WHOLE:
            yield from _flatten(value, path)
        else:
            yield path, value


def _dotted(keys: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    return ((tuple(key.split(".")), value) for key, value in keys.items())


def _merge(written: Written, more: Iterator[tuple[Key, Any]], source: str) -> None:
    for key, value in more:
        if value is None and isinstance(_known(key), type):
            continue  # `search:` with nothing under it
        written[key] = value, source


def _nest(written: Written) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (*above, last), (value, source) in written.items():
        room = nested
        for depth, key in enumerate(above):
            room = room.setdefault(key, {})
            if not isinstance(room, dict):
                outer = ".".join(above[: depth + 1])
                raise ConfigError(f"{source}: {outer}.{last}: asked, but {outer} is {room!r}; write one or the other")
        room[last] = dict(value) if isinstance(value, Mapping) else value
    return nested


def _known(key: Key) -> object:
    """The section of that path, a class; or None when it is a plain key or there is no such key."""
    if len(key) > 1 and key[0] == GOALS:
        return GoalConfig if len(key) == 2 else None
    if len(key) > 2 and key[:2] == RANGES:
        return RangeConfig if len(key) == 3 else None
    section: Any = Config
    for part in key:
        field = section.model_fields.get(part)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return None
        section = field.annotation
    return section


def _sentence(detail: ErrorDetails, written: Written) -> str:
    """What was asked, found and can be done about it."""
    key = tuple(str(part) for part in detail["loc"] if part not in ("[key]", RATIO_FORM, ATTRIBUTES_FORM))
    where = f"{_source(key, written)}: {'.'.join(key)}"
    if detail["type"] == "extra_forbidden":
        return f"{where}: {detail['input']!r} asked, there is no such key; {_nearest(key)}"
    if detail["type"] == "missing":
        return f"{where}: nothing asked, it has no default; write for example {key[-1]}: 0.5%"
    if detail["type"] == "value_error":
        return f"{where}: {detail['ctx']['error']}"
    if detail["type"] in ("model_type", "dict_type"):
        return f"{where}: {detail['input']!r} asked, keys with values expected; write them below it, indented"
    return f"{where}: {detail['input']!r} asked, it {detail['msg'].replace('Input should', 'should', 1)}"


def _source(key: Key, written: Written) -> str:
    """Who wrote the key, or else something in it or around it."""
    for candidate, (_, source) in reversed(written.items()):
        if candidate[: len(key)] == key or key[: len(candidate)] == candidate:
            return source
    return FLAGS


def _nearest(key: Key) -> str:
    section = _known(key[:-1])
    assert isinstance(section, type) and issubclass(section, BaseModel)
    prefix = ".".join(key[:-1]) + "." if key[:-1] else ""
    known = list(section.model_fields)
    near = difflib.get_close_matches(key[-1], known, n=1, cutoff=0.5)
    if near:
        return f"write {prefix}{near[0]}"
    return f"known keys are {', '.join(prefix + name for name in known)}"
