"""`nodrop run` and its child processes, killed during a run: nothing is left behind, and the next run works."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import await_true, stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

FIXED = ("--rate", "2kpps", "--set", "duration=60s", "--set", "interval=0.2s", *FULL_RATE)
SEARCH = (
    *("--max-load", "2kpps", "--set", "search.width=20%", "--set", "search.disturbed_time=count", *FULL_RATE),
    *("--set", "search.initial_trial_duration=0.2s", "--set", "search.final_trial_duration=5s"),
)
PARTS = {
    "engine": "nodrop-engine",
    "vnf": "nodrop-vnf",
    "switch": "ovs-vswitchd",
    "database": "ovsdb-server",
    "holder": "nodrop.stage.holder",
}
"""Processes that a run starts, each with a part of its command line."""
SLOW_DISK = """
import os, time
fsync = os.fsync
def slow_fsync(file):
    time.sleep(1.5)
    fsync(file)
os.fsync = slow_fsync
"""
PYTHON_PATH = os.environ.get("PYTHONPATH", "")
BUDGET_S = 12.0
OVERTIME_S = stretch(20.0)
"""For a busy machine; a run that waits for a process that never replies takes much longer."""
MARK = "NODROP_TEST_MARK"
"""An environment variable that tells the processes of one run from those of others."""
run_numbers = itertools.count()


class Run:
    """A `nodrop run` in progress, started by the program `launcher` if one is given."""

    def __init__(self, results: Path, *flags: str, launcher: tuple[str, ...] = (), **environment: str) -> None:
        self.results = results
        self.mark = f"{os.getpid()}-{next(run_numbers)}"
        self.process = subprocess.Popen(
            [
                *launcher,
                sys.executable,
                "-m",
                "nodrop",
                "run",
                "--format",
                "text",
                "--results-dir",
                results,
                "--no-latency",
                *flags,
            ],
            env=os.environ | environment | {MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_line(self, part: str) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if part in line:
                return
        pytest.fail(f"the run ended without a line {part!r}: {self.process.stderr and self.process.stderr.read()}")

    def list_processes(self) -> dict[int, str]:
        """Return the command lines of all processes of this run, which inherit its mark, by their ids."""
        commands = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (directory / "environ").read_bytes():
                    command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    commands[int(directory.name)] = command
            except OSError:
                continue
        return {pid: command for pid, command in commands.items() if command}  # a process that ended has none

    def children(self) -> dict[str, int]:
        """Return the ids of the processes that the run started, by name."""
        pids: dict[str, int] = {}
        for pid, command in self.list_processes().items():
            for name, part in PARTS.items():
                if part in command:
                    pids.setdefault(name, pid)
        return pids

    def finish(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=stretch(120))
        return self.process.returncode, output, errors

    def stored(self) -> dict[str, object]:
        (path,) = self.results.glob("*/result.json")
        stored: dict[str, object] = json.loads(path.read_text())
        return stored

    def assert_gone(self) -> None:
        """Assert that all its processes end; the namespaces, which nothing else refers to, end with them."""
        await_true(lambda: not self.list_processes(), lambda: f"these processes end: {self.list_processes()}")
        assert "tester0" not in Path("/proc/net/dev").read_text()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Start a run at a fixed rate; yield it when frames are counted."""
    running = Run(tmp_path / "results", *FIXED)
    running.await_line(" s: sent ")
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait()


def test_killing_nodrop_takes_everything_along(run: Run) -> None:
    assert set(run.children()) == {"engine", "vnf", "holder"}
    run.process.kill()
    run.process.wait()
    run.assert_gone()


@pytest.mark.parametrize("victim", ["nodrop", "switch"])
def test_killing_a_process_around_open_vswitch_leaves_nothing(
    victim: str, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    require_tool("ovs-vsctl")
    running = Run(tmp_path / "results", "--sut", "ovs", *FIXED)
    running.await_line(" s: sent ")
    children = running.children()
    assert set(children) == {"engine", "switch", "database", "holder"}
    os.kill(children.get(victim, running.process.pid), signal.SIGKILL)
    code, _, errors = running.finish()
    assert code == (-signal.SIGKILL if victim == "nodrop" else 3) and "Traceback" not in errors
    running.assert_gone()
    assert not Path("/run/conf.db").exists()


def test_killing_the_engine_invalidates_the_trial(run: Run) -> None:
    os.kill(run.children()["engine"], signal.SIGKILL)
    code, _, errors = run.finish()
    assert code and "Traceback" not in errors
    assert run.stored()["status"] == "failed"
    assert_died(run, 1)
    run.assert_gone()


def test_an_engine_that_is_stopped_invalidates_the_trial(run: Run) -> None:
    """Long before the end of the trial: it no longer reports."""
    os.kill(run.children()["engine"], signal.SIGSTOP)
    code, _, errors = run.finish()
    assert code and "Traceback" not in errors
    assert_died(run, 1, "did not report for 3")
    run.assert_gone()


@pytest.mark.parametrize("victim", ["vnf", "holder"])
def test_a_lab_that_is_stopped_does_not_outlast_the_budget_and_leaves_nothing(victim: str, tmp_path: Path) -> None:
    running = Run(tmp_path / "results", "--budget", f"{BUDGET_S:g}s", *FULL_RATE)
    running.await_line("trial 0")
    os.kill(running.children()[victim], signal.SIGSTOP)
    _, _, errors = running.finish()
    assert "Traceback" not in errors
    stored = running.stored()
    assert stored["trials"] and stored["wall_s"] <= BUDGET_S + OVERTIME_S
    running.assert_gone()


def test_a_slow_disk_does_not_prolong_a_run_beyond_its_budget(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    running = Run(tmp_path / "results", "--budget", f"{BUDGET_S:g}s", PYTHONPATH=f"{tmp_path}:{PYTHON_PATH}")
    code, _, errors = running.finish()
    assert code in (0, 5), errors
    stored = running.stored()
    assert stored["trials"] and stored["wall_s"] <= BUDGET_S + OVERTIME_S


@pytest.mark.truth
def test_killing_the_engine_costs_one_trial_and_not_the_search(tmp_path: Path) -> None:
    running = Run(tmp_path / "results", *SEARCH)
    running.await_line("trial 0")
    os.kill(running.children()["engine"], signal.SIGKILL)
    code, _, errors = running.finish()
    assert code == 0, errors
    assert_died(running, 1)
    assert running.stored()["status"] == "complete"
    running.assert_gone()


def assert_died(run: Run, count: int, why: str = "was killed by SIGKILL") -> None:
    """Assert that so many trials were invalid as the engine died; a disturbance invalidates others too."""
    trials = run.stored()["trials"]
    assert isinstance(trials, list)
    invalid = [trial for trial in trials if trial["validity"]["verdict"] == "invalid"]
    doubts = [doubt for trial in invalid for doubt in trial["validity"]["doubts"] if doubt["code"] == "engine_died"]
    assert len(doubts) == count and all(why in doubt["text"] for doubt in doubts)


@pytest.mark.parametrize("victim", ["holder", "vnf"])
def test_killing_the_lab_or_its_sut_ends_the_run_and_keeps_what_was_measured(victim: str, tmp_path: Path) -> None:
    running = Run(tmp_path / "results", *SEARCH)
    running.await_line("trial 0")
    os.kill(running.children()[victim], signal.SIGKILL)
    code, _, errors = running.finish()
    assert code == 3
    assert "nodrop: error:" in errors and "Traceback" not in errors
    stored = running.stored()
    assert stored["status"] == "failed" and stored["trials"]
    running.assert_gone()


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_asked_to_stop_tears_down_and_keeps_what_was_measured(run: Run, stop: int, code: int) -> None:
    run.process.send_signal(stop)
    exit_code, output, errors = run.finish()
    assert exit_code == code and "Traceback" not in errors
    assert run.stored()["status"] == "interrupted" and run.stored()["trials"]
    assert "result.json" in output + errors
    run.assert_gone()


def test_a_run_after_a_killed_one_works(run: Run, tmp_path: Path) -> None:
    run.process.kill()
    run.process.wait()
    following = Run(tmp_path / "following", "--rate", "2kpps", "--set", "duration=0.5s", *FULL_RATE)
    code, _, errors = following.finish()
    assert code == 0, errors
    assert following.stored()["status"] == "complete"


def await_vnfs(run: Run, count: int) -> None:
    def are_there() -> bool:
        return sum("nodrop-vnf" in command for command in run.list_processes().values()) >= count

    await_true(are_there, f"{count} VNFs are there")


@pytest.mark.parametrize(
    "await_moment",
    [
        lambda run: await_true(lambda: "holder" in run.children(), "the lab's first process is there"),
        lambda run: await_vnfs(run, 1),
        lambda run: await_vnfs(run, 19),
        lambda run: run.await_line("lab "),
        lambda run: run.await_line("path checked"),
        lambda run: run.await_line(" s: sent "),
    ],
    ids=["namespaces", "first chain", "last chain", "lab", "path check", "trial"],
)
def test_20_chains_are_gone_whenever_nodrop_is_killed(await_moment: Callable[[Run], object], tmp_path: Path) -> None:
    running = Run(tmp_path / "results", "--chains", "20", *FIXED)
    try:
        await_moment(running)
    finally:
        running.process.kill()
        running.process.communicate()
    running.assert_gone()
