"""What is said to a lab's holder process on its standard input, and by it on its standard output, line by line."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from nodrop.model.base import Value
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan

STAY = b"stay\n"
"""Second and last line to a standing lab's holder, once the lab is on record; without it the lab ends again."""


class LabRequest(Value):
    """What the holder reads first, as one line on its standard input."""

    name: str
    plan: LabPlan


class LabUp(Value):
    """The lab stands; sent once."""

    event: Literal["up"] = "up"
    facts: StageFacts


class LabFailed(Value):
    """The lab could not be brought up, and the holder is about to exit."""

    event: Literal["failed"] = "failed"
    message: str


class SutExited(Value):
    """The SUT's process ended while the lab stood."""

    event: Literal["sut_exited"] = "sut_exited"
    message: str
    """How it ended and what it last said."""


Message = LabUp | LabFailed | SutExited

_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="event")])


def parse_message(line: str) -> Message:
    """One line of the holder's. Raises pydantic.ValidationError when it is none."""
    return _ADAPTER.validate_json(line)
