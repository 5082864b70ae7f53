"""The form that asks for a run, made from the configuration's schema: fields, what was written in them, and back."""

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
"""What most runs are told apart by, in the order they are asked for."""
TITLES = {
    "sut": "What to measure",
    "rate": "What to find, or a fixed rate",
    "duration": "How long, at a fixed rate",
    "frame_sizes": "Frame sizes",
    "profile": "How long and precisely",
    "chains": "Service chains",
    "repeat": "How often",
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
"""The field that takes a whole configuration."""
GENERAL = "General"
SIZES = "frame_sizes"
"""Without any, the size is another key's."""
SOURCE = f"{BODY}: "
KEY = re.compile(rf"(?:{SOURCE})?(?:line [0-9]+: )?([A-Za-z_][\w.]*): ")
"""How a sentence about a key begins."""


class FormField(Value):
    """A key, as a form asks for it."""

    key: str
    title: str
    help: str
    """What it means, in Markdown's code marks."""
    choices: tuple[str, ...] = ()
    """What it may be; empty where it is written freely."""
    is_list: bool = False
    default: str
    """What it is where nothing is written."""
    range: str = ""
    """What may be written, in words."""
    suggested: tuple[str, ...] = ()


class FormGroup(Value):
    """Fields that belong together."""

    title: str
    help: str
    fields: tuple[FormField, ...]


def list_usual_fields(config: Config) -> tuple[FormField, ...]:
    """The few that most runs need, with the defaults of a configuration."""
    known = _known()
    return tuple(_with_default(known[key], config) for key in USUAL)


def list_further_groups(config: Config) -> Iterator[FormGroup]:
    """All others, section by section."""
    groups: dict[str, list[FormField]] = {}
    for key, field in _known().items():
        if key not in USUAL:
            groups.setdefault(key.rpartition(".")[0] or GENERAL, []).append(_with_default(field, config))
    for title, fields in groups.items():
        about = find_field(Config, tuple(title.split(".")))
        yield FormGroup(title=title, help=_one_line(about.description) if about else "", fields=tuple(fields))


def parse_fields(written: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The body that a form asks for, and what is wrong with it already, by field.

    Args:
        written: text by key; what is empty asks for nothing. The whole configuration in `pasted` gives way to fields.
    """
    wrong: dict[str, str] = {}
    body: dict[str, Any] = {}
    if text := written.get(PASTED, "").strip():
        try:
            body = _as_dict(parse_document(text, "the text").content)
        except ConfigError as error:
            wrong[PASTED] = str(error)
    for key, field in _known().items():
        if text := written.get(key, "").strip():
            try:
                _put(body, key, _value(text, field))
            except ConfigError as error:
                wrong[key] = str(error)
    return body, wrong


def fill_fields(body: Mapping[str, Any]) -> dict[str, str]:
    """What to write in a form that asks for a body: fields where there are some, the rest as text."""
    known, written = _known(), {}
    rest: dict[str, Any] = {}
    for path, value in _leaves_of(body):
        field = known.get(path)
        if field and value is not None:
            is_plain_list = field.is_list and isinstance(value, list)
            plain_list = is_plain_list and not any(isinstance(each, list | dict) for each in value)
            written[path] = ", ".join(map(str, value)) if plain_list else _text(value)
        elif value is not None:
            _put(rest, path, value)
    return written | ({PASTED: to_yaml_line(rest)} if rest else {})


def assign_errors(sentences: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What is wrong, by the field it is about; and what is about none."""
    known = _known()
    fields: dict[str, str] = {}
    others: list[str] = []
    for sentence in sentences:
        found = KEY.match(sentence)
        key = found.group(1) if found else ""
        while key and key not in known:
            key = key.rpartition(".")[0]
        if found and key:
            told = sentence[found.end() :] if key == found.group(1) else sentence.removeprefix(SOURCE)
            fields[key] = f"{fields[key]}; {told}" if key in fields else told
        else:
            others.append(sentence.removeprefix(SOURCE))
    return fields, tuple(others)


def flatten(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys with dots and their values as YAML in one line, as `--set` takes them."""
    for path, value in _leaves_of(body):
        if value is not None:
            yield path, _text(value)


@functools.cache
def _known() -> dict[str, FormField]:
    """Every key a request may set, in the order of the schema, those of refused sections left out."""
    found = {}
    for leaf in iter_leaves(Config):
        key = ".".join(leaf.key)
        if not any(key == refused or key.startswith(f"{refused}.") for refused in FORBIDDEN):
            found[key] = _field(key, leaf)
    return found


def _field(key: str, leaf: Leaf) -> FormField:
    annotation = leaf.field.annotation
    return FormField(
        key=key,
        title=TITLES.get(key, leaf.key[-1].replace("_", " ")),
        help=_one_line(leaf.field.description),
        choices=_choices(annotation),
        is_list=typing.get_origin(annotation) is tuple,
        default="",
        range=format_range(Config, leaf.key),
        suggested=SUGGESTED.get(key, ()),
    )


def _with_default(field: FormField, config: Config) -> FormField:
    value: Any = to_plain(config)
    for part in field.key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if field.key == SIZES and not value:
        value = config.frame_bytes
    return field.model_copy(update={"default": "" if value in (None, [], {}) else _text(value)})


def _choices(annotation: Any) -> tuple[str, ...]:
    """All there is to choose from, where a key takes nothing else."""
    if annotation is bool:
        return ("true", "false")
    if typing.get_origin(annotation) is Literal:
        return tuple(map(str, typing.get_args(annotation)))
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    is_union = typing.get_origin(annotation) in (typing.Union, type(int | str))
    each = [_choices(part) for part in parts] if is_union else []
    return tuple(dict.fromkeys(choice for choices in each for choice in choices)) if each and all(each) else ()


def _value(text: str, field: FormField) -> Any:
    """What was written; a list may do without brackets. Raises ConfigError."""
    if field.is_list and not text.startswith("["):
        text = f"[{text}]"
    return parse_value(text)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else to_yaml_line(value)


def _leaves_of(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values by their dotted keys; what a field takes as a whole stays whole."""
    for key, value in content.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping) and value and path not in _known():
            yield from _leaves_of(value, f"{path}.")
        else:
            yield path, value


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a value, with the sections above it. Raises ConfigError where one of these has a value itself."""
    *above, last = path.split(".")
    for part in above:
        body = body.setdefault(part, {})
        if not isinstance(body, dict):
            raise ConfigError(f"{path}: asked, but {part} has a value in the text; write one or the other")
    body[last] = value


def _as_dict(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _as_dict(value) for key, value in content.items()}
    return [_as_dict(value) for value in content] if isinstance(content, list | tuple) else content


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
