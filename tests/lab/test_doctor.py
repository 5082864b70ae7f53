"""`nodrop doctor` on this machine, and on machines with something missing."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.running import plan_lab

from nodrop.cli import nodrop
from nodrop.generator.engine_process import EngineProcess
from nodrop.run import self_test
from nodrop.stage import capability_checks, namespace
from nodrop.stage.netns import NetnsStage
from nodrop.stage.sut_process import PRIORITY

pytestmark = pytest.mark.lab


def install(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    for name in ("nodrop-engine", "nodrop-vnf"):
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("NODROP_BIN_DIR", str(directory))


def test_a_machine_that_has_everything_is_told_that_a_run_works() -> None:
    result = CliRunner().invoke(nodrop, ["doctor"])
    assert result.exit_code == 0, result.output
    assert len([line for line in result.output.splitlines() if line.startswith(("ok", "note"))]) == 18
    assert "ok    af_packet" in result.output
    assert "    CPU quota     " in result.output
    assert " built in; " in result.output


def test_a_back_end_that_is_refused_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of 9216 bytes exceed the limit of AF_XDP."""
    real = self_test.Config
    monkeypatch.setattr(self_test, "Config", lambda **keys: real(frame_bytes=9216, **keys))
    checks = {check.name: check for check in self_test.check_backends()}
    assert checks["af_packet"].ok
    assert not checks["xdp_live"].ok
    assert "af_packet" in checks["xdp_live"].remedy


def test_a_program_that_does_not_run_fails_the_machine_with_status_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "exit 1")
    result = CliRunner().invoke(nodrop, ["doctor"])
    assert result.exit_code == 4
    assert "no    engine        does not run" in result.output


def test_a_check_leaves_this_process_where_it_was() -> None:
    before = Path("/proc/self/ns/net").stat().st_ino
    capability_checks.check_namespaces()
    capability_checks.check_packet_sockets()
    assert Path("/proc/self/ns/net").stat().st_ino == before


def test_a_refused_namespace_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(namespace, "_call", refuse)
    check = capability_checks.check_namespaces()
    assert not check.ok
    assert "run as root" in check.remedy


@pytest.mark.usefixtures("require_root")
@pytest.mark.parametrize(("priority", "niceness"), [("raised", -10), ("normal", os.getpriority(os.PRIO_PROCESS, 0))])
def test_tester_and_sut_take_priority_unless_it_is_to_stay_normal(
    priority: str, niceness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PRIORITY, priority)
    with NetnsStage(plan_lab("vnf-l2"), "test") as stage:
        engine = EngineProcess(stage.facts.tester_pid, stage.check_alive)
        pids = [engine._child.pid, *(process.pid for process in stage.facts.sut_processes)]
        assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in pids] == [niceness] * 2
        engine.end()
    check = capability_checks.check_priority()
    assert check.ok == (priority == "raised")
    assert (f"unset {PRIORITY}" in check.remedy) == (priority == "normal")


def test_a_setting_that_forbids_namespaces_is_named() -> None:
    """The limit is per user namespace, so the test sets it in a new one."""

    def forbid_and_try() -> str:
        namespace._unshare_user()
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
        Path("/proc/sys/user/max_net_namespaces").write_text("0")
        return namespace.unshare_lab()

    result, refusal = capability_checks._try_in_child(forbid_and_try)
    assert result == ""
    assert "sysctl -w user.max_" in refusal
