"""States of the threads of a process, from /proc."""

import os
import subprocess
import sys

from tests.waiting import await_true

from nodrop.system.thread_states import describe_threads, read_cpu_waits_s, read_thread_states


def test_a_sleeping_process_is_described_by_its_place_in_the_kernel() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        await_true(lambda: "nanosleep" in describe_threads(sleeper.pid), "it sleeps")
        assert describe_threads(sleeper.pid).startswith("S ")
        assert read_thread_states(sleeper.pid) == "S"
    finally:
        sleeper.kill()
        sleeper.wait()
    assert (read_thread_states(sleeper.pid), describe_threads(sleeper.pid), read_cpu_waits_s(sleeper.pid)) == (
        "",
        "",
        0,
    )


def test_this_process_has_waited_for_a_cpu() -> None:
    before_s = read_cpu_waits_s(os.getpid())
    assert read_cpu_waits_s(os.getpid()) >= before_s >= 0
