"""Every SUT of the lab: frames pass, the kernel's counts agree, and nothing is left behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.lab.bench import Bench, bench
from tests.lab.test_netns_stage import WITHOUT_PRIVILEGE, LabNamespaces, await_empty, await_failure
from tests.running import plan_lab
from tests.waiting import stretch

from nodrop.errors import StageError
from nodrop.model.choices import SutKind
from nodrop.model.trial import TrialResult
from nodrop.plan import addressing
from nodrop.plan.chain_ends import find_entrance_mac
from nodrop.stage import ovs
from nodrop.stage.netns import NetnsStage
from nodrop.stage.process_identity import await_end, identify_process, is_running

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

SUTS = [sut for sut in get_args(SutKind) if sut not in ("wire", "ext", "openstack")]
NEED_ROOT = {"xdp"}
LOAD_PPS, DURATION_S = 8_000, 0.05
"""200 frames each way: other work may stop Open vSwitch, whose sockets buffer 277 small frames by default."""

SEND_ONE = """
import socket, struct, sys
near_name, far_name = sys.argv[1:3]
frame = bytes.fromhex(sys.argv[3])
def port(name):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    packets.bind((name, 0))
    packets.settimeout(2.0)
    return packets
near, far = port(near_name), port(far_name)
near.send(frame)
while True:
    received = far.recv(2048)
    if received[-8:] == frame[-8:]:
        print(received.hex())
        break
"""
"""Sends a frame from one tester port and prints it as received at another."""


@pytest.fixture
def require_sut(require_tool: Callable[[str], Path], request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that skips the test, or fails if labs are required, where a SUT is not available."""

    def require(sut: str) -> None:
        if sut in NEED_ROOT:
            request.getfixturevalue("require_root")
        if sut == "ovs":
            require_tool("ovs-vsctl")

    return require


def send_one(lab: Bench, frame: bytes, near: str = "tester0", far: str = "tester1") -> bytes:
    return bytes.fromhex(lab.run("tester", sys.executable, "-c", SEND_ONE, near, far, frame.hex()))


def ethernet(lab: Bench, kind: int) -> bytes:
    macs = bytes.fromhex((find_entrance_mac(lab.plan.lab, 0, 0) + addressing.build_tester_mac(0)).replace(":", ""))
    return macs + kind.to_bytes(2)


def internet_checksum(header: bytes) -> int:
    """Return the checksum of RFC 1071, calculated word by word."""
    total = sum(int.from_bytes(header[at : at + 2]) for at in range(0, len(header), 2))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return 0xFFFF - total


def ipv4_packet() -> bytes:
    header = bytes.fromhex("4500002e000040004011 0000 c6120001 c6130001")
    return header[:10] + internet_checksum(header).to_bytes(2) + header[12:] + b"payload." + bytes(10) + b"nodropv4"


def ipv6_packet() -> bytes:
    source, destination = (
        bytes.fromhex("20010002" + "00" * 11 + "01"),
        bytes.fromhex("200100020000 8000" + "00" * 7 + "01"),
    )
    return bytes.fromhex("60000000 0010 11 40") + source + destination + bytes(8) + b"nodropv6"


def assert_exact_counts(lab: Bench) -> TrialResult:
    """Assert that a trial loses nothing, and that the SUT's interfaces counted exactly its frames; return the trial."""
    ports = lab.plan.lab.sut_interfaces
    lab.measure(LOAD_PPS, DURATION_S)  # its frames pass after the last learning frame
    before = [lab.counters("sut", port) for port in ports]
    result = lab.measure(LOAD_PPS, DURATION_S)
    after = [lab.counters("sut", port) for port in ports]
    for stream in result.streams:
        assert stream.received_count == stream.offered_count > 0
        in_count = after[stream.tx_port].received_count - before[stream.tx_port].received_count
        out_count = after[stream.rx_port].sent_count - before[stream.rx_port].sent_count
        assert (in_count, out_count) == (stream.offered_count, stream.offered_count)
    return result


@pytest.mark.parametrize("sut", SUTS)
def test_frames_pass_both_ways_and_the_kernel_counts_the_same(sut: str, require_sut: Callable[[str], None]) -> None:
    require_sut(sut)
    with bench(sut=sut) as lab:
        assert_exact_counts(lab)


@pytest.mark.parametrize(("sut", "hops"), [("router", 1), ("vnf-l3", 1), ("vnf-l3", 2)])
def test_routers_forward_ipv6_as_well(sut: str, hops: int) -> None:
    with bench(sut=sut, hops=hops, **{"traffic.ip": 6, "frame_bytes": 128}) as lab:
        assert_exact_counts(lab)


@pytest.mark.usefixtures("require_root")
@pytest.mark.parametrize("sut", ["vnf-l2", "vnf-l3"])
def test_a_vnf_forwards_over_af_xdp_as_well(sut: str) -> None:
    with bench(sut=sut, **{"vnf.backend": "af_xdp"}) as lab:
        assert lab.stage.facts.sut == f"{sut} over af_xdp"
        assert_exact_counts(lab)


@pytest.mark.parametrize(
    ("sut", "keys"),
    [
        ("vnf-l2", {"chains": 2, "networks": "ports"}),
        ("vnf-l2", {"hops": 2}),
        ("vnf-l3", {"chains": 2, "networks": "ports", "hops": 2}),
        ("bridge", {"chains": 3, "networks": "ports", "hops": 2}),
        ("router", {"chains": 2, "networks": "ports"}),
        ("xdp", {"chains": 2, "networks": "ports"}),
        ("ovs", {"chains": 2, "networks": "ports"}),
    ],
)
def test_each_chain_forwards_its_own_frames_and_no_others(
    sut: str, keys: dict[str, Any], require_sut: Callable[[str], None]
) -> None:
    require_sut(sut)
    with bench(sut=sut, **keys) as lab:
        assert len(lab.plan.traffic.streams) == 2 * keys.get("chains", 1)
        result = assert_exact_counts(lab)
        least_count = min(stream.offered_count for stream in result.streams)
        for end in set(lab.plan.lab.interfaces("sut")) - set(lab.plan.lab.sut_interfaces):
            assert lab.counters("sut", end).received_count >= least_count


@pytest.mark.parametrize(
    ("sut", "hops", "ttl"),
    [("router", 1, 63), ("vnf-l3", 1, 63), ("vnf-l3", 2, 62), ("bridge", 1, 64), ("vnf-l2", 2, 64)],
)
def test_routers_and_only_routers_take_one_from_what_a_packet_has_to_live(sut: str, hops: int, ttl: int) -> None:
    with bench(sut=sut, hops=hops) as lab:
        # Each router drops its first packet while it resolves the next hop.
        for _ in range(hops if sut == "vnf-l3" else 0):
            with pytest.raises(AssertionError):
                send_one(lab, ethernet(lab, 0x86DD) + ipv6_packet())
        received = send_one(lab, ethernet(lab, 0x0800) + ipv4_packet())
        assert received[22] == ttl and internet_checksum(received[14:34]) == 0
        received = send_one(lab, ethernet(lab, 0x86DD) + ipv6_packet())
        assert received[21] == ttl
        if sut in ("router", "vnf-l3"):
            assert received[:12].hex() == "026e64000001" + "026e64000101"


@pytest.mark.parametrize("sut", SUTS)
def test_a_killed_holder_takes_every_part_of_the_sut_along(sut: SutKind, require_sut: Callable[[str], None]) -> None:
    require_sut(sut)
    mounts = Path("/proc/self/mounts").read_text()
    with NetnsStage(plan_lab(sut), "test") as stage:
        namespaces = LabNamespaces(stage.facts)
        processes = [identify_process(process.pid) for process in stage.facts.sut_processes]
        os.kill(stage.facts.tester_pid, signal.SIGKILL)
        await_empty(namespaces)
    for process in processes:  # a process outside its namespace may still be ending
        await_end(process, timeout_s=2.0)
        assert not is_running(process)
    assert Path("/proc/self/mounts").read_text() == mounts
    assert not Path(ovs.DATABASE).exists()


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    ("sut", "keys"), [("ovs", {}), ("vnf-l3", {"hops": 2}), ("xdp", {"chains": 2, "networks": "ports"})]
)
def test_whichever_process_of_a_sut_dies_is_noticed_and_nothing_stays(
    sut: SutKind, keys: dict[str, Any], position: int, require_sut: Callable[[str], None]
) -> None:
    require_sut(sut)
    with NetnsStage(plan_lab(sut, **keys), "test") as stage:
        namespaces = LabNamespaces(stage.facts)
        stage.check_alive()
        os.kill(stage.facts.sut_processes[position].pid, signal.SIGKILL)
        with pytest.raises(StageError, match=r"the SUT of lab test failed: .* was killed by SIGKILL"):
            await_failure(stage)
    await_empty(namespaces)


@pytest.mark.parametrize("sut", ["bridge", "router", "vnf-l2", "vnf-l3", "ovs"])
def test_without_privilege_it_works_all_the_same(sut: str, require_sut: Callable[[str], None]) -> None:
    require_sut(sut)
    done = run_without_privilege(sut)
    assert done.returncode == 0, done.stderr


def test_without_privilege_xdp_says_what_it_needs() -> None:
    assert "needs CAP_BPF and CAP_NET_ADMIN" in run_without_privilege("xdp").stderr


def run_without_privilege(sut: str) -> subprocess.CompletedProcess[str]:
    script = f"from tests.lab.bench import bench\nwith bench(sut={sut!r}) as lab:\n    lab.measure(1000, 0.2)"
    command = [sys.executable, "-c", WITHOUT_PRIVILEGE, "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=stretch(60), check=False, cwd=Path(__file__).parents[2]
    )


def test_open_vswitch_that_is_not_installed_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(StageError, match=r"ovsdb-server, .* not found; .*apt-get install openvswitch-switch"):
        ovs.find_programs()
