"""What cannot be used of a descriptor, and what was made of what is doubtful: sentences with file, line, key, value."""

import difflib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nodrop.errors import ConfigError
from nodrop.model.validation_message import describe_problem
from nodrop.system.yaml_reader import Key, ParsedFile

MESSAGES_MAX = 8
"""Of hundreds of complaints about one file nobody reads more."""
COUNTED_MAX = 10_000
"""So many wrong values are not even looked at."""
Model = TypeVar("Model", bound=BaseModel)


class Remark(NamedTuple):
    """Something that was not clear, and what was made of it."""

    text: str
    line: int | None = None

    def __str__(self) -> str:
        """As a sentence for people."""
        return f"line {self.line}: {self.text}" if self.line else self.text


class Complaint(NamedTuple):
    """Something that cannot be."""

    key: Key
    text: str
    """What was requested, found, and can be done: without file, line and key."""


def format_place(document: ParsedFile, key: Key) -> str:
    """File, line and key of a value."""
    line = document.find_line(key)
    parts = (document.name, f"line {line}" if line else "", ".".join(key))
    return ": ".join(part for part in parts if part)


def refuse(document: ParsedFile, complaints: Iterable[Complaint]) -> None:
    """Raise ConfigError with a sentence for each complaint, where there is one."""
    messages = [f"{format_place(document, each.key)}: {each.text}" for each in complaints]
    if messages:
        more = [f"and {len(messages) - MESSAGES_MAX} more like these"] if len(messages) > MESSAGES_MAX else []
        raise ConfigError("\n".join([*messages[:MESSAGES_MAX], *more]))


def validate_document(model: type[Model], document: ParsedFile) -> Model:
    """Return a document as a model value. Raises ConfigError with a message for every invalid key."""
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        if error.error_count() > COUNTED_MAX:
            raise ConfigError(
                f"{document.name}: {error.error_count()} values cannot be used; it is another file"
            ) from None
        refuse(document, _list_complaints(error, model))
        raise  # there is always one complaint


def _list_complaints(error: ValidationError, model: type[BaseModel]) -> Iterator[Complaint]:
    details = {tuple(str(part) for part in each["loc"] if part != "[key]"): each for each in error.errors()}
    for key, detail in details.items():
        follows = detail["type"] == "too_short" and any(each[: len(key)] == key for each in details if each != key)
        if not follows:  # a list lacks what could not be used
            yield Complaint(key, _describe(detail, key, model))


def _describe(detail: ErrorDetails, key: Key, model: type[BaseModel]) -> str:
    if detail["type"] != "extra_forbidden":
        return describe_problem(detail)
    similar = difflib.get_close_matches(key[-1], _list_keys(model), n=1, cutoff=0.6)
    return describe_problem(detail, f"did you mean {similar[0]}?" if similar else "remove it")


def _list_keys(model: type[BaseModel]) -> list[str]:
    """Every key of a model and of those in it."""
    return sorted({name for each in model.model_json_schema().get("$defs", {}).values() for name in each["properties"]})
