"""Messages as codes with parameters; `nodrop.formatting.messages` renders their sentences."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from nodrop.model.base import Value

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

Scalar = str | int | float | bool | None
TEXT = "text"
"""Parameter of a message that was stored, or made, as a sentence."""
RENDER = "render"
"""Key of the serialization context: a `Renderer` that writes sentences."""


def _add_text(schema: dict[str, Any]) -> None:
    schema["properties"][TEXT] = {
        "title": "Text",
        "type": "string",
        "description": "The sentence, for readers other than nodrop, which renders it from code and params.",
    }


class Message(Value):
    """A statement for people, as a code for programs and the values that its sentence contains."""

    model_config = ConfigDict(json_schema_extra=_add_text)
    code: str = ""
    """Empty without a statement, or for one that was stored as a sentence only."""
    params: dict[str, Scalar] = Field(default_factory=dict)
    """Values in base units."""

    @model_validator(mode="before")
    @classmethod
    def _accept_sentence(cls, value: object) -> object:
        """Accept a sentence, or a code with a sentence, as stored by results of schema version 1."""
        if isinstance(value, str):
            return {"params": {TEXT: value} if value else {}}
        if isinstance(value, Mapping) and TEXT in value:
            rest = {key: each for key, each in value.items() if key != TEXT}
            return {"params": {TEXT: value[TEXT]}} | rest
        return value

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
        render: Renderer | None = (info.context or {}).get(RENDER)
        if render:
            return render(self, handler(self))
        fields = handler(self)
        return replace_params(fields, str(self.params[TEXT])) if self.is_sentence else fields

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: GetJsonSchemaHandler) -> "JsonSchemaValue":
        """Describe the fields of stored results instead of the serializer, which may return anything."""
        return handler(cast("CoreSchema", {key: value for key, value in schema.items() if key != "serialization"}))

    @classmethod
    def of(cls, code: str, /, **params: Scalar) -> Self:
        """Return a message with these parameters, leaving out those that are None."""
        return cls(code=code, params={name: value for name, value in params.items() if value is not None})

    @property
    def is_sentence(self) -> bool:
        """Whether only the sentence is known."""
        return self.params.keys() == {TEXT}

    def __bool__(self) -> bool:
        return bool(self.code or self.params)

    def __hash__(self) -> int:
        return hash((self.code, tuple(self.params.items())))


def replace_params(fields: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the plain form of a message with its sentence instead of its parameters."""
    return {name: value for name, value in fields.items() if name != "params"} | {TEXT: text}


Renderer = Callable[[Message, dict[str, Any]], Any]
"""Returns what to write for a message, by the message and its plain form."""
