"""Detection of nodrop's processes on this machine, and the lock that lets one run measure at a time."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodrop.cli import main
from nodrop.errors import BusyError
from nodrop.run import machine_lock
from nodrop.run.machine_lock import (
    LockWait,
    list_active_processes,
    measurement_lock,
    record_run_id,
    registered_process,
)
from nodrop.stage import persistent_lab
from nodrop.system import runtime_dirs

ELSEWHERE = """
import sys
from pathlib import Path
from nodrop.run import machine_lock
from nodrop.system import runtime_dirs
from nodrop.stage import registry
machine_lock.LOCK_ADDRESS = "\\0" + sys.argv[1]
runtime_dirs.find_runtime_root = lambda: Path(sys.argv[2])
with machine_lock.measurement_lock("elsewhere", frozenset({"CPU 0", "port eth1"})):
    print("taken", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def private_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a private lock and private records, and ignore the labs of this machine."""
    monkeypatch.delenv(machine_lock.ALONGSIDE, raising=False)
    monkeypatch.setattr(machine_lock, "LOCK_ADDRESS", f"\0nodrop.test.{secrets.token_hex(8)}")
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path / "records")
    monkeypatch.setattr(persistent_lab, "_find_holders", lambda: iter(()))


@pytest.fixture
def lock_holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, machine_lock.LOCK_ADDRESS[1:], tmp_path / "records"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "taken\n"
        yield process
        process.kill()


def test_while_one_run_measures_another_is_refused_and_told_who(lock_holder: subprocess.Popen[str]) -> None:
    with pytest.raises(BusyError) as refusal, measurement_lock("here"):
        pass
    message = str(refusal.value)
    assert f"process {lock_holder.pid}, results go to {Path('elsewhere').resolve()}" in message
    assert "use --wait to queue or --alongside to run anyway" in message


def test_runs_on_different_cpus_and_ports_measure_at_the_same_time(lock_holder: subprocess.Popen[str]) -> None:
    with measurement_lock("here", frozenset({"CPU 1", "port eth2"})):
        assert {seen.process.pid for seen in list_active_processes()} == {os.getpid(), lock_holder.pid}
        assert {seen.process.pid for seen in machine_lock.find_other_runs()} == {lock_holder.pid}
    with pytest.raises(BusyError, match="and uses port eth1"), measurement_lock("here", frozenset({"port eth1"})):
        pass
    assert machine_lock.list_locked_cpus() == {0}


def test_a_refused_run_keeps_no_lock(lock_holder: subprocess.Popen[str]) -> None:
    with pytest.raises(BusyError), measurement_lock("here", frozenset({"CPU 1", "port eth1"})):
        pass
    assert lock_holder.poll() is None
    assert machine_lock.list_locked_cpus() == {0}


def test_a_run_alongside_is_not_refused_and_is_seen(lock_holder: subprocess.Popen[str]) -> None:
    with measurement_lock("here", alongside=True):
        assert {seen.process.pid for seen in list_active_processes()} == {os.getpid(), lock_holder.pid}


def test_the_environment_may_allow_it_too(lock_holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_lock.ALONGSIDE, "1")
    with measurement_lock("here"):
        assert lock_holder.poll() is None


def test_a_run_that_is_killed_gives_the_turn_back(lock_holder: subprocess.Popen[str]) -> None:
    lock_holder.send_signal(signal.SIGKILL)
    lock_holder.wait()
    with measurement_lock("here"):
        (seen,) = list_active_processes()
        assert seen.process.pid == os.getpid()
    assert list_active_processes() == ()


def test_a_run_may_wait_for_its_turn(lock_holder: subprocess.Popen[str]) -> None:
    reasons: list[LockWait] = []
    end = ["sh", "-c", f"sleep 0.3; kill -9 {lock_holder.pid}"]
    with subprocess.Popen(end), measurement_lock("here", wait=True, on_wait=reasons.append):
        assert lock_holder.wait() == -signal.SIGKILL
    (reason,) = reasons
    assert reason.text().startswith("waiting for CPU 0 of another run (run of ")
    assert reason.owner
    assert reason.owner.process.pid == lock_holder.pid


def test_a_run_states_its_id_for_those_that_wait() -> None:
    with measurement_lock("here"):
        record_run_id("20260131T120000Z-abcdef")
        (seen,) = list_active_processes()
        assert seen.run_id == "20260131T120000Z-abcdef"
        assert seen.text().startswith("run 20260131T120000Z-abcdef of ")


def test_who_has_the_turn_may_take_it_again() -> None:
    with measurement_lock("a"), measurement_lock("b"):
        pass
    with measurement_lock("c"):
        pass


def test_a_run_of_another_user_is_seen_by_what_everybody_may_see(
    lock_holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path / "of another user")
    (seen,) = list_active_processes()
    assert (seen.process.pid, seen.role, seen.place) == (lock_holder.pid, "run", None)


def test_a_record_that_outlived_its_process_does_no_harm() -> None:
    with registered_process("server", "http://127.0.0.1:7555"):
        (path,) = runtime_dirs.ensure_runtime_subdir(machine_lock.KIND).glob("*")
        stored = path.read_text()
        (seen,) = list_active_processes()
    assert seen.text().startswith("server of ")
    path.write_text(stored.replace(f'"start_ticks":{seen.process.start_ticks}', '"start_ticks":1'))
    assert list_active_processes() == ()
    assert not path.exists()


def test_a_run_that_cannot_be_recorded_measures_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: Path("/dev/null"))
    with measurement_lock("here"):
        pass


def test_status_is_idle_or_busy_as_nfvbenchs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    assert "status: idle\nno labs\n" in capsys.readouterr().out
    with measurement_lock("results"):
        assert main(["run", "--status"]) == 1
    assert "status: busy (run pending)\nrun of " in capsys.readouterr().out


def test_nothing_is_cleaned_up_while_a_run_measures(capsys: pytest.CaptureFixture[str]) -> None:
    with measurement_lock("results"):
        assert main(["cleanup", "--force"]) == 1
    assert "a run is measuring, nothing was removed" in capsys.readouterr().err
    assert main(["run", "--force-cleanup"]) == 0
    assert "no labs on this machine" in capsys.readouterr().out


def test_a_busy_machine_is_exit_code_3(
    lock_holder: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lock_holder.poll() is None
    assert main(["run"]) == 3
    assert "nodrop: error: another run is measuring on this machine" in capsys.readouterr().err
