"""Disturbances planted in a running trial: what other work causes is left out, what the SUT does itself counts."""

import os
import subprocess
import sys

import pytest
from tests.lab.bench import Bench, bench

from nodrop.model.trial import TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_root")]

LOAD_PPS = 20_000
SECONDS = 2.0
OUTAGE_S = 0.15
"""Longer than the SUT's receive ring takes to fill."""
KEYS = {"sut": "vnf-l2", "vnf.queue_slots": 256, "search.disturbed_time": "exclude"}

# Runs ahead of tester and SUT, which leave hardly any CPU time to other programs.
PLANT = f"""
import os, signal, sys, time
os.sched_setaffinity(0, {{int(sys.argv[1])}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("ready", flush=True)
time.sleep({SECONDS / 2})
"""
OCCUPY_CPU = f"""{PLANT}
end_s = time.monotonic() + {OUTAGE_S}
while time.monotonic() < end_s:
    pass
"""
STOP_PROCESS = f"""{PLANT}
os.kill(int(sys.argv[2]), signal.SIGSTOP)
time.sleep({OUTAGE_S})
os.kill(int(sys.argv[2]), signal.SIGCONT)
"""

OCCUPY_CPU_THEN_STOP_PROCESS = STOP_PROCESS.replace(
    "os.kill", "end_s = time.monotonic() + 0.005\nwhile time.monotonic() < end_s:\n    pass\nos.kill", 1
)

OCCUPY_CPU_IN_BURSTS = f"""{PLANT}
for _ in range(40):
    time.sleep(0.01)
    end_s = time.monotonic() + 0.005
    while time.monotonic() < end_s:
        pass
"""


@pytest.fixture
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are required: one for the tester, one for the SUT")


def measure_beside(lab: Bench, program: str, *arguments: int) -> TrialResult:
    """Measure one trial; the program has its effect in the middle of it."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        trial = lab.measure(LOAD_PPS, SECONDS)
    assert process.returncode == 0
    return trial


def measure_outage(lab: Bench, program: str, *arguments: int) -> TrialResult:
    """Measure one trial with an outage, which overflows the SUT's receive ring."""
    trial = measure_beside(lab, program, *arguments)
    assert trial.lost_count > LOAD_PPS * OUTAGE_S / 4
    return trial


@pytest.mark.usefixtures("two_cpus")
def test_losses_while_other_work_has_the_suts_cpu_are_left_out_and_the_trial_goes_on_for_longer() -> None:
    check_that_other_work_is_left_out("af_packet")


@pytest.mark.usefixtures("two_cpus")
def test_a_trial_of_frames_made_in_the_kernel_goes_on_for_longer_too() -> None:
    check_that_other_work_is_left_out("xdp_live")


def check_that_other_work_is_left_out(backend: str) -> None:
    with bench(**KEYS, **{"engine.backend": backend}) as lab:
        trial = measure_outage(lab, OCCUPY_CPU, lab.plan.lab.sut_cores[0])
    rest = trial.undisturbed_counts
    assert rest is not None
    assert rest.lost_count < trial.lost_count / 10
    assert trial.duration_s > SECONDS + OUTAGE_S / 2
    assert rest.duration_s > SECONDS * 0.99
    assert trial.unsent_count == 0
    assert any(work.name.startswith("python") for work in trial.other_work), trial.other_work


@pytest.mark.usefixtures("two_cpus")
def test_losses_of_a_sut_that_stops_by_itself_count() -> None:
    """As with a lock, a garbage collection or a timer of its own: it does not wait for a CPU."""
    with bench(**KEYS) as lab:
        (sut,) = lab.stage.facts.sut_processes
        trial = measure_outage(lab, STOP_PROCESS, lab.plan.engine.cores[0], sut.pid)
    assert trial.judged_counts.lost_count > trial.lost_count / 2


@pytest.mark.usefixtures("two_cpus")
def test_losses_of_a_sut_that_stops_by_itself_after_a_disturbance_count() -> None:
    with bench(**KEYS) as lab:
        (sut,) = lab.stage.facts.sut_processes
        trial = measure_outage(lab, OCCUPY_CPU_THEN_STOP_PROCESS, lab.plan.engine.cores[0], sut.pid)
    assert trial.judged_counts.lost_count > trial.lost_count / 2


def test_a_disturbed_trial_that_lost_nothing_counts_as_it_is() -> None:
    with bench(**KEYS | {"sut": "wire"}) as lab:
        trial = measure_beside(lab, OCCUPY_CPU_IN_BURSTS, lab.plan.engine.cores[0])
    assert (trial.lost_count, trial.unsent_count, trial.duration_s) == (0, 0, SECONDS)
    assert trial.undisturbed_counts is None
    assert trial.windows.disturbed_time
    assert sum(trial.windows.disturbed_time.time_s) > SECONDS / 10
    assert any(work.name.startswith("python") for work in trial.other_work), trial.other_work
