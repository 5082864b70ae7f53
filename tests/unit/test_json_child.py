"""A child process whose end is awaited, also after a Ctrl-C at any instruction."""

import gc
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.waiting import stretch

from nodrop.system.json_child import JsonChild

ECHO = ("cat",)
FAILING = (sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(3)")
INSTRUCTIONS_MAX = 2000


class InstructionTrace:
    """Raises KeyboardInterrupt before the n-th instruction of the functions that are called."""

    def __init__(self, number: int) -> None:
        self.remaining_count = number

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.remaining_count -= 1
            if self.remaining_count == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def poll_until_interrupted(child: JsonChild, number: int) -> bool:
    """Poll with an interrupt before an instruction; return whether the poll has so many."""
    gc.disable()  # An exception in a callback of the collector is ignored.
    sys.settrace(InstructionTrace(number))
    try:
        child.poll()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        gc.enable()
    return False


def end_in_time(child: JsonChild) -> None:
    """End a child in a thread, so that a wait without end fails the test."""
    thread = threading.Thread(target=child.end, args=(10.0,), daemon=True)
    thread.start()
    thread.join(stretch(20))
    assert not thread.is_alive(), "end() waits forever"


def test_an_interrupt_at_any_instruction_of_a_poll_lets_the_child_be_ended() -> None:
    child = JsonChild(ECHO)
    number = 1
    while poll_until_interrupted(child, number):
        number += 1
        assert number < INSTRUCTIONS_MAX
    assert number > 10
    end_in_time(child)
    assert child.poll() == 0


def test_the_status_of_an_ended_child_is_known_before_and_after_its_end() -> None:
    child = JsonChild(FAILING)
    assert child.poll() is None
    assert child.describe_end(0) == f"(process {child.pid}) closed its output but still runs"
    child._stdin.close()
    assert child.describe_end(30) == f"(process {child.pid}) exited with status 3"
    assert child.poll() == 3
    child.end(1)
    assert child.poll() == 3


def test_a_child_that_does_not_end_is_killed() -> None:
    child = JsonChild((sys.executable, "-c", "import time; time.sleep(600)"))
    child.end(0.2)
    assert child.poll() == -9
    assert child.describe_end(0) == f"(process {child.pid}) was killed by SIGKILL"
