"""Server-sent events, as browsers and `curl -N` take them (HTML Living Standard, section 9.2)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = ": nothing new\n\n"
"""A comment, so that nobody in between takes the connection for dead."""


TOLD_SCHEMA = {
    "type": "object",
    "description": "An event.",
    "properties": {
        "id": {"type": "string", "description": "Its number, from 1."},
        "event": {"type": "string", "description": "What happened: docs/reference/rest.md has the names."},
        "data": {"type": "string", "description": "What there is to know of it, as JSON."},
    },
    "required": ["id", "event", "data"],
}


class Told(NamedTuple):
    """An event as it was heard."""

    number: int
    name: str
    content: Any


def event_text(numbered_line: tuple[int, bytes] | None) -> str:
    """An event of the journal, or of its absence, as it is sent."""
    if numbered_line is None:
        return KEEP_ALIVE
    number, line = numbered_line
    told = json.loads(line)
    return f"id: {number}\nevent: {told['event']}\ndata: {json.dumps(told['data'])}\n\n"


def events_of(lines: Iterable[str]) -> Iterator[Told]:
    """Events out of the lines of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        text = line.rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield Told(int(fields.get("id", 0)), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}
