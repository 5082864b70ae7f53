"""nodrop's and NFVbench's configuration keys, by their paths."""

import difflib
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodrop.config.nfvbench.removed_keys import REMOVED_KEYS
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config, GoalConfig
from nodrop.config.traffic import RangeConfig
from nodrop.system.yaml_reader import Key

GOALS, RANGES = ("goals",), ("traffic", "ranges")
INTERNAL = frozenset({"nfvbench"})
"""Fields of Config that users do not set."""
TRAFFIC = "traffic"
"""The only section of both key sets; all of its keys but two of NFVbench's are nodrop's."""


class Leaf(NamedTuple):
    """A key that has a value."""

    key: Key
    field: FieldInfo


def find_section(root: type[BaseModel], key: Key) -> type[BaseModel] | None:
    """Return the section of a path; None for a key with a value, or an unknown key."""
    if root is Config and key[:1] == GOALS and len(key) > 1:
        return GoalConfig if len(key) == 2 else None
    if root is Config and key[:2] == RANGES and len(key) > 2:
        return RangeConfig if len(key) == 3 else None
    section: type[BaseModel] = root
    parts = iter(key)
    for part in parts:
        field = list_user_fields(section).get(part)
        if field is not None and is_section(field):
            section = typing.cast("type[BaseModel]", field.annotation)
        elif field is not None and (item := _find_item_model(field)) and next(parts, None):
            section = item
        else:
            return None
    return section


def _find_item_model(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a list's items; None if items have no keys."""
    of = typing.get_args(field.annotation)
    is_list = typing.get_origin(field.annotation) is tuple and of[1:] == (...,)
    return of[0] if is_list and isinstance(of[0], type) and issubclass(of[0], BaseModel) else None


def list_user_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields that users set, by key."""
    return {
        field.alias or name: field
        for name, field in model.model_fields.items()
        if not (model is Config and name in INTERNAL)
    }


def is_section(field: FieldInfo) -> bool:
    """Return whether a field has keys below it."""
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def find_field(root: type[BaseModel], key: Key) -> FieldInfo | None:
    """Return the field of a key; None for an unknown key."""
    parent = find_section(root, key[:-1])
    return list_user_fields(parent).get(key[-1]) if parent and key else None


def iter_leaves(root: type[BaseModel], above: Key = ()) -> Iterator[Leaf]:
    """Yield every key that has a value, in the order of the schema."""
    for name, field in list_user_fields(root).items():
        if is_section(field):
            yield from iter_leaves(typing.cast("type[BaseModel]", field.annotation), (*above, name))
        else:
            yield Leaf((*above, name), field)


SHARED = frozenset(list_user_fields(Config)) & frozenset(list_user_fields(NfvbenchConfig)) - {TRAFFIC}
"""Top-level keys that have the same meaning in both key sets."""


def is_nfvbench_key(key: Key) -> bool:
    """Return whether only NFVbench has a key."""
    if key[0] == TRAFFIC:
        traffic = typing.cast("type[BaseModel]", find_section(NfvbenchConfig, (TRAFFIC,)))
        return len(key) > 1 and key[1] in list_user_fields(traffic)
    return key[0] not in SHARED and key[0] in list_user_fields(NfvbenchConfig)


def suggest_key(key: Key) -> str:
    """Return advice for an unknown key: its successor if NFVbench removed it, the most similar key, or the keys of its
    section.
    """
    removed = (REMOVED_KEYS.get(".".join(key[:depth])) for depth in range(1, len(key) + 1))
    if advice := next(filter(None, removed), None):
        return advice
    above = key[:-1]
    names = [
        name
        for root in (Config, NfvbenchConfig)
        if (section := find_section(root, above))
        for name in list_user_fields(section)
    ]
    prefix = ".".join(above) + "." if above else ""
    by_lower = {name.lower(): name for name in names}
    lower = key[-1].lower()
    similar = difflib.get_close_matches(lower, by_lower, n=3, cutoff=0.65)
    prefixed = [name for name in similar if name.startswith(lower) or lower.startswith(name)]
    if similar:
        return f"did you mean {prefix}{by_lower[(prefixed or similar)[0]]}?"
    if not above:
        return "run `nodrop config default` to list all keys"
    return f"valid keys: {', '.join(prefix + name for name in names)}"


def accepts_bool(annotation: Any) -> bool:
    """Return whether a field of this type may be true or false."""
    if annotation is Any or annotation is bool or annotation is object:
        return True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True  # its own fields are checked one by one
    if typing.get_origin(annotation) is typing.Literal:
        return any(isinstance(each, bool) for each in typing.get_args(annotation))
    if isinstance(annotation, types.GenericAlias | types.UnionType) or typing.get_args(annotation):
        return any(accepts_bool(each) for each in typing.get_args(annotation))
    return False
