"""`nodrop run` and its child processes, killed during a run: nothing is left behind, and the next run works."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]

GONE_WITHIN_S = 5.0
FLAGS = (
    "--set",
    "search.initial_trial_duration=0.2s",
    "--set",
    "search.final_trial_duration=0.4s",
    "--set",
    "search.width=20%",
)


PARTS = {
    "engine": "nodrop-engine",
    "vnf": "nodrop-vnf",
    "switch": "ovs-vswitchd",
    "database": "ovsdb-server",
    "holder": "nodrop.stage.holder",
}
"""Processes that a run starts, each with a part of its command line."""


class Run:
    """A `nodrop run` in progress."""

    def __init__(self, results: Path, *flags: str) -> None:
        self.results = results
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nodrop", "run", "--results-dir", results, "--no-latency", *FLAGS, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_line(self, beginning: str) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(beginning):
                return
        pytest.fail(f"the run ended without a line {beginning!r}: {self.process.stderr and self.process.stderr.read()}")

    def children(self) -> dict[str, int]:
        """Return the ids of the processes that the run started, by name."""
        pids: dict[str, int] = {}
        for pid, command in processes().items():
            for name, part in PARTS.items():
                if part in command and self.process.pid in ancestors(pid):
                    pids.setdefault(name, pid)
        return pids

    def finish(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=60)
        return self.process.returncode, output, errors

    def stored(self) -> dict[str, object]:
        (path,) = self.results.glob("*/result.json")
        stored: dict[str, object] = json.loads(path.read_text())
        return stored


def processes() -> dict[int, str]:
    commands = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            commands[int(directory.name)] = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return commands


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return
        yield pid


def assert_gone(pids: dict[str, int]) -> None:
    """Assert that these processes, and all in namespaces with nodrop's interfaces, have ended."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while alive := [name for name, pid in pids.items() if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.05)
    assert not processes_in_labs()
    assert "tester0" not in Path("/proc/net/dev").read_text()


def processes_in_labs() -> list[int]:
    pids = []
    for pid in processes():
        try:
            interfaces = Path(f"/proc/{pid}/net/dev").read_text()
        except OSError:
            continue
        if "tester0:" in interfaces or "sut0:" in interfaces:
            pids.append(pid)
    return pids


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    running = Run(tmp_path / "results")
    running.await_line("trial 0")
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait()


def test_killing_nodrop_takes_everything_along(run: Run) -> None:
    children = run.children()
    assert set(children) == {"engine", "vnf", "holder"}
    run.process.kill()
    run.process.wait()
    assert_gone(children)


@pytest.mark.parametrize("victim", ["nodrop", "holder", "switch", "database"])
def test_killing_any_process_around_open_vswitch_leaves_nothing(
    victim: str, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    require_tool("ovs-vsctl")
    running = Run(tmp_path / "results", "--sut", "ovs")
    running.await_line("trial 0")
    children = running.children()
    assert set(children) == {"engine", "switch", "database", "holder"}
    os.kill(children.get(victim, running.process.pid), signal.SIGKILL)
    code, _, errors = running.finish()
    assert code == (-signal.SIGKILL if victim == "nodrop" else 3) and "Traceback" not in errors
    assert_gone(children)
    assert not Path("/run/conf.db").exists()


def test_killing_the_engine_costs_one_trial_and_not_the_run(run: Run) -> None:
    children = run.children()
    os.kill(children["engine"], signal.SIGKILL)
    code, _, errors = run.finish()
    assert code == 0, errors
    trials = run.stored()["trials"]
    assert isinstance(trials, list)
    invalid = [trial for trial in trials if trial["validity"]["verdict"] == "invalid"]
    # on a busy machine, other trials may be invalid too
    deaths = [
        doubt["text"] for trial in invalid for doubt in trial["validity"]["doubts"] if doubt["code"] == "engine_died"
    ]
    assert len(deaths) == 1 and "was killed by SIGKILL" in deaths[0]
    assert run.stored()["status"] == "complete"
    assert_gone(children)


@pytest.mark.parametrize("victim", ["holder", "vnf"])
def test_killing_the_lab_or_its_sut_ends_the_run_and_keeps_what_was_measured(run: Run, victim: str) -> None:
    children = run.children()
    os.kill(children[victim], signal.SIGKILL)
    code, _, errors = run.finish()
    assert code == 3
    assert "nodrop: error:" in errors and "Traceback" not in errors
    stored = run.stored()
    assert stored["status"] == "failed" and stored["trials"]
    assert_gone(children)


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_asked_to_stop_tears_down_and_keeps_what_was_measured(run: Run, stop: int, code: int) -> None:
    children = run.children()
    begin = time.monotonic()
    run.process.send_signal(stop)
    exit_code, output, errors = run.finish()
    assert exit_code == code and "Traceback" not in errors
    assert time.monotonic() - begin < GONE_WITHIN_S
    assert run.stored()["status"] == "interrupted" and run.stored()["trials"]
    assert "result.json" in output + errors
    assert_gone(children)


def test_a_run_after_a_killed_one_works(run: Run, tmp_path: Path) -> None:
    run.process.kill()
    run.process.wait()
    again = Run(tmp_path / "again")
    code, _, errors = again.finish()
    assert code == 0, errors
    assert again.stored()["status"] == "complete"


def processes_with(mark: str) -> list[int]:
    """Return processes with this mark in their environment, which child processes inherit."""
    pids = []
    for pid in processes():
        try:
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                pids.append(pid)
        except OSError:
            continue
    return pids


def test_20_chains_are_gone_whenever_nodrop_is_killed(tmp_path: Path) -> None:
    """Kill at ten times, from before the lab is created to the first trials."""
    moments = random.Random(20)
    for kill in range(10):
        mark = f"NODROP_TEST_MARK={os.getpid()}-{kill}"
        name, _, value = mark.partition("=")
        flags = ("--chains", "20", "--no-latency", "--results-dir", str(tmp_path), *FLAGS)
        command = [sys.executable, "-m", "nodrop", "run", *flags]
        with subprocess.Popen(command, env=os.environ | {name: value}, stdout=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(0.2, 5))
            process.kill()
        deadline = time.monotonic() + 4 * GONE_WITHIN_S
        while (remaining := processes_with(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not remaining, [
            Path(f"/proc/{pid}/cmdline").read_text() for pid in remaining if Path(f"/proc/{pid}").exists()
        ]
