"""Configuration written down: as YAML for people, which this program reads again."""

import textwrap
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from pydantic import BaseModel

from nodrop.config.keys import is_section, user_fields
from nodrop.config.nfvbench.loopback import Loopback
from nodrop.system.yaml_reader import Key, to_yaml_line

WIDTH = 120
INDENT = "  "

CommentFunction = Callable[[Key], str]
"""What to say beside a key; empty for nothing."""


def dump_commented(model: BaseModel) -> str:
    """All keys with their values, each under what it means."""
    return "\n".join(_sections(model, (), _nothing, described=True)) + "\n"


def dump_annotated(model: BaseModel, beside: CommentFunction) -> str:
    """All keys with their values, each with a comment beside it."""
    return "\n".join(_sections(model, (), beside, described=False)) + "\n"


def dump_pairs(pairs: Iterable[tuple[Key, Any]], beside: CommentFunction) -> str:
    """Some keys with their values, each with a comment beside it, and those of a section together."""
    nested: dict[str, Any] = {}
    for key, value in pairs:
        room = nested
        for part in key[:-1]:
            room = room.setdefault(part, _Section())
        room[key[-1]] = value
    lines = list(_nested(nested, (), beside))
    return "\n".join(lines) + "\n" if lines else ""


def to_plain(value: Any) -> Any:
    """A value as YAML and JSON can say it, in the words a user writes it in."""
    if isinstance(value, BaseModel):
        return {
            **{name: to_plain(getattr(value, attribute)) for name, attribute in _attributes(value)},
            **{name: to_plain(extra) for name, extra in (value.model_extra or {}).items()},
        }
    if isinstance(value, Loopback):
        return value.written()
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    return str(value) if isinstance(value, (IPv4Address, IPv4Network)) else value


def collect_changes(model: BaseModel) -> dict[str, Any]:
    """What differs from the defaults, as a document that this program reads again."""
    known, differing = user_fields(type(model)), {}
    for name, attribute in _attributes(model):
        field, value = known[name], getattr(model, attribute)
        if is_section(field):
            below = collect_changes(value)
            if below:
                differing[name] = below
        elif value != field.get_default(call_default_factory=True):
            differing[name] = to_plain(value)
    return differing


class _Section(dict[str, Any]):
    """A mapping that is keys below a key, and not a value."""


def _nothing(_key: Key) -> str:
    return ""


def _attributes(model: BaseModel) -> list[tuple[str, str]]:
    """Names as users write them, and as the model has them."""
    names = {field.alias or name: name for name, field in type(model).model_fields.items()}
    return [(name, names[name]) for name in user_fields(type(model))]


def _sections(model: BaseModel, above: Key, beside: CommentFunction, *, described: bool) -> Iterable[str]:
    indent = INDENT * len(above)
    known = user_fields(type(model))
    for name, attribute in _attributes(model):
        field, value = known[name], getattr(model, attribute)
        if described:
            if not above:
                yield ""
            text = " ".join((field.description or "").split())
            yield from _wrapped(text, f"{indent}# ")
        if is_section(field):
            yield f"{indent}{name}:"
            yield from _sections(value, (*above, name), beside, described=described)
        else:
            yield _line(indent, name, to_plain(value), beside((*above, name)))


def _nested(room: Mapping[str, Any], above: Key, beside: CommentFunction) -> Iterable[str]:
    indent = INDENT * len(above)
    for name, value in room.items():
        if isinstance(value, _Section):
            yield f"{indent}{name}:"
            yield from _nested(value, (*above, name), beside)
        else:
            yield _line(indent, name, to_plain(value), beside((*above, name)))


def _wrapped(text: str, begin: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)


def _line(indent: str, name: str, value: Any, comment: str) -> str:
    line = f"{indent}{to_yaml_line(name)}: {to_yaml_line(value)}"
    return f"{line}  # {comment}" if comment else line
