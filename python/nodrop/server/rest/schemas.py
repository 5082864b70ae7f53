"""What the server knows of a run: nouns of /api/v1 and of the journal."""

from enum import StrEnum
from typing import Any

from nodrop.model.base import Value


class State(StrEnum):
    """How far a run is, or how it ended."""

    QUEUED = "queued"
    """It waits for those before it."""
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Somebody asked for its end."""
    INTERRUPTED = "interrupted"
    """The server ended, or was stopped, while it went on."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self not in (State.QUEUED, State.RUNNING)


class Entry(Value):
    """A run as the journal keeps it."""

    id: str
    """32 hexadecimal digits."""
    state: State
    asked: dict[str, Any]
    """The body that asked for it."""
    created_at: str
    """UTC, ISO 8601; so are the others."""
    started_at: str | None = None
    ended_at: str | None = None
    exit_code: int | None = None
    """What `nodrop run` would have ended with; null until it is over."""
    error: str | None = None
    """What stopped it, as a sentence."""
    run_ids: tuple[str, ...] = ()
    """Its results in the results directory, one for each frame size that was begun."""
    fetched: bool = False
    """Whether NFVbench's /status has told its end."""


class RunView(Value):
    """A run as /api/v1 shows it."""

    id: str
    """32 hexadecimal digits."""
    state: State
    """How far it is, or how it ended."""
    place: int | None
    """Its place in the queue, 1 is next; null unless it is queued."""
    asked: dict[str, Any]
    """The body that asked for it."""
    created_at: str
    """UTC, ISO 8601."""
    started_at: str | None
    """Null until it begins."""
    ended_at: str | None
    """Null until it is over."""
    exit_code: int | None
    """What `nodrop run` would have ended with; null until it is over."""
    error: str | None
    """What stopped it."""
    run_ids: tuple[str, ...]
    """Its results, one for each frame size that was begun."""


class RunList(Value):
    """Some of the runs, newest first."""

    runs: tuple[RunView, ...]
    next: str | None
    """What to give as `before` for those that follow; null at the end."""
    total_count: int
    """All there are."""


class Health(Value):
    """Whether the server does its work."""

    status: str = "ok"
    version: str
    """nodrop's."""
    running: str | None
    """The run that goes on."""
    queued_count: int
    """Those that wait."""


def view(entry: Entry, place: int | None) -> RunView:
    """A run with its place in the queue."""
    kept = entry.model_dump(exclude={"fetched"})
    return RunView(**kept, place=place)
