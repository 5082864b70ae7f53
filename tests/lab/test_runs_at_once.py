"""Two runs on one machine: at the same time on different CPUs, refused or queued on the same."""

import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop import store
from nodrop.model.result import RunResult

pytestmark = [pytest.mark.lab, pytest.mark.truth]

NODROP = (sys.executable, "-m", "nodrop", "run", "--sut", "bridge", "--rate", "10kpps", "--duration", "3", *FULL_RATE)


@pytest.fixture
def environment() -> dict[str, str]:
    """Return an environment in which runs respect the locks of others, on a machine with two free CPUs."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU only")
    return {key: value for key, value in os.environ.items() if key != "NODROP_ALONGSIDE"}


def start(results: Path, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    command = [*NODROP, *arguments, "--results-dir", str(results)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait(run: subprocess.Popen[str]) -> str:
    """Return what a run printed on standard error."""
    _, errors = run.communicate(timeout=stretch(120))
    return errors


def load(results: Path) -> RunResult:
    return store.load("latest", str(results))


def overlaps(a: RunResult, b: RunResult) -> bool:
    """Return whether the only trials of two runs were partly at the same time."""
    starts = [datetime.fromisoformat(each.trials[0].started_at) for each in (a, b)]
    ends = [start + timedelta(seconds=each.trials[0].duration_s) for start, each in zip(starts, (a, b), strict=True)]
    return max(starts) < min(ends)


def test_runs_that_begin_together_take_different_cpus(tmp_path: Path, environment: dict[str, str]) -> None:
    runs = [start(tmp_path / name, environment) for name in "ab"]
    for run in runs:
        errors = wait(run)
        assert run.returncode == 0, errors
    a, b = (load(tmp_path / name) for name in "ab")
    assert overlaps(a, b)
    assert len({*a.plan.engine.cores, *b.plan.engine.cores}) == 2
    for result in (a, b):
        assert sum("another run measured on this machine" in line for line in result.plan.warnings) == 1
        assert result.trials[0].lost_count == 0


def test_a_run_on_the_same_cpu_waits_its_turn(tmp_path: Path, environment: dict[str, str]) -> None:
    runs = [start(tmp_path / name, environment, "--set", "engine.cores=[0]", "--wait") for name in "ab"]
    for run in runs:
        errors = wait(run)
        assert run.returncode == 0, errors
    a, b = (load(tmp_path / name) for name in "ab")
    assert not overlaps(a, b)
