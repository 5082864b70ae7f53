"""Detection of other work on the SUT's CPU."""

import multiprocessing
import os
from pathlib import Path

import pytest
from tests.factories import simulated_trial
from tests.waiting import await_true

from nodrop.formatting.messages import format_message
from nodrop.model.trial import ValidityStatus
from nodrop.observe.cpu_wait import CpuWaitObserver


def spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def read_wait_s(pid: int) -> float:
    """Return how long a process has waited for a CPU: the second field of schedstat."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def test_a_sut_that_waits_for_its_cpu_makes_the_trial_suspect() -> None:
    core = min(os.sched_getaffinity(0))
    rivals = [multiprocessing.Process(target=spin, args=(core,), daemon=True) for _ in range(2)]
    for rival in rivals:
        rival.start()
    sut_cpu = CpuWaitObserver("sut_preempted", lambda: [rivals[0].pid])
    begin_s = read_wait_s(rivals[0].pid)
    sut_cpu.begin_trial()
    await_true(lambda: read_wait_s(rivals[0].pid) > begin_s + 0.2, "it waits for its CPU")
    result = sut_cpu.end_trial(simulated_trial(1000.0, 0.5))
    for rival in rivals:
        rival.kill()
        rival.join()
    assert result.validity.verdict is ValidityStatus.SUSPECT
    (doubt,) = result.validity.doubts
    assert doubt.code == "sut_preempted" and "kept the SUT off its CPU" in format_message(doubt)


@pytest.mark.parametrize("pid", [None, 2**22 + 1])
def test_without_a_process_to_watch_nothing_is_said(pid: int | None) -> None:
    sut_cpu = CpuWaitObserver("sut_preempted", lambda: [] if pid is None else [pid])
    result = simulated_trial(1000.0, 1.0)
    sut_cpu.begin_trial()
    assert sut_cpu.end_trial(result) == result
