"""Which keys there are: nodrop's own and NFVbench's, by their paths."""

import difflib
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config, GoalConfig
from nodrop.config.traffic import RangeConfig
from nodrop.system.yaml_reader import Key

GOALS, RANGES = ("goals",), ("traffic", "ranges")
INTERNAL = frozenset({"nfvbench"})
"""Fields of Config that no user writes."""
TRAFFIC = "traffic"
"""The one section that both have; apart from NFVbench's two keys it is nodrop's."""


class Leaf(NamedTuple):
    """A key that has a value."""

    key: Key
    field: FieldInfo


def find_section(root: type[BaseModel], key: Key) -> type[BaseModel] | None:
    """The section of that path; None when it is a plain key, or there is no such key."""
    if root is Config and key[:1] == GOALS and len(key) > 1:
        return GoalConfig if len(key) == 2 else None
    if root is Config and key[:2] == RANGES and len(key) > 2:
        return RangeConfig if len(key) == 3 else None
    found: type[BaseModel] = root
    parts = iter(key)
    for part in parts:
        field = user_fields(found).get(part)
        if field is not None and is_section(field):
            found = typing.cast("type[BaseModel]", field.annotation)
        elif field is not None and (listed := _listed(field)) and next(parts, None):
            found = listed
        else:
            return None
    return found


def _listed(field: FieldInfo) -> type[BaseModel] | None:
    """What a list is of, where that has keys."""
    of = typing.get_args(field.annotation)
    is_list = typing.get_origin(field.annotation) is tuple and of[1:] == (...,)
    return of[0] if is_list and isinstance(of[0], type) and issubclass(of[0], BaseModel) else None


def user_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields by the name a user writes."""
    return {
        field.alias or name: field
        for name, field in model.model_fields.items()
        if not (model is Config and name in INTERNAL)
    }


def is_section(field: FieldInfo) -> bool:
    """Whether a field has keys below it."""
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def find_field(root: type[BaseModel], key: Key) -> FieldInfo | None:
    """The field of a key; None where there is none."""
    above = find_section(root, key[:-1])
    return user_fields(above).get(key[-1]) if above and key else None


def iter_leaves(root: type[BaseModel], above: Key = ()) -> Iterator[Leaf]:
    """Every key that has a value, in the order of the schema."""
    for name, field in user_fields(root).items():
        if is_section(field):
            yield from iter_leaves(typing.cast("type[BaseModel]", field.annotation), (*above, name))
        else:
            yield Leaf((*above, name), field)


SHARED = frozenset(user_fields(Config)) & frozenset(user_fields(NfvbenchConfig)) - {TRAFFIC}
"""Top-level keys that both have and mean the same by."""


def is_nfvbench_key(key: Key) -> bool:
    """Whether a key is NFVbench's alone."""
    if key[0] == TRAFFIC:
        return len(key) > 1 and key[1] in user_fields(
            typing.cast("type[BaseModel]", find_section(NfvbenchConfig, (TRAFFIC,)))
        )
    return key[0] not in SHARED and key[0] in user_fields(NfvbenchConfig)


def suggest_key(key: Key) -> str:
    """What to write instead of a key that there is not."""
    above = key[:-1]
    known = [
        name for root in (Config, NfvbenchConfig) if (room := find_section(root, above)) for name in user_fields(room)
    ]
    prefix = ".".join(above) + "." if above else ""
    lower = {name.lower(): name for name in known}
    asked = key[-1].lower()
    near = difflib.get_close_matches(asked, lower, n=3, cutoff=0.5)
    begun = [name for name in near if name.startswith(asked) or asked.startswith(name)]
    if near:
        return f"write {prefix}{lower[(begun or near)[0]]}"
    if not above:
        return "`nodrop config default` shows all there are"
    return f"known keys are {', '.join(prefix + name for name in known)}"


def accepts_bool(annotation: Any) -> bool:
    """Whether a field may be true or false."""
    if annotation is Any or annotation is bool or annotation is object:
        return True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True  # Each of its own fields says so.
    if typing.get_origin(annotation) is typing.Literal:
        return any(isinstance(each, bool) for each in typing.get_args(annotation))
    if isinstance(annotation, types.GenericAlias | types.UnionType) or typing.get_args(annotation):
        return any(accepts_bool(each) for each in typing.get_args(annotation))
    return False
