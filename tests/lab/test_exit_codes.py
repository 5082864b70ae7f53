"""Every exit code of docs/reference/exit-codes.md, provoked for real."""

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.errors import NodropError

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

PAGE = Path(__file__).parents[2] / "docs/reference/exit-codes.md"
QUICK = (
    *("--sut", "wire", "--no-latency", "--set", "search.width=50%"),
    *("--set", "search.initial_trial_duration=0.1s", "--set", "search.final_trial_duration=0.2s"),
)


@pytest.fixture(autouse=True)
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_nodrop(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nodrop", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=stretch(100),
        check=False,
    )


def stored() -> list[Path]:
    return list(Path().glob("results/*/result.json"))


def assert_one_message(done: subprocess.CompletedProcess[str]) -> None:
    notes = "nodrop: measuring on other CPUs than usual"  # beside other work
    lines = [line for line in done.stderr.splitlines() if not line.startswith(notes)]
    assert lines[0].startswith("nodrop: error: "), done.stderr
    assert "Traceback" not in done.stderr


def test_0_a_rate_was_measured() -> None:
    done = run_nodrop("run", "--sut", "wire", "--rate", "1kpps", "--duration", "0.3", *FULL_RATE)
    assert done.returncode == 0, done.stderr
    assert len(stored()) == 1


def test_1_the_output_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "nodrop", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=stretch(60), check=False)
    assert done.returncode == 1
    assert os.strerror(errno.ENOSPC) in done.stderr


def test_2_the_configuration_cannot_be_done() -> None:
    done = run_nodrop("run", "--rate", "fast")
    assert done.returncode == 2
    assert_one_message(done)
    assert stored() == []


def test_3_the_lab_does_not_stand() -> None:
    done = run_nodrop("run", "--lab", "gone")
    assert done.returncode == 3
    assert_one_message(done)


def test_4_the_generator_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "nodrop-engine"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    done = run_nodrop("run", *QUICK, NODROP_BIN_DIR=str(tmp_path))
    assert done.returncode == 4
    assert_one_message(done)
    assert len(stored()) == 1


def test_5_no_load_meets_the_goals() -> None:
    done = run_nodrop("run", *QUICK, "--min-load", "13Mpps", "--max-load", "14Mpps", "--budget", "3s")
    assert done.returncode == 5
    assert_one_message(done)
    assert len(stored()) == 1


def test_6_no_server_answers() -> None:
    with socket.socket() as silent:  # bound and not listening: no other process gets the port
        silent.bind(("127.0.0.1", 0))
        done = run_nodrop("client", "--url", f"http://127.0.0.1:{silent.getsockname()[1]}", "version")
    assert done.returncode == 6
    assert_one_message(done)


def test_7_records_still_wait(tmp_path: Path) -> None:
    with socket.socket() as away:
        away.bind(("127.0.0.1", 0))
        fluentd = f"fluentd: [{{result_tag: r, ip: 127.0.0.1, port: {away.getsockname()[1]}}}]"
        ship = f"ship: {{{fluentd}, buffer_dir: {tmp_path}/waiting, wait: 0s}}"
        done = run_nodrop("run", "--sut", "wire", "--rate", "1kpps", "--duration", "0.2", *FULL_RATE, "--config", ship)
        assert done.returncode == 0, done.stderr
        assert run_nodrop("ship", "--buffer-dir", f"{tmp_path}/waiting").returncode == 7


def test_8_an_expectation_is_missed() -> None:
    flags = ("--sut", "wire", "--rate", "1kpps", "--duration", "0.3", *FULL_RATE)
    done = run_nodrop("run", *flags, "--expect", "loss<=50%", "--expect", "p99<1ns")
    assert done.returncode == 8, done.stderr
    assert "1 expectation not met: p99<1ns: missed, p99 is " in done.stderr
    assert "loss<=50%: met" in " ".join(done.stdout.split())
    assert len(stored()) == 1


def test_11_the_tester_does_not_reach_the_rate() -> None:
    done = run_nodrop("run", "--sut", "wire", "--rate", "100%", "--duration", "0.3")
    assert done.returncode == 11, done.stderr
    assert_one_message(done)
    assert "the tester sent only" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["loading", "measuring"])
def test_130_and_143_a_signal(number: signal.Signals, exit_code: int, moment: str) -> None:
    command = [sys.executable, "-m", "nodrop", "run", *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        if moment == "loading":
            time.sleep(0.3)
        else:
            next(line for line in process.stdout if line.startswith("trial 0"))
        process.send_signal(number)
        process.stdout.read()
        assert "Traceback" not in process.stderr.read()
    # A shell also reports a process ended by a signal as 128 + the number of the signal.
    assert process.returncode in (exit_code, -number)
    assert moment == "loading" or len(stored()) == 1


def test_the_page_has_every_exit_code_there_is() -> None:
    def codes(error: type[NodropError]) -> set[int]:
        return {error.exit_code}.union(*(codes(below) for below in error.__subclasses__()))

    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)}
    assert listed == codes(NodropError) | {0, 130, 143}
