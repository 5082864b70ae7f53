"""The form of a run, generated from the configuration's schema: fields to a request body and back."""

import functools
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from nodrop.config.key_help import format_range
from nodrop.config.keys import Leaf, find_field, iter_leaves
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import to_plain
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.server.rest.forbidden_keys import FORBIDDEN
from nodrop.server.rest.server_config import BODY
from nodrop.system.yaml_reader import parse_document, parse_value, to_yaml_line

USUAL: tuple[str, ...] = ("sut", "rate", "duration", "frame_sizes", "profile", "chains", "repeat", "label")
"""Keys that most runs set, in the order of the form."""
TITLES = {
    "sut": "System under test (SUT)",
    "rate": "Goals or fixed rate",
    "duration": "Duration at a fixed rate",
    "frame_sizes": "Frame sizes",
    "profile": "Search profile",
    "chains": "Service chains",
    "repeat": "Repeats",
    "label": "Label",
}
SUGGESTED: dict[str, tuple[str, ...]] = {
    "rate": ("ndr_pdr", "ndr", "pdr", "100kpps", "1Gbps", "50%"),
    "duration": ("5s", "10s", "60s"),
    "frame_sizes": ("64", "IMIX", "64, 512, 1518"),
    "search.budget": ("30s", "60s", "5min"),
    "search.width": ("0.5%", "1%", "2%"),
}
PASTED = "pasted"
"""Field for a pasted configuration."""
GENERAL = "General"
SIZES = "frame_sizes"
"""Key whose default is `frame_bytes`."""
SOURCE = f"{BODY}: "
KEY = re.compile(rf"(?:{SOURCE})?(?:line [0-9]+: )?([A-Za-z_][\w.]*): ")
"""Prefix of a message about a key."""


class FormField(Value):
    """A field of the form."""

    key: str
    title: str
    help: str
    """Help, with Markdown code spans."""
    choices: tuple[str, ...] = ()
    """Allowed values; empty for free text."""
    is_list: bool = False
    default: str
    """Value of an empty field."""
    range: str = ""
    """Range of values, in words."""
    suggested: tuple[str, ...] = ()


class FormGroup(Value):
    """Fields of a section."""

    title: str
    help: str
    fields: tuple[FormField, ...]


def list_usual_fields(config: Config) -> tuple[FormField, ...]:
    """List the fields that most runs need, with the defaults of a configuration."""
    fields, plain = _list_fields_by_key(), to_plain(config)
    return tuple(_add_default(fields[key], config, plain) for key in USUAL)


def list_further_groups(config: Config) -> Iterator[FormGroup]:
    """List all other fields by section."""
    groups: dict[str, list[FormField]] = {}
    plain = to_plain(config)
    for key, field in _list_fields_by_key().items():
        if key not in USUAL:
            groups.setdefault(key.rpartition(".")[0] or GENERAL, []).append(_add_default(field, config, plain))
    for title, fields in groups.items():
        about = find_field(Config, tuple(title.split(".")))
        yield FormGroup(title=title, help=_to_one_line(about.description) if about else "", fields=tuple(fields))


def parse_fields(texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Parse a form; returns the request body and errors by field.

    Args:
        texts: text by key; empty fields are ignored. Fields override the configuration in `pasted`.
    """
    errors: dict[str, str] = {}
    body: dict[str, Any] = {}
    if text := texts.get(PASTED, "").strip():
        try:
            body = _to_dict(parse_document(text, "the text").content)
        except ConfigError as error:
            errors[PASTED] = str(error)
    for key, field in _list_fields_by_key().items():
        if text := texts.get(key, "").strip():
            try:
                _put(body, key, _parse_field(text, field))
            except ConfigError as error:
                errors[key] = str(error)
    return body, errors


def fill_fields(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the fields for a request body; keys without a field go to `pasted`."""
    fields, texts = _list_fields_by_key(), {}
    rest: dict[str, Any] = {}
    for path, value in _iter_leaves(body):
        field = fields.get(path)
        if field and value is not None:
            is_plain_list = field.is_list and isinstance(value, list)
            plain_list = is_plain_list and not any(isinstance(each, list | dict) for each in value)
            texts[path] = ", ".join(map(str, value)) if plain_list else _format_text(value)
        elif value is not None:
            _put(rest, path, value)
    return texts | ({PASTED: to_yaml_line(rest)} if rest else {})


def assign_errors(sentences: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Assign error messages to fields; returns messages by field, and those without a field."""
    fields = _list_fields_by_key()
    errors: dict[str, str] = {}
    unassigned: list[str] = []
    for sentence in sentences:
        match = KEY.match(sentence)
        key = match.group(1) if match else ""
        while key and key not in fields:
            key = key.rpartition(".")[0]
        if match and key:
            message = sentence[match.end() :] if key == match.group(1) else sentence.removeprefix(SOURCE)
            errors[key] = f"{errors[key]}; {message}" if key in errors else message
        else:
            unassigned.append(sentence.removeprefix(SOURCE))
    return errors, tuple(unassigned)


def flatten(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield dotted keys and their values as one-line YAML, as for `--set`."""
    for path, value in _iter_leaves(body):
        if value is not None:
            yield path, _format_text(value)


@functools.cache
def _list_fields_by_key() -> dict[str, FormField]:
    """Return the fields of all keys that a request may set, in the order of the schema."""
    fields = {}
    for leaf in iter_leaves(Config):
        key = ".".join(leaf.key)
        if not any(key == forbidden or key.startswith(f"{forbidden}.") for forbidden in FORBIDDEN):
            fields[key] = _make_field(key, leaf)
    return fields


def _make_field(key: str, leaf: Leaf) -> FormField:
    annotation = leaf.field.annotation
    return FormField(
        key=key,
        title=TITLES.get(key, leaf.key[-1].replace("_", " ")),
        help=_to_one_line(leaf.field.description),
        choices=_list_choices(annotation),
        is_list=typing.get_origin(annotation) is tuple,
        default="",
        range=format_range(Config, leaf.key),
        suggested=SUGGESTED.get(key, ()),
    )


def _add_default(field: FormField, config: Config, plain: object) -> FormField:
    """Add the default of a field, from a configuration and its plain form, which is slow to make."""
    value: Any = plain
    for part in field.key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if field.key == SIZES and not value:
        value = config.frame_bytes
    return field.replace(default="" if value in (None, [], {}) else _format_text(value))


def _list_choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a key with a fixed set of values."""
    if annotation is bool:
        return ("true", "false")
    if typing.get_origin(annotation) is Literal:
        return tuple(map(str, typing.get_args(annotation)))
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    is_union = typing.get_origin(annotation) in (typing.Union, type(int | str))
    each = [_list_choices(part) for part in parts] if is_union else []
    return tuple(dict.fromkeys(choice for choices in each for choice in choices)) if each and all(each) else ()


def _parse_field(text: str, field: FormField) -> Any:
    """Parse the text of a field; brackets of a list are optional. Raises ConfigError."""
    if field.is_list and not text.startswith("["):
        text = f"[{text}]"
    return parse_value(text)


def _format_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else to_yaml_line(value)


def _iter_leaves(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values by dotted key; a mapping that is the value of one field stays a mapping."""
    for key, value in content.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping) and value and path not in _list_fields_by_key():
            yield from _iter_leaves(value, f"{path}.")
        else:
            yield path, value


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a value, and create its sections. Raises ConfigError if a section has a value itself."""
    *above, last = path.split(".")
    for part in above:
        body = body.setdefault(part, {})
        if not isinstance(body, dict):
            raise ConfigError(
                f"{path}: conflicts with {part}, which has a value in the pasted configuration; remove one of them"
            )
    body[last] = value


def _to_dict(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _to_dict(value) for key, value in content.items()}
    return [_to_dict(value) for value in content] if isinstance(content, list | tuple) else content


def _to_one_line(text: str | None) -> str:
    return " ".join((text or "").split())
