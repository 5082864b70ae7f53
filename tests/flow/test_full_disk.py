"""Results that cannot be stored where the user wanted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.running import Listener, make_environment, make_plan

from nodrop import store
from nodrop.errors import StoreError
from nodrop.model.event import Event, RunDone, SuiteDone, TrialDone
from nodrop.run.execute import execute
from nodrop.run.suite import execute_suite


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the fallback directory of results."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "nodrop" / "results"


class Destroyer(Listener):
    """Replaces the results directory by a file during the run, so that nothing can be written there."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialDone) and self._directory.is_dir():
            shutil.rmtree(self._directory)
            self._directory.write_text("")
        super().__call__(event)


def test_a_result_that_cannot_be_stored_is_kept_in_the_state_directory(tmp_path: Path, state: Path) -> None:
    plan = make_plan(tmp_path / "results")
    listener = Destroyer(tmp_path / "results")
    with pytest.raises(StoreError, match=f"could not be stored: .*; it is in {state}") as raised:
        execute(plan, listener, make_environment())
    assert raised.value.exit_code == 1
    done = next(event for event in listener.events if isinstance(event, RunDone))
    assert done.path
    assert Path(done.path).is_relative_to(state)
    assert store.load(done.path) == done.result


def test_a_result_that_can_be_stored_nowhere_is_still_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(nowhere))
    monkeypatch.setattr("tempfile.tempdir", str(nowhere))
    listener = Destroyer(tmp_path / "results")
    (tmp_path / "results").mkdir()
    with pytest.raises(StoreError, match="nor anywhere else"):
        execute(make_plan(tmp_path / "results"), listener, make_environment())
    (done,) = [event for event in listener.events if isinstance(event, RunDone)]
    assert done.path is None
    assert done.result.trials


def test_a_suite_is_kept_with_its_runs(tmp_path: Path, state: Path) -> None:
    listener = Destroyer(tmp_path / "results")
    plans = [make_plan(tmp_path / "results").model_copy(update={"repeat_count": 2, "repeat": each}) for each in (1, 2)]
    outcome = execute_suite(plans, listener, make_environment())
    assert outcome.failures
    done = next(event for event in listener.events if isinstance(event, SuiteDone))
    assert done.path
    assert Path(done.path).is_relative_to(state)


@pytest.mark.usefixtures("require_root")
def test_a_full_filesystem_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    command = f"mount -t tmpfs -o size=64k none {mounted} && {sys.executable} -m nodrop simulate --sut hard-limit -q"
    run = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{command} --results-dir {mounted}/results"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
        cwd=tmp_path,
    )
    assert run.returncode == 2
    assert "0.1 MB free in" in run.stderr
    assert "choose another directory with --results-dir" in run.stderr
    assert not run.stdout
