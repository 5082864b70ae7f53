"""JSON Schema of configurations, for editors, other programs and the HTTP API."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from nodrop.config.keys import is_section, list_user_fields
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config


def make_json_schema(root: type[Config] | type[NfvbenchConfig]) -> dict[str, Any]:
    """Return the JSON Schema of nodrop's or NFVbench's keys, each of which may be null: the default."""
    schema = root.model_json_schema(mode="validation")
    parts = schema["$defs"]
    # Null in an item of a list is absent in NFVbench's form alone.
    names = parts if root is NfvbenchConfig else {section.__name__ for section in _iter_sections(root)}
    for part in (schema, *(parts[name] for name in names)):
        for name, field in part.get("properties", {}).items():
            if name not in part.get("required", ()):
                part["properties"][name] = _allow_null(field)
    return schema


def _iter_sections(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in list_user_fields(model).values():
        if isinstance(field.annotation, type) and is_section(field):
            yield field.annotation
            yield from _iter_sections(field.annotation)


def _allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    null = {"type": "null"}
    described = {key: schema[key] for key in ("title", "description", "default") if key in schema}
    bare = {key: value for key, value in schema.items() if key not in described}
    if not bare or null in bare.get("anyOf", ()):
        return schema
    choices = bare["anyOf"] if set(bare) == {"anyOf"} else [bare]
    return {"anyOf": [*choices, null]} | described
