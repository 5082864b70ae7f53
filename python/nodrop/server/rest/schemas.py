"""Values of /api/v1 and of the journal."""

from enum import StrEnum
from typing import Any

from nodrop.model.base import Value


class LifecycleState(StrEnum):
    """State of a run of the server."""

    QUEUED = "queued"
    """Waiting for the runs ahead."""
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Cancelled by a client."""
    INTERRUPTED = "interrupted"
    """The server ended during the run."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self not in (LifecycleState.QUEUED, LifecycleState.RUNNING)


class RunEntry(Value):
    """A run in the journal."""

    id: str
    """32 hexadecimal digits."""
    state: LifecycleState
    asked: dict[str, Any]
    """The request body."""
    created_at: str
    """UTC, ISO 8601, like the other times."""
    started_at: str | None = None
    ended_at: str | None = None
    exit_code: int | None = None
    """Exit code of `nodrop run`; null until the end."""
    error: str | None = None
    """Reason for a failure or an early end."""
    run_ids: tuple[str, ...] = ()
    """Results in the results directory, one per started run of the suite."""
    fetched: bool = False
    """Whether NFVbench's /status has reported the end."""


class RunWait(Value):
    """The run that another run waits for: the running one of the queue, or one of another process on this machine."""

    run_id: str | None
    """Id of its result; null if it has not begun, or another user started it outside this server."""
    user: str | None
    """User of the process; null if it is not visible."""
    process_id: int | None
    since: str | None
    """Its start, UTC, ISO 8601."""
    resource: str | None
    """The resource that both runs need, `CPU 0`, `port eth1`; null in the queue."""
    remaining_s: float | None = None
    """Expected time to its end; null without an estimate."""


class RunView(Value):
    """A run in /api/v1."""

    id: str
    """32 hexadecimal digits."""
    state: LifecycleState
    """State of the run."""
    place: int | None
    """Position in the queue, 1 is next; null unless queued."""
    asked: dict[str, Any]
    """The request body."""
    created_at: str
    """UTC, ISO 8601."""
    started_at: str | None
    """Null until the start."""
    ended_at: str | None
    """Null until the end."""
    exit_code: int | None
    """Exit code of `nodrop run`; null until the end."""
    error: str | None
    """Reason for a failure or an early end."""
    run_ids: tuple[str, ...]
    """Results, one per started run of the suite."""
    waiting: RunWait | None = None
    """The run that this one waits for; null if it does not wait."""

    @property
    def is_waiting(self) -> bool:
        """Whether the run has its turn in the queue and waits for another process."""
        return self.state is LifecycleState.RUNNING and self.waiting is not None


class RunList(Value):
    """A page of runs, newest first."""

    runs: tuple[RunView, ...]
    next: str | None
    """`before` of the next page; null at the end."""
    total_count: int
    """Number of all runs."""


class Health(Value):
    """Health of the server."""

    status: str = "ok"
    version: str
    """nodrop's version."""
    running: str | None
    """Id of the running run."""
    queued_count: int
    """Number of waiting runs."""


def make_run_view(entry: RunEntry, place: int | None, waiting: RunWait | None = None) -> RunView:
    """Return a run with its position in the queue and the run that it waits for."""
    return RunView(**entry.model_dump(exclude={"fetched"}), place=place, waiting=waiting)
