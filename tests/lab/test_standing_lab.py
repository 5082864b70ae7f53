"""Persistent labs: `nodrop lab` up, status, exec and down."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.running import plan_lab
from tests.waiting import stretch

from nodrop.errors import ConfigError, StageError
from nodrop.stage import persistent_lab, registry
from nodrop.stage.persistent_lab import PersistentLabStage
from nodrop.stage.process_identity import ProcessIdentity, await_end, identify_process, is_running, terminate_process
from nodrop.system import runtime_dirs

pytestmark = pytest.mark.lab

PLAN = plan_lab("bridge")


@pytest.fixture
def name() -> Iterator[str]:
    """Yield a unique lab name; take the lab down afterwards, also after a failed test."""
    name = f"test-{os.getpid()}"
    yield name
    if registry.read_record(name):
        persistent_lab.take_down(name)


def nodrop_lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from nodrop.cli.lab import lab; lab()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=stretch(60), check=False
    )


def is_gone(process: ProcessIdentity) -> bool:
    return not is_running(process)


def test_a_lab_outlives_the_command_that_brought_it_up_and_goes_down_by_name(name: str) -> None:
    up = nodrop_lab("up", "--sut", "bridge", "--name", name)
    assert up.returncode == 0, up.stderr
    assert f"nodrop lab exec --name {name} sut -- tcpdump" in up.stdout

    assert f"lab {name} is up" in nodrop_lab("status").stdout
    lab = registry.read_record(name)
    assert lab

    down = nodrop_lab("down", "--name", name)
    assert down.stdout == f"lab {name} is down\n", down.stderr
    assert is_gone(lab.holder)
    assert is_gone(lab.keeper)
    assert name not in nodrop_lab("status").stdout


@pytest.mark.parametrize(("where", "interface"), [("tester", "tester1"), ("sut", "br0")])
def test_a_command_runs_on_the_side_of_the_lab_it_is_told(name: str, where: str, interface: str) -> None:
    persistent_lab.bring_up(PLAN, name)
    list_links = [sys.executable, "-c", "import socket; print([name for _, name in socket.if_nameindex()])"]
    done = nodrop_lab("exec", "--name", name, where, "--", *list_links)
    assert interface in done.stdout, done.stderr


def test_a_command_sees_the_interfaces_of_its_side_in_sysfs(name: str) -> None:
    persistent_lab.bring_up(PLAN, name)
    done = nodrop_lab("exec", "--name", name, "tester", "--", "ls", "/sys/class/net")
    assert done.stdout.split() == ["lo", "tester0", "tester1"], done.stderr


def test_a_lab_has_the_configuration_of_a_run_and_flags_take_precedence(name: str, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("sut: vnf-l3\nchains: 2\n")
    settings = ("-c", f"{tmp_path}/lab.yaml", "--set", "networks=vlan", "--set", "vnf.capacity=20kpps")
    up = nodrop_lab("up", "--name", name, *settings, "--sut", "vnf-l2")
    assert up.returncode == 0, up.stderr
    record = registry.read_record(name)
    assert record
    assert (record.plan.sut, record.plan.chain_count, record.plan.networks) == ("vnf-l2", 2, "vlan")
    assert record.plan.sut_capacity_pps == 20_000
    refused = nodrop_lab("up", "--name", f"{name}-2", "--set", "sut=ext")
    assert refused.returncode
    assert "sut: a lab cannot contain 'ext'; choose one of" in refused.stderr


def test_a_commands_exit_status_is_handed_on(name: str) -> None:
    persistent_lab.bring_up(PLAN, name)
    assert nodrop_lab("exec", "--name", name, "sut", "--", "sh", "-c", "exit 9").returncode == 9


def test_a_command_in_a_lab_may_tidy_up_its_groups_as_tcpdump_does(name: str) -> None:
    persistent_lab.bring_up(PLAN, name)
    tidy_up = [sys.executable, "-c", "import os; os.setgid(0); os.setuid(0); os.setgroups([0])"]
    done = nodrop_lab("exec", "--name", name, "sut", "--", *tidy_up)
    assert done.returncode == 0, done.stderr


def test_a_stage_on_a_standing_lab_leaves_it_standing(name: str) -> None:
    lab = persistent_lab.bring_up(PLAN, name)
    with PersistentLabStage(name) as stage:
        assert stage.facts == lab.facts
        assert stage.plan == PLAN
        stage.check_alive()
    assert is_running(lab.holder)


def test_a_stage_on_a_standing_lab_notices_its_end(name: str) -> None:
    lab = persistent_lab.bring_up(PLAN, name)
    with PersistentLabStage(name) as stage:
        terminate_process(lab.keeper, 1.0)
        with pytest.raises(StageError, match="keeper of the SUT's namespace"):
            stage.check_alive()
        terminate_process(lab.holder, 1.0)
        with pytest.raises(StageError, match="the lab's process"):
            stage.check_alive()


def test_a_lab_whose_vnf_died_can_still_be_looked_into(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nodrop-vnf"
    program.write_text("""#!/bin/sh\necho '{"event":"ready"}'; cat\n""")
    program.chmod(0o755)
    monkeypatch.setenv("NODROP_BIN_DIR", str(tmp_path))
    lab = persistent_lab.bring_up(plan_lab("vnf-l2"), name)
    (vnf,) = lab.sut_processes
    terminate_process(vnf, 1.0)
    with pytest.raises(StageError, match=rf"the SUT's process {vnf.pid} died"), PersistentLabStage(name):
        pass
    assert nodrop_lab("exec", "--name", name, "sut", "--", "true").returncode == 0


def test_a_killed_lab_can_be_brought_up_again(name: str) -> None:
    lab = persistent_lab.bring_up(PLAN, name)
    os.kill(lab.holder.pid, signal.SIGKILL)
    terminate_process(lab.holder, 1.0)
    assert "has failed" in nodrop_lab("status").stdout
    with pytest.raises(StageError, match="died and the lab with it"), PersistentLabStage(name):
        pass
    again = persistent_lab.bring_up(PLAN, name)
    assert is_running(again.holder)


def test_a_second_lab_of_the_same_name_is_refused_and_the_first_stays(name: str) -> None:
    lab = persistent_lab.bring_up(PLAN, name)
    with pytest.raises(StageError, match="is already up"):
        persistent_lab.bring_up(PLAN, name)
    assert registry.read_record(name) == lab
    assert lab.describe_failure() is None


def test_a_lab_that_cannot_be_recorded_does_not_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[registry.LabRecord] = []

    def fail(_: str, lab: registry.LabRecord) -> None:
        started.append(lab)
        raise OSError("disk full")

    monkeypatch.setattr(registry, "write_record", fail)
    with pytest.raises(OSError, match="disk full"):
        persistent_lab.bring_up(PLAN, name)
    await_end(started[0].holder, 2.0)
    assert is_gone(started[0].holder)
    assert not registry.log_path(name).exists()


def test_a_process_that_got_a_recorded_pid_later_is_left_alone(name: str) -> None:
    lab = persistent_lab.bring_up(PLAN, name)
    persistent_lab.take_down(name)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        reused = identify_process(bystander.pid).model_copy(update={"start_ticks": lab.holder.start_ticks - 1})
        registry.write_record(name, lab.model_copy(update={"holder": reused, "keeper": reused}))
        assert persistent_lab.take_down(name) is False
        assert bystander.poll() is None
        bystander.kill()


def test_an_unknown_lab_is_an_error_that_names_the_known_ones(name: str) -> None:
    persistent_lab.bring_up(PLAN, name)
    with pytest.raises(StageError, match=rf"does not exist \(labs: .*{name}"):
        persistent_lab.find_lab("never-brought-up")


def test_a_name_that_leaves_the_records_directory_is_refused() -> None:
    with pytest.raises(ConfigError, match="lab name"):
        persistent_lab.bring_up(PLAN, "../elsewhere")


def test_records_are_private_under_any_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path / "nodrop")
    before = os.umask(0)
    try:
        directory = runtime_dirs.ensure_runtime_subdir("labs")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (directory, directory.parent)} == {0o700}


def test_records_that_others_could_write_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path)
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs").chmod(0o777)
    with pytest.raises(StageError, match="only this user can write"):
        registry.list_names()
