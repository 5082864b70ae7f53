"""The base of NFVbench's sections, which reads values as its own file and templates of deployment tools write them."""

import types
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from nodrop.model.base import Value
from nodrop.system.yaml_reader import parse_value


class Section(Value):
    """A section in which null, empty text and `None` count as absent, and text may hold a list: `"[64, 1518]"`."""

    @model_validator(mode="before")
    @classmethod
    def _read_values(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        return {
            key: _read_text(value, fields[key].annotation) if key in fields else value
            for key, value in values.items()
            if key not in fields or not is_absent(value)
        }


def is_absent(value: Any) -> bool:
    """Return whether a value stands for the default of its key; templates of Jinja write null as `None`."""
    return value is None or (isinstance(value, str) and value in ("", "None"))


def _read_text(value: Any, annotation: Any) -> Any:
    """Return the list or mapping that a text holds, for a key that takes no text."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")) and not _takes_text(annotation):
        return parse_value(value)
    return value


def _takes_text(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        return _takes_text(typing.get_args(annotation)[0])
    members = typing.get_args(annotation) if typing.get_origin(annotation) in (typing.Union, types.UnionType) else ()
    return annotation is str or any(_takes_text(each) for each in members)
