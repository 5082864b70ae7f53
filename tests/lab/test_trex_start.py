"""An installed TRex that nodrop starts, uses, keeps running and ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.trex.installed import install, install_broken
from tests.trex.running import free_ports, interfaces_of, run_trex_server, running_lab
from tests.waiting import await_true, stretch

from nodrop.errors import GeneratorError
from nodrop.generator.inspection import inspect_trex_ports
from nodrop.generator.trex.rpc import connection_error
from nodrop.generator.trex.server import ensure_running, log_text, stop_all
from nodrop.model.trex import TrexPlan, TrexStart
from nodrop.stage.registry import LabRecord

pytestmark = [pytest.mark.trex, pytest.mark.lab, pytest.mark.usefixtures("require_privilege", "require_root")]


@pytest.fixture(scope="module")
def lab() -> Iterator[LabRecord]:
    with running_lab() as record:
        yield record


@pytest.fixture(autouse=True)
def stop_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    stop_all()


def plan(lab: LabRecord, folder: Path, **start: object) -> TrexPlan:
    rpc_port, publish_port = free_ports()
    fields = {"directory": str(folder), "interfaces": interfaces_of(lab), "cores": 1, "software": True}
    start_plan = TrexStart(**fields | {"start_timeout_s": 30.0} | start)
    return TrexPlan(rpc_port=rpc_port, publish_port=publish_port, start=start_plan)


def is_gone(rpc_port: int) -> bool:
    return await_true(lambda: connection_error("127.0.0.1", rpc_port, 1.0) is not None, "the server ends")


def test_a_server_is_started_kept_for_the_next_run_and_ended(lab: LabRecord, tmp_path: Path) -> None:
    install(tmp_path, "v3.08", "--netns-pid", str(lab.facts.tester_pid))
    trex_plan = plan(lab, tmp_path)
    assert [port.number for port in inspect_trex_ports(trex_plan)] == [0, 1]
    first = ensure_running(trex_plan)
    assert first is not None and ensure_running(trex_plan) is first
    assert "Starting TRex v3.08" in (log_text(trex_plan.rpc_port) or "")
    stop_all()
    assert is_gone(trex_plan.rpc_port)


def test_one_that_runs_and_fits_is_used_and_left_running(lab: LabRecord, tmp_path: Path) -> None:
    with run_trex_server(lab) as other:
        trex_plan = plan(lab, tmp_path).model_copy(
            update={"rpc_port": other.rpc_port, "publish_port": other.publish_port}
        )
        assert ensure_running(trex_plan) is None
        stop_all()
        assert connection_error("127.0.0.1", other.rpc_port, 1.0) is None


def test_one_that_runs_otherwise_is_ended_and_ours_started(lab: LabRecord, tmp_path: Path) -> None:
    install(tmp_path, "v3.08", "--netns-pid", str(lab.facts.tester_pid))
    with run_trex_server(lab, "--cores", "3") as other:
        trex_plan = plan(lab, tmp_path).model_copy(
            update={"rpc_port": other.rpc_port, "publish_port": other.publish_port}
        )
        assert ensure_running(trex_plan) is not None
        assert other.process.wait(stretch(10)) == 0


def test_why_it_did_not_start_is_told_with_the_end_of_its_log(lab: LabRecord, tmp_path: Path) -> None:
    install_broken(tmp_path, "EAL: No free 2048 kB hugepages reported on node 0\nCould not start")
    with pytest.raises(GeneratorError) as refused:
        ensure_running(plan(lab, tmp_path))
    assert "it exited with status 255: it got no memory" in str(refused.value)
    assert str(refused.value).endswith("    Could not start")


def test_a_killed_nodrop_leaves_no_server_behind(lab: LabRecord, tmp_path: Path) -> None:
    install(tmp_path, "v3.08", "--netns-pid", str(lab.facts.tester_pid))
    trex_plan = plan(lab, tmp_path)
    program = """
import sys, time
from nodrop.generator.trex.server import ensure_running
from nodrop.model.trex import TrexPlan
ensure_running(TrexPlan.model_validate_json(sys.argv[1]))
print("up", flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-c", program, trex_plan.model_dump_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as nodrop:
        assert nodrop.stdout and nodrop.stdout.readline() == b"up\n"
        os.kill(nodrop.pid, signal.SIGKILL)
    assert is_gone(trex_plan.rpc_port)
