"""Server-sent events (HTML Living Standard, section 9.2)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = ": nothing new\n\n"
"""A comment that keeps proxies from closing an idle connection."""


EVENT_SCHEMA = {
    "type": "object",
    "description": "An event.",
    "properties": {
        "id": {"type": "string", "description": "Number of the event, from 1."},
        "event": {"type": "string", "description": "Name of the event; docs/reference/rest.md lists the names."},
        "data": {"type": "string", "description": "Content of the event as JSON."},
    },
    "required": ["id", "event", "data"],
}


class StreamEvent(NamedTuple):
    """A received event."""

    number: int
    name: str
    content: Any


def format_event(numbered_line: tuple[int, bytes] | None) -> str:
    """Encode an event of the journal; None: a keep-alive comment."""
    if numbered_line is None:
        return KEEP_ALIVE
    number, line = numbered_line
    event = json.loads(line)
    return f"id: {number}\nevent: {event['event']}\ndata: {json.dumps(event['data'])}\n\n"


def parse_events(lines: Iterable[str]) -> Iterator[StreamEvent]:
    """Parse the events in the lines of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        text = line.rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield StreamEvent(int(fields.get("id", 0)), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}
