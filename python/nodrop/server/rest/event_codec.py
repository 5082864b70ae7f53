"""Events as lines of JSON: from the worker to the server, and from there to whoever follows a run."""

from typing import Any

from nodrop.model.event import (
    Event,
    PathChecked,
    RunDone,
    RunStarted,
    StageProgress,
    StageUp,
    SuiteDone,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from nodrop.model.trial import Windows

KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (RunStarted, StageProgress, StageUp, PathChecked, TrialStarted, TrialProgress, TrialDone, SuiteDone)
}
"""Events by the names they have in a file of events, too."""
RUN_DONE = "RunDone"
"""A result is stored: {run_id, status, error}. The result itself is fetched, not sent along."""
NOTE = "Note"
"""What whoever follows the run should know: {text}."""
STATE = "State"
"""How far the run is, told by the server: a RunView."""
WORKER_DONE = "WorkerDone"
"""The worker's last word, for the server alone: {exit_code, error}."""
NO_WINDOWS = Windows(end_s=(), offered_count=(), received_count=())


def encode(event: Event) -> tuple[str, dict[str, Any]]:
    """Name and content of an event. Time series of trials are left out: the result has them."""
    if isinstance(event, RunDone):
        result = event.result
        return RUN_DONE, {"run_id": result.run_id, "status": result.status, "error": result.error}
    if isinstance(event, TrialDone):
        event = event.model_copy(update={"result": event.result.model_copy(update={"windows": NO_WINDOWS})})
    return type(event).__name__, event.model_dump(mode="json")


def decode(name: str, content: Any) -> Event | None:
    """The event of a run, or None for what only the server says. Raises ValueError when it is of another release."""
    kind = KINDS.get(name)
    return kind.model_validate(content) if kind else None
