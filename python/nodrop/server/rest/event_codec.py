"""Events as JSON: from the worker to the server, and from there to clients."""

from typing import Any

from nodrop.formatting.messages import AS_SENTENCES
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
from nodrop.server.rest.event_names import RUN_DONE

KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (RunStarted, StageProgress, StageUp, PathChecked, TrialStarted, TrialProgress, TrialDone, SuiteDone)
}
"""Events by name; a file of events uses the same names."""
NO_WINDOWS = Windows(end_s=(), offered_count=(), received_count=())


def encode(event: Event) -> tuple[str, dict[str, Any]]:
    """Return name and content of an event, without the time series of trials, which are in the result."""
    if isinstance(event, RunDone):
        result = event.result
        return RUN_DONE, {"run_id": result.run_id, "status": result.status, "error": result.error}
    if isinstance(event, TrialDone):
        event = event.replace(result=event.result.replace(windows=NO_WINDOWS))
    return type(event).__name__, event.model_dump(mode="json", context=AS_SENTENCES)


def decode(name: str, content: Any) -> Event | None:
    """Return the event of a run; None for an event of the server. Raises ValueError for another release."""
    kind = KINDS.get(name)
    return kind.model_validate(content) if kind else None
