"""Runs in a control group with a CPU quota, as a container has: they end in time and name the cause."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.test_killed import Run
from tests.waiting import stretch

from nodrop.model.result import RunResult

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
"""Version 1; version 2 is tested on trees of files."""
PERIOD_US = 100_000
BUDGET_S = 10.0
OVERTIME_S = stretch(20.0)
"""For a busy machine; a run that waits for a throttled engine takes minutes."""

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


@contextlib.contextmanager
def limited_group(cpu_count: float) -> Iterator[Path]:
    """Make a control group with a quota; remove it in the end."""
    group = CPU_GROUPS / f"nodrop-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"control groups of version 1 cannot be made here: {error}")
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(int(cpu_count * PERIOD_US)))
        yield group
    finally:
        for _ in range(100):  # a group is removed once its last process is reaped
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def make_launcher(group: Path) -> tuple[str, ...]:
    """Return the command that starts a program in a control group."""
    return ("sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh")


@pytest.mark.parametrize("cpu_count", [0.6, 1.0])
def test_a_run_with_too_few_cpus_ends_within_its_budget_and_names_the_quota(tmp_path: Path, cpu_count: float) -> None:
    command = [sys.executable, "-m", "nodrop", "run", "--budget", f"{BUDGET_S:g}s", "--alongside"]
    with limited_group(cpu_count) as group:
        done = subprocess.run(
            [*make_launcher(group), *command, "--results-dir", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=stretch(120),
            check=False,
        )
    assert done.returncode in (0, 5), done.stderr
    assert f"the CPU quota of control group /{group.name} allows {cpu_count:g} CPUs, and a run needs 2" in done.stdout
    (file,) = tmp_path.glob("*/result.json")
    result = RunResult.model_validate_json(file.read_text())
    assert result.wall_s <= BUDGET_S + OVERTIME_S
    # Beside other work the run may get less than its quota.
    if done.returncode and any(trial.is_throttled for trial in result.trials):
        assert "CPU quota" in done.stderr and "docker run --cpus 2" in done.stderr


@pytest.mark.parametrize("moment", ["path checked", "trial 0"])
def test_a_run_with_too_few_cpus_that_sigterm_ends_keeps_its_trials_and_leaves_nothing(
    tmp_path: Path, moment: str
) -> None:
    # Invalid trials do not end the run before the signal does.
    flags = ("--budget", "60s", "--set", "search.repeat_invalid=100")
    with limited_group(0.5) as group:
        run = Run(tmp_path / "results", *flags, launcher=make_launcher(group))
        run.await_line(moment)
        run.process.send_signal(signal.SIGTERM)
        start_s = time.monotonic()
        code, _, errors = run.finish()
        assert code == 143 and "Traceback" not in errors, errors
        assert time.monotonic() - start_s <= OVERTIME_S
        run.assert_gone()
    assert run.stored()["status"] == "interrupted"
