"""Messages to a lab's holder on its standard input, and from it on its standard output, one per line."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from nodrop.model.base import Value
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan

STAY = b"stay\n"
"""Second and last line to a persistent lab's holder, once the lab is recorded; without it the lab ends."""


class LabRequest(Value):
    """The first line that the holder reads on its standard input."""

    name: str
    plan: LabPlan


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


Message = LabUp | LabFailed | SutExited

_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="event")])


def parse_message(line: str) -> Message:
    """Parse a line of the holder's. Raises pydantic.ValidationError."""
    return _ADAPTER.validate_json(line)
