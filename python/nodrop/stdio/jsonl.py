"""Messages from and to the other side: one JSON object a line."""

import json
from typing import Any, TextIO

from pydantic_core import to_jsonable_python

from nodrop.errors import ConfigError, GeneratorError
from nodrop.formatting.messages import AS_SENTENCES

QUOTED_CHARS_MAX = 120
"""So much of a line is quoted where it cannot be used."""
Message = dict[str, Any]


class JsonLines:
    """Both ends of the conversation; every line sent is flushed at once."""

    def __init__(self, received: TextIO, sent: TextIO) -> None:
        self._received = received
        self._sent = sent

    def send(self, message: Message) -> None:
        """Say something; its first key tells what it is. Raises GeneratorError when nobody listens any more."""
        plain = to_jsonable_python(message, inf_nan_mode="null", context=AS_SENTENCES)
        try:
            self._sent.write(json.dumps(plain) + "\n")
            self._sent.flush()
        except BrokenPipeError:
            raise GeneratorError(
                f"a reader for {json.dumps(plain)[:QUOTED_CHARS_MAX]} asked, the output is closed; "
                "read until there is a result or failed"
            ) from None

    def receive(self, *wanted: str) -> tuple[str, Any]:
        """The next message that is one of those wanted: its kind and what it says.

        Raises: ConfigError for anything else, GeneratorError at the end of the input.
        """
        expected = " or ".join(json.dumps({kind: "..."}).replace('"..."', "{...}") for kind in wanted)
        line = self._next_line()
        if line is None:
            raise GeneratorError(f"{expected} asked, the input ended; there is no result without it")
        message = _parse(line)
        for kind in wanted:
            if isinstance(message, dict) and kind in message:
                return kind, message[kind]
        raise ConfigError(f"{expected} asked, found {_quoted(line)}; write it as one line of JSON")

    def _next_line(self) -> str | None:
        """The next line with something on it."""
        for line in self._received:
            if line.strip():
                return line.strip()
        return None


def _parse(line: str) -> Any:
    """None when it is not JSON."""
    try:
        return json.loads(line, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _quoted(line: str) -> str:
    return line if len(line) <= QUOTED_CHARS_MAX else f"{line[:QUOTED_CHARS_MAX]}..."
