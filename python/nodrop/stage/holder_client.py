"""Starting a lab's holder process and hearing whether its lab came up."""

import contextlib
import subprocess
import sys
from typing import IO

from pydantic import ValidationError

from nodrop.errors import StageError
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.holder_protocol import LabFailed, LabRequest, LabUp, parse_message
from nodrop.system.line_reader import LineReader

LabLog = IO[bytes]
"""Where the lab's processes write when something is wrong; readable from the start."""

HOLDER = ("-P", "-m", "nodrop.stage.holder")
"""How a holder is started, after the interpreter; -P keeps the files of the working directory from being imported."""
STANDING = "--standing"
"""Of a holder whose lab outlives the command that brings it up."""
UP_TIMEOUT_S = 60.0
LAST_WORDS = 10
"""Lines of the log that go into an error message."""


def start_holder(ends: list[str], request: LabRequest, log: LabLog) -> subprocess.Popen[bytes]:
    """A holder process that has its request and is about to answer.

    A session of its own keeps the terminal's Ctrl-C from it.
    """
    process = subprocess.Popen(
        [sys.executable, *HOLDER, *ends],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        bufsize=0,
        start_new_session=True,
    )
    assert process.stdin
    with contextlib.suppress(BrokenPipeError):  # it is dead already: await_up finds out why
        process.stdin.write(request.model_dump_json().encode() + b"\n")
    return process


def await_up(reader: LineReader, plan: LabPlan, log: LabLog) -> LabUp:
    """What the holder answers. Raises StageError when that is not a standing lab."""
    asked = f"lab with SUT {plan.sut} asked"
    line = reader.next_line(UP_TIMEOUT_S)
    if line is None:
        found = "its process ended without an answer" if reader.ended else f"no answer in {UP_TIMEOUT_S:g} s"
        raise StageError(f"{asked}, {found}{last_words(log)}")
    try:
        answer = parse_message(line)
    except ValidationError:
        raise StageError(f"{asked}, its process says {line!r}{last_words(log)}") from None
    if isinstance(answer, LabFailed):
        raise StageError(f"{answer.message}{last_words(log)}")
    if not isinstance(answer, LabUp):
        raise StageError(f"{asked}, {answer.message}{last_words(log)}")
    return answer


def last_words(log: LabLog) -> str:
    """The end of a log, as the end of an error message."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()[-LAST_WORDS:]
    return "; it said last:\n  " + "\n  ".join(lines) if lines else ""
