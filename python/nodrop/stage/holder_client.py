"""Start of a lab's holder process."""

import contextlib
import sys
from typing import IO

from pydantic import ValidationError

from nodrop.errors import StageError
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.holder_protocol import LabFailed, LabRequest, LabUp, SutExited, parse_message
from nodrop.system.json_child import JsonChild, log_tail

LabLog = IO[bytes]
"""Log of the lab's processes, written on errors; readable from the start."""

HOLDER = ("-P", "-m", "nodrop.stage.holder")
"""Python's arguments that start a holder; -P keeps files of the working directory from being imported."""
STANDING = "--standing"
"""Option of a holder whose lab outlives the command that brings it up."""
UP_TIMEOUT_S = 60.0
LOG_LINES = 10
"""Lines of the log that are part of an error message."""


def start_holder(options: list[str], request: LabRequest, log: LabLog) -> JsonChild:
    """Start a holder process and send it its request."""
    holder = JsonChild([sys.executable, *HOLDER, *options], log)
    with contextlib.suppress(BrokenPipeError):  # it has ended already: await_up reports why
        holder.send(request.model_dump_json().encode() + b"\n")
    return holder


def await_up(holder: JsonChild, plan: LabPlan, log: LabLog) -> LabUp:
    """Return the holder's first message. Raises StageError if the lab is not up."""
    problem = f"lab with SUT {plan.sut} did not come up"
    line = holder.read_line(UP_TIMEOUT_S)
    if line is None:
        reason = (
            "its process ended without a reply" if holder.has_closed_output else f"no reply within {UP_TIMEOUT_S:g} s"
        )
        raise StageError(f"{problem}: {reason}{log_tail(log, LOG_LINES)}")
    try:
        answer = parse_message(line)
    except ValidationError:
        raise StageError(f"{problem}: its process wrote {line!r}{log_tail(log, LOG_LINES)}") from None
    if isinstance(answer, LabFailed):
        raise StageError(f"{answer.message}{log_tail(log, LOG_LINES)}")
    if isinstance(answer, SutExited):
        raise StageError(f"{problem}: {answer.message}{log_tail(log, LOG_LINES)}")
    assert isinstance(answer, LabUp)
    return answer
