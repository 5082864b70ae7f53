"""The private lab: it comes up, carries frames, and is removed however it ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.running import plan_lab
from tests.waiting import await_true, stretch

from nodrop.errors import StageError
from nodrop.model.choices import SutKind
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.netns import NetnsStage
from nodrop.system.native_binaries import find_binary

pytestmark = pytest.mark.lab

WITHOUT_PRIVILEGE = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python with an ordinary user's privileges for namespaces, also as root."""

HOLD_LAB = """
import sys, time
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.netns import NetnsStage
with NetnsStage(LabPlan.model_validate_json(sys.argv[1]), "test") as stage:
    print(stage.facts.model_dump_json(), flush=True)
    time.sleep(60)
"""

SEND_ACROSS = """
import socket, sys
from nodrop.stage.namespace import join_namespaces
join_namespaces(int(sys.argv[1]))
def port(name):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    packets.bind((name, 0))
    packets.settimeout(1.0)
    return packets
near, far = port(sys.argv[2]), port(sys.argv[3])
header = bytes.fromhex("02000000aa0102000000aa0288b5")
sent = [header + bytes([number]).ljust(46, b"x") for number in range(10)]
for frame in sent:
    near.send(frame)
received = [far.recv(2048) for _ in sent]
far.settimeout(0.2)
try:
    received.append(far.recv(2048))
except TimeoutError:
    pass
assert [frame[14:] for frame in received] == [frame[14:] for frame in sent], received
assert {frame[:6].hex(":") for frame in received} == {sys.argv[4]}, received
"""


TESTER_MACS = ("02:6e:64:00:00:00", "02:6e:64:00:00:01")
BRIDGED_MAC = "02:00:00:00:aa:01"
"""The destination of the frames above, which a bridge does not change."""


def send_across(facts: StageFacts, near: str, far: str, received_mac: str, *prefix: str) -> None:
    """Assert that ten frames sent from one tester port arrive at the other, in order and without any other frame."""
    arguments = [sys.executable, *prefix, "-c", SEND_ACROSS, str(facts.tester_pid), near, far, received_mac]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=stretch(20), check=False)
    assert done.returncode == 0, done.stderr


def lab_plan(sut: SutKind = "bridge", **keys: object) -> LabPlan:
    return plan_lab(sut, **keys)


def install_fake_vnf(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = directory / "nodrop-vnf"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("NODROP_BIN_DIR", str(directory))


def network_namespace(pid: int | str) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


class LabNamespaces:
    """The network namespaces of a lab.

    They stay open: the kernel gives the number of a namespace that has gone to a new one, perhaps of another test.
    """

    def __init__(self, facts: StageFacts) -> None:
        """Open them."""
        self.names = set[str]()
        for pid in (facts.tester_pid, facts.sut_pid):
            descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, descriptor)
            self.names.add(network_namespace(pid))


def processes_in(namespaces: LabNamespaces) -> set[int]:
    pids = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if network_namespace(entry.name) in namespaces.names:
                pids.add(int(entry.name))
    return pids


def await_empty(namespaces: LabNamespaces) -> None:
    await_true(lambda: not processes_in(namespaces), lambda: f"processes remain: {processes_in(namespaces)}")


@contextlib.contextmanager
def process_with_lab(sut: SutKind, *prefix: str) -> Iterator[tuple[subprocess.Popen[str], StageFacts]]:
    arguments = [sys.executable, *prefix, "-c", HOLD_LAB, lab_plan(sut).model_dump_json()]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, StageFacts.model_validate_json(process.stdout.readline())
        finally:
            process.kill()


def test_a_lab_has_two_namespaces_apart_from_the_callers() -> None:
    with NetnsStage(lab_plan(), "test") as stage:
        namespaces = LabNamespaces(stage.facts)
        assert len(namespaces.names) == 2
        assert network_namespace("self") not in namespaces.names


def test_a_lab_leaves_no_process_and_no_link_behind() -> None:
    links = socket.if_nameindex()
    with NetnsStage(lab_plan(), "test") as stage:
        namespaces = LabNamespaces(stage.facts)
        assert processes_in(namespaces) == {stage.facts.tester_pid, stage.facts.sut_pid}
        assert socket.if_nameindex() == links
    assert processes_in(namespaces) == set()
    assert socket.if_nameindex() == links


def test_facts_tell_of_every_interface_in_the_plans_order() -> None:
    with NetnsStage(lab_plan().model_copy(update={"mtu_bytes": 2000}), "test") as stage:
        interfaces = stage.facts.interfaces
    assert [(i.namespace, i.name) for i in interfaces] == [
        ("tester", "tester0"),
        ("tester", "tester1"),
        ("sut", "sut0"),
        ("sut", "sut1"),
    ]
    assert {i.driver for i in interfaces} == {"veth"}
    assert {i.mtu_bytes for i in interfaces} == {2000}
    assert len({i.mac for i in interfaces}) == 4


def test_the_bridge_is_known_to_work_on_the_testers_cpu() -> None:
    with NetnsStage(lab_plan(), "test") as stage:
        assert stage.facts.sut_shares_tester_cpu


@pytest.mark.parametrize(("near", "far"), [("tester0", "tester1"), ("tester1", "tester0")])
def test_the_bridge_carries_frames_and_nothing_else(near: str, far: str) -> None:
    with NetnsStage(lab_plan(), "test") as stage:
        send_across(stage.facts, near, far, BRIDGED_MAC)


@pytest.mark.parametrize(
    ("near", "far", "received_mac"),
    [("tester0", "tester1", TESTER_MACS[1]), ("tester1", "tester0", TESTER_MACS[0])],
)
def test_the_loopback_vnf_carries_frames_with_the_macs_of_the_plan(near: str, far: str, received_mac: str) -> None:
    try:
        find_binary("nodrop-vnf", StageError)
    except StageError as missing:
        pytest.skip(str(missing))
    with NetnsStage(lab_plan("vnf-l2"), "test") as stage:
        send_across(stage.facts, near, far, received_mac)
        stage.check_alive()


def test_without_privilege_the_lab_stands_in_a_user_namespace_and_carries_frames() -> None:
    prefix = ("-c", WITHOUT_PRIVILEGE)
    with process_with_lab("bridge", *prefix) as (process, facts):
        assert facts.privilege == "user namespace"
        namespaces = LabNamespaces(facts)
        send_across(facts, "tester0", "tester1", BRIDGED_MAC, *prefix)
        process.kill()
        process.wait()
        await_empty(namespaces)


def test_two_labs_of_the_same_plan_stand_side_by_side() -> None:
    with NetnsStage(lab_plan(), "one") as one, NetnsStage(lab_plan(), "two") as two:
        assert not LabNamespaces(one.facts).names & LabNamespaces(two.facts).names


def test_a_killed_holder_takes_the_lab_with_it_and_is_noticed() -> None:
    with NetnsStage(lab_plan(), "test") as stage:
        stage.check_alive()
        namespaces = LabNamespaces(stage.facts)
        os.kill(stage.facts.tester_pid, signal.SIGKILL)
        await_empty(namespaces)
        for _ in range(2):
            with pytest.raises(StageError, match=rf"the lab's process {stage.facts.tester_pid} died"):
                stage.check_alive()


def test_a_killed_keeper_is_noticed() -> None:
    with NetnsStage(lab_plan(), "test") as stage:
        os.kill(stage.facts.sut_pid, signal.SIGKILL)
        with pytest.raises(StageError, match="the SUT of lab test failed"):
            await_failure(stage)


@pytest.mark.parametrize("sut", ["bridge", "vnf-l2"])
def test_a_killed_caller_takes_the_lab_with_it(sut: SutKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake_vnf(tmp_path, monkeypatch, """echo '{"event":"ready"}'; cat""")
    with process_with_lab(sut) as (process, facts):
        namespaces = LabNamespaces(facts)
        process.kill()
        process.wait()
        await_empty(namespaces)


def test_an_interrupted_caller_takes_the_lab_down() -> None:
    with process_with_lab("bridge") as (process, facts):
        namespaces = LabNamespaces(facts)
        process.send_signal(signal.SIGINT)
        process.wait()
        await_empty(namespaces)


def test_a_vnf_gets_its_namespace_ports_and_macs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake_vnf(tmp_path, monkeypatch, f"""echo "$@" > {tmp_path}/arguments; echo '{{"event":"ready"}}'; cat""")
    with NetnsStage(lab_plan("vnf-l2", **{"vnf.core": max(os.sched_getaffinity(0))}), "test") as stage:
        assert not stage.facts.sut_shares_tester_cpu
        assert (tmp_path / "arguments").read_text().split() == [
            "l2",
            *("--netns", str(stage.facts.sut_pid)),
            *("--port", f"sut0,peer={TESTER_MACS[0]}"),
            *("--port", f"sut1,peer={TESTER_MACS[1]}"),
            *("--backend", "af_packet"),
            *("--queue-slots", "1024"),
            *("--mtu", "1500"),
            *("--core", str(max(os.sched_getaffinity(0)))),
            *("--pages", "usual"),
        ]


def test_a_vnf_that_dies_is_noticed_with_its_status_and_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_fake_vnf(tmp_path, monkeypatch, """echo '{"event":"ready"}'; sleep 0.2; echo out of luck >&2; exit 7""")
    with NetnsStage(lab_plan("vnf-l2"), "test") as stage:
        stage.check_alive()
        with pytest.raises(StageError, match=r"(?s)exited with status 7.*out of luck"):
            await_failure(stage)
        with pytest.raises(StageError, match="exited with status 7"):
            stage.check_alive()


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("""echo '{"event":"error","message":"sut0: does not exist"}'; exit 1""", "sut0: does not exist"),
        ("echo cannot begin >&2; exit 3", r"(?s)exited with status 3 before it was ready.*cannot begin"),
        ("echo nonsense; cat", "nonsense"),
    ],
)
def test_a_vnf_that_does_not_start_is_an_error_in_its_own_words(
    script: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_fake_vnf(tmp_path, monkeypatch, script)
    with pytest.raises(StageError, match=complaint), NetnsStage(lab_plan("vnf-l2"), "test"):
        pass


def test_a_missing_vnf_is_an_error_that_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODROP_BIN_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    with pytest.raises(StageError, match=f"program nodrop-vnf not found in {tmp_path}"):
        find_binary("nodrop-vnf", StageError)


def test_a_refused_wiring_is_an_error_and_leaves_nothing() -> None:
    duplicate = lab_plan().model_copy(update={"tester_interfaces": ("same", "same")})
    with pytest.raises(StageError, match="cannot create veth pairs"), NetnsStage(duplicate, "test"):
        pass


def await_failure(stage: NetnsStage) -> None:
    def check_alive() -> None:
        stage.check_alive()

    await_true(check_alive, "the stage fails")
