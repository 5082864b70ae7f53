"""Messages from and to the client: one JSON object per line."""

import json
from typing import Any, TextIO

from pydantic_core import to_jsonable_python

from nodrop.errors import ConfigError, GeneratorError
from nodrop.formatting.messages import AS_SENTENCES

QUOTED_CHARS_MAX = 120
"""Characters of a rejected line that a message quotes."""
Message = dict[str, Any]


class MessageStream:
    """Both directions of the dialogue; every line sent is flushed."""

    def __init__(self, source: TextIO, sink: TextIO) -> None:
        self._source = source
        self._sink = sink

    def send(self, message: Message) -> None:
        """Send a message, whose first key is its kind. Raises GeneratorError if the output is closed."""
        plain = to_jsonable_python(message, inf_nan_mode="null", context=AS_SENTENCES)
        try:
            self._sink.write(json.dumps(plain) + "\n")
            self._sink.flush()
        except BrokenPipeError:
            raise GeneratorError(
                f"the output is closed, cannot send {json.dumps(plain)[:QUOTED_CHARS_MAX]}; "
                "read until 'result' or 'failed'"
            ) from None

    def receive(self, *kinds: str) -> tuple[str, Any]:
        """Return kind and content of the next message.

        Raises: ConfigError for a message of any other kind, GeneratorError at the end of the input.
        """
        expected = " or ".join(json.dumps({kind: "..."}).replace('"..."', "{...}") for kind in kinds)
        line = self._next_line()
        if line is None:
            raise GeneratorError(f"the input ended, expected {expected}; send it to get a result")
        message = _parse(line)
        for kind in kinds:
            if isinstance(message, dict) and kind in message:
                return kind, message[kind]
        raise ConfigError(f"unexpected message {_quote_line(line)}, expected {expected}; send it as one line of JSON")

    def _next_line(self) -> str | None:
        """Return the next line that is not blank."""
        for line in self._source:
            if line.strip():
                return line.strip()
        return None


def _parse(line: str) -> Any:
    """Return the value of a line; None if it is not JSON."""
    try:
        return json.loads(line, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _quote_line(line: str) -> str:
    return line if len(line) <= QUOTED_CHARS_MAX else f"{line[:QUOTED_CHARS_MAX]}..."
