"""Messages to a lab's holder on its standard input, and from it on its standard output, one per line."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from nodrop.model.base import Value
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.model.trial_event import InstanceAction

STAY = b"stay\n"
"""Second and last line to a persistent lab's holder, once the lab is recorded; without it the lab ends."""


class LabRequest(Value):
    """The first line that the holder reads on its standard input."""

    name: str
    plan: LabPlan


class InstanceChange(Value):
    """A change of an instance of a pool."""

    at_ns: int
    """When to begin it, in nanoseconds since the epoch."""
    action: InstanceAction | Literal["scale-out", "scale-in"]
    instance: int

    @property
    def name(self) -> str:
        """Its name: `kill 0`."""
        return f"{self.action} {self.instance}"


class ChangeRequest(Value):
    """A later line to the holder of a pool: carry out these changes, in order of their times, instead of those whose
    time has not come. It replies InstanceChanges."""

    changes: tuple[InstanceChange, ...]
    begin_ns: int | None = None
    """Begin of a trial, in nanoseconds since the epoch: the pool has its first instances, and scales out by its rule
    until the next request. None: no trial."""


class LabUp(Value):
    """The lab is up; sent once."""

    event: Literal["up"] = "up"
    facts: StageFacts


class LabFailed(Value):
    """The lab could not be brought up, and the holder is about to exit."""

    event: Literal["failed"] = "failed"
    message: str


class SutExited(Value):
    """A process of the SUT ended while the lab was up."""

    event: Literal["sut_exited"] = "sut_exited"
    message: str
    """How the process ended."""


class InstanceChanged(Value):
    """An instance was changed, or could not be. Times in nanoseconds since the epoch."""

    change: InstanceChange
    begin_ns: int
    end_ns: int
    problem: str = ""
    """Why it could not be changed; the changes after it were left out."""


class InstanceChanges(Value):
    """The changes carried out since the last request."""

    event: Literal["instance_changes"] = "instance_changes"
    changes: tuple[InstanceChanged, ...]


Message = LabUp | LabFailed | SutExited | InstanceChanges

_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="event")])


def parse_message(line: str) -> Message:
    """Parse a line of the holder's. Raises pydantic.ValidationError."""
    return _ADAPTER.validate_json(line)
