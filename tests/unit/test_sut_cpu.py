"""Detection of other work on the SUT's CPU."""

import multiprocessing
import os
import time

import pytest
from tests.suts import Step
from tests.traffic import two_way_traffic

from nodrop.model.trial import Trial, TrialResult, ValidityStatus
from nodrop.observe.sut_cpu import SutCpuObserver
from nodrop.simulation import SimulatedMeasurer


def trial_of(duration_s: float) -> TrialResult:
    with SimulatedMeasurer(two_way_traffic(2), Step(1e6)) as measurer:
        return measurer.measure(Trial(intended_load_pps=1000, duration_s=duration_s), 0, "search", lambda *_: None)


def spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def test_a_sut_that_waits_for_its_cpu_makes_the_trial_suspect() -> None:
    core = min(os.sched_getaffinity(0))
    rivals = [multiprocessing.Process(target=spin, args=(core,), daemon=True) for _ in range(2)]
    for rival in rivals:
        rival.start()
    sut_cpu = SutCpuObserver([rivals[0].pid])
    sut_cpu.before()
    time.sleep(0.5)
    result = sut_cpu.after(trial_of(0.5))
    for rival in rivals:
        rival.kill()
        rival.join()
    assert result.validity.verdict is ValidityStatus.SUSPECT
    (doubt,) = result.validity.doubts
    assert doubt.code == "sut_preempted" and "kept the SUT off its CPU" in doubt.text


@pytest.mark.parametrize("pid", [None, 2**22 + 1])
def test_without_a_process_to_watch_nothing_is_said(pid: int | None) -> None:
    sut_cpu = SutCpuObserver([] if pid is None else [pid])
    result = trial_of(1.0)
    sut_cpu.before()
    assert sut_cpu.after(result) == result
