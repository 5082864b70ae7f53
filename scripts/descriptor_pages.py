"""The tables of descriptor keys in docs/reference, generated from the models (`scripts/schema`)."""

import types
import typing
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import Feature, Observation
from nodrop.model.vmd import VmDescriptor

TYPE_NAMES = {str: "text", int: "integer", float: "number", bool: "true or false"}


def tables() -> dict[str, str]:
    """Return the tables by the name of their comment in a page."""
    return {"chd": "\n".join(_tables(HostDescriptor)), "vmd": "\n".join(_tables(VmDescriptor))}


def _tables(root: type[BaseModel]) -> Iterator[str]:
    """Yield a table for a model, then one for each model in it, each once."""
    for path, model in _models(root):
        heading = f"`{path}`" if path else "Top level"
        yield f"### {heading}\n\n{_about(model)}\n\n| key | type | meaning |\n|---|---|---|"
        for name, field in model.model_fields.items():
            cells = (f"`{name}`", _kind(field.annotation), _meaning(field))
            yield f"| {' | '.join(cells)} |"
        yield ""


def _models(root: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield models with the path of their first occurrence, in the order of a file."""
    seen: set[type[BaseModel]] = set()
    pending: list[tuple[str, type[BaseModel]]] = [("", root)]
    while pending:
        path, model = pending.pop(0)
        if model in seen:
            continue
        seen.add(model)
        yield path, model
        inner = [
            (f"{path}.{name}".lstrip(".") + ("[]" if _is_list(field.annotation) else ""), each)
            for name, field in model.model_fields.items()
            for each in _inside(field.annotation)
        ]
        pending = [*inner, *pending]


def _inside(kind: object) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not issubclass(kind, (Observation, Feature)):
            yield kind
        return
    for each in typing.get_args(kind):
        yield from _inside(each)


def _is_list(kind: object) -> bool:
    return typing.get_origin(kind) in (tuple, dict)


def _kind(kind: typing.Any) -> str:
    """Return the type of a value in words; for an observation, of the observed value."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _kind_of_model(kind)
    if kind in TYPE_NAMES:
        return TYPE_NAMES[kind]
    inner = [each for each in typing.get_args(kind) if each is not Ellipsis]
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{each}`" for each in inner)
    if typing.get_origin(kind) is dict:
        return f"by name: {_kind(inner[1])}"
    if typing.get_origin(kind) is tuple:
        return f"list: {_kind(inner[0])}"
    return " or ".join("null" if each is types.NoneType else _kind(each) for each in inner)


def _kind_of_model(kind: type[BaseModel]) -> str:
    if issubclass(kind, Feature):
        return "supported, enabled"
    if issubclass(kind, Observation):
        return f"{_kind(kind.__pydantic_generic_metadata__['args'][0])}, observed"
    return "keys, see below"


def _about(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _meaning(field: FieldInfo) -> str:
    return " ".join((field.description or "").split())
