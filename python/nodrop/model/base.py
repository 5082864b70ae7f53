"""The base class of all model values."""

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that rejects unknown fields; equality is by content.

    The string below a field is its description.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed; they are not validated."""
        return self.model_copy(update=changes)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Set the fields' descriptions.

        pydantic's `use_attribute_docstrings` searches the source again for each class: half of the time of an import.
        """
        super().__pydantic_init_subclass__(**kwargs)
        for name, text in _read_field_docs(cls.__module__).get(cls.__qualname__, {}).items():
            field = cls.model_fields.get(name)
            if field is not None and field.description is None:
                field.description = text


@functools.cache
def _read_field_docs(module: str) -> dict[str, dict[str, str]]:
    """Return the strings below the fields of a module's classes, by qualified name; none without its source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}
    return dict(_iter_field_docs(ast.parse(source), ""))


def _iter_field_docs(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for statement in scope.body:
        if isinstance(statement, ast.ClassDef):
            name = prefix + statement.name
            yield name, dict(_iter_docs(statement))
            yield from _iter_field_docs(statement, f"{name}.")


def _iter_docs(scope: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(scope.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
