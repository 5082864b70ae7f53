"""Writes configurations as YAML."""

import textwrap
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from pydantic import BaseModel

from nodrop.config.keys import is_section, list_user_fields
from nodrop.config.nfvbench.loopback import Loopback
from nodrop.system.yaml_reader import Key, to_yaml_line

WIDTH = 120
INDENT = "  "

CommentFunction = Callable[[Key], str]
"""Returns the comment after a key; empty for none."""


def dump_commented(model: BaseModel) -> str:
    """Return all keys with their values, each below its description."""
    return "\n".join(_dump_model(model, (), _omit_comment, described=True)) + "\n"


def dump_annotated(model: BaseModel, comment: CommentFunction) -> str:
    """Return all keys with their values, each followed by a comment."""
    return "\n".join(_dump_model(model, (), comment, described=False)) + "\n"


def dump_pairs(pairs: Iterable[tuple[Key, Any]], comment: CommentFunction) -> str:
    """Return some keys with their values, grouped by section, each followed by a comment."""
    nested: dict[str, Any] = {}
    for key, value in pairs:
        parent = nested
        for part in key[:-1]:
            parent = parent.setdefault(part, _Section())
        parent[key[-1]] = value
    lines = list(_dump_mapping(nested, (), comment))
    return "\n".join(lines) + "\n" if lines else ""


def to_plain(value: Any) -> Any:
    """Return a value in types of YAML and JSON, as a user writes it."""
    if isinstance(value, BaseModel):
        return {
            **{name: to_plain(getattr(value, attribute)) for name, attribute in _list_attributes(value)},
            **{name: to_plain(extra) for name, extra in (value.model_extra or {}).items()},
        }
    if isinstance(value, Loopback):
        return value.to_plain()
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    return str(value) if isinstance(value, (IPv4Address, IPv4Network)) else value


def collect_changes(model: BaseModel) -> dict[str, Any]:
    """Return the values that differ from the defaults, as a nested mapping."""
    fields, changes = list_user_fields(type(model)), {}
    for name, attribute in _list_attributes(model):
        field, value = fields[name], getattr(model, attribute)
        if is_section(field):
            below = collect_changes(value)
            if below:
                changes[name] = below
        elif value != field.get_default(call_default_factory=True):
            changes[name] = to_plain(value)
    return changes


class _Section(dict[str, Any]):
    """A mapping that is a section, not a value."""


def _omit_comment(_key: Key) -> str:
    return ""


def _list_attributes(model: BaseModel) -> list[tuple[str, str]]:
    """Return pairs of key and attribute name."""
    names = {field.alias or name: name for name, field in type(model).model_fields.items()}
    return [(name, names[name]) for name in list_user_fields(type(model))]


def _dump_model(model: BaseModel, above: Key, comment: CommentFunction, *, described: bool) -> Iterable[str]:
    indent = INDENT * len(above)
    fields = list_user_fields(type(model))
    for name, attribute in _list_attributes(model):
        field, value = fields[name], getattr(model, attribute)
        if described:
            if not above:
                yield ""
            text = " ".join((field.description or "").split())
            yield from _wrap(text, f"{indent}# ")
        if is_section(field):
            yield f"{indent}{name}:"
            yield from _dump_model(value, (*above, name), comment, described=described)
        else:
            yield _dump_line(indent, name, to_plain(value), comment((*above, name)))


def _dump_mapping(mapping: Mapping[str, Any], above: Key, comment: CommentFunction) -> Iterable[str]:
    indent = INDENT * len(above)
    for name, value in mapping.items():
        if isinstance(value, _Section):
            yield f"{indent}{name}:"
            yield from _dump_mapping(value, (*above, name), comment)
        else:
            yield _dump_line(indent, name, to_plain(value), comment((*above, name)))


def _wrap(text: str, prefix: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False)


def _dump_line(indent: str, name: str, value: Any, comment: str) -> str:
    line = f"{indent}{to_yaml_line(name)}: {to_yaml_line(value)}"
    return f"{line}  # {comment}" if comment else line
