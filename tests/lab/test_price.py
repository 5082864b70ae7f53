"""Prices with real packets, and noisy neighbors that end with the run."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import await_true, stretch

from nodrop.cli import main
from nodrop.store import load, suites

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]
SHORT = (
    *("--set", "search.initial_trial_duration=0.1s", "--set", "search.final_trial_duration=0.2s"),
    *("--set", "search.width=30%", "--set", "search.budget=4s", "--set", "vnf.table=8MiB", "--goal", "PDR=50%"),
)


def stress_pids() -> set[int]:
    """Return all processes of stress-ng."""
    pids = set()
    for directory in Path("/proc").iterdir():
        try:
            if directory.name.isdecimal() and (directory / "comm").read_text().startswith("stress-ng"):
                pids.add(int(directory.name))
        except OSError:
            continue
    return pids


def await_end_except(before: set[int]) -> None:
    await_true(lambda: not stress_pids() - before, "stress-ng ends")


def test_two_rules_are_priced_and_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], require_tool: Callable[[str], Path]
) -> None:
    require_tool("stress-ng")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("prices need two CPUs")
    before = stress_pids()
    command = ["vm", "price", "--rules", "small-pages,cpu-noise", "--repeat", "1", "--alongside", "-q", *SHORT]
    assert main([*command, "--results-dir", str(tmp_path), "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert {price["rule"]["key"] for price in table["prices"]} == {"small-pages", "cpu-noise"}
    stored = suites.load("latest", tmp_path)
    assert stored is not None
    assert [run.variant for run in stored.suite.runs] == ["kept", "small-pages", "cpu-noise"]
    kept, small, noisy = (load(run.run_id, tmp_path) for run in stored.suite.runs)
    # A cost requires a bound with all rules kept, which a disturbed machine may not give within the budget.
    assert {price["run_count"] for price in table["prices"]} == {int(kept.goals[0].lower is not None)}
    assert small.facts is not None
    assert small.facts.stage.sut_processes[0].large_page_bytes == 0
    assert [each.kind for each in noisy.plan.lab.antagonists] == ["cpu"]
    assert not kept.plan.lab.antagonists
    await_end_except(before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_noisy_neighbor_ends_with_the_run_however_that_ends(
    tmp_path: Path, require_tool: Callable[[str], Path], number: signal.Signals
) -> None:
    require_tool("stress-ng")
    before = stress_pids()
    flags = ("--rate", "1kpps", "--set", "duration=30s", "--set", "antagonist.kind=cache", "--alongside", "-q")
    cores = ("--set", f"antagonist.cores=[{max(os.sched_getaffinity(0))}]")
    process = subprocess.Popen(
        [sys.executable, "-m", "nodrop", "run", "--results-dir", tmp_path, *flags, *cores],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    await_true(lambda: stress_pids() - before or process.poll() is not None, "stress-ng starts")
    assert stress_pids() - before
    process.send_signal(number)
    process.wait(stretch(20))
    await_end_except(before)
