"""Starting a lab's holder process and hearing whether its lab came up."""

import contextlib
import sys
from typing import IO

from pydantic import ValidationError

from nodrop.errors import StageError
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.holder_protocol import LabFailed, LabRequest, LabUp, parse_message
from nodrop.system.json_child import JsonChild, log_tail

LabLog = IO[bytes]
"""Where the lab's processes write when something is wrong; readable from the start."""

HOLDER = ("-P", "-m", "nodrop.stage.holder")
"""How a holder is started, after the interpreter; -P keeps the files of the working directory from being imported."""
STANDING = "--standing"
"""Of a holder whose lab outlives the command that brings it up."""
UP_TIMEOUT_S = 60.0
LOG_LINES = 10
"""Lines of the log that go into an error message."""


def start_holder(options: list[str], request: LabRequest, log: LabLog) -> JsonChild:
    """Start a holder process and send it its request."""
    holder = JsonChild([sys.executable, *HOLDER, *options], log)
    with contextlib.suppress(BrokenPipeError):  # it has ended already: await_up reports why
        holder.send(request.model_dump_json().encode() + b"\n")
    return holder


def await_up(holder: JsonChild, plan: LabPlan, log: LabLog) -> LabUp:
    """Return the holder's first message. Raises StageError if the lab is not up."""
    asked = f"lab with SUT {plan.sut} asked"
    line = holder.next_line(UP_TIMEOUT_S)
    if line is None:
        found = (
            "its process ended without an answer" if holder.has_closed_output else f"no answer in {UP_TIMEOUT_S:g} s"
        )
        raise StageError(f"{asked}, {found}{log_tail(log, LOG_LINES)}")
    try:
        answer = parse_message(line)
    except ValidationError:
        raise StageError(f"{asked}, its process says {line!r}{log_tail(log, LOG_LINES)}") from None
    if isinstance(answer, LabFailed):
        raise StageError(f"{answer.message}{log_tail(log, LOG_LINES)}")
    if not isinstance(answer, LabUp):
        raise StageError(f"{asked}, {answer.message}{log_tail(log, LOG_LINES)}")
    return answer
