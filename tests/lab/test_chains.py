"""Chains on two tester ports: each forwards its own frames, all of them add up, nothing leaks, nothing stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import Bench, Fault, bench
from tests.lab.test_netns_stage import WITHOUT_PRIVILEGE, LabNamespaces, await_empty
from tests.waiting import stretch

from nodrop.model.trial import TrialResult
from nodrop.observe import open_observers

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

LOAD_PPS, DURATION_S = 4_000, 0.2
"""200 frames of each stream: other work may stop Open vSwitch, whose sockets buffer 277 small frames by default."""

LISTEN = """
import json, socket, sys, time
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
packets.setsockopt(263, 23, 1)
packets.settimeout(0.1)
print("ready", flush=True)
received, end = {}, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    try:
        frame, (name, *_) = packets.recvfrom(2048)
    except TimeoutError:
        continue
    at = frame.find(b"nDr1")
    if at >= 0:
        stream = int.from_bytes(frame[at + 4 : at + 6])
        received.setdefault(name, {}).setdefault(stream, 0)
        received[name][stream] += 1
print(json.dumps(received))
"""
"""Prints the frames that arrived at each interface of a namespace, per stream."""


def measure_observed(lab: Bench, load_pps: float = LOAD_PPS, *faults: Fault) -> TrialResult:
    """Run a trial with the counts of every hop, and with these faults, which it outlasts."""
    with open_observers(lab.stage.facts, lab.plan) as observers:
        for observer in observers:
            observer.begin_trial()
        result = lab.measure_faults(load_pps, *faults, end_count=4000) if faults else lab.measure(load_pps, DURATION_S)
        for observer in reversed(observers):
            result = observer.end_trial(result)
    return result


def assert_counts_add_up(lab: Bench, result: TrialResult) -> None:
    """Assert that nothing is lost, and that the counts of every hop add up per chain and to those of the ports."""
    chains = range(lab.plan.lab.chain_count)
    assert {(way.chain, way.tx_port) for way in result.chain_hops} == {
        (chain, port) for chain in chains for port in (0, 1)
    }
    for way in result.chain_hops:
        counts = [hop.frame_count for hop in way.hops if hop.frame_count is not None]
        assert len(set(counts)) == 1 and counts[0] > 0, way
    for port in (0, 1):
        sent = sum(way.hops[0].frame_count or 0 for way in result.chain_hops if way.tx_port == port)
        assert sent == sum(stream.offered_count for stream in result.streams if stream.tx_port == port)
        counted = [hop.out_count for way in (result.ledger.ways if result.ledger else ()) for hop in way.hops[1:]]
        assert set(counted) == {sent}


@pytest.fixture
def require_sut(request: pytest.FixtureRequest, require_tool: Callable[[str], Path]) -> Callable[[str], None]:
    def require(sut: str) -> None:
        if sut == "xdp":
            request.getfixturevalue("require_root")
        if sut == "ovs":
            require_tool("ovs-vsctl")

    return require


@pytest.mark.parametrize(
    "keys",
    [
        {"networks": "vlan"},
        {"networks": "vlan", "vlans": [[100, 101], [100, 4094]]},
        {"networks": "shared"},
        {"networks": "shared", "vlans": [[7], [8]]},
        {"networks": "vlan", "hops": 2},
        {"networks": "vlan", "sut": "bridge"},
        {"networks": "vlan", "sut": "ovs"},
        {"networks": "vlan", "sut": "xdp"},
        {"networks": "vlan", "sut": "vnf-l3", "hops": 2},
        {"networks": "shared", "sut": "vnf-l3"},
        {"networks": "shared", "sut": "router"},
        {"networks": "vlan", "sut": "vnf-l3", "routers": True},
        {"networks": "shared", "sut": "vnf-l3", "routers": True},
    ],
    ids=lambda keys: "-".join(map(str, keys.values())),
)
def test_two_ports_carry_two_chains_and_all_counts_add_up(
    keys: dict[str, Any], require_sut: Callable[[str], None]
) -> None:
    require_sut(keys.get("sut", "vnf-l2"))
    with bench(**{"chains": 2, "frame_bytes": 128, "flow_count": 64} | keys) as lab:
        measure_observed(lab)  # routers probe their neighbors from time to time, the first time at once
        assert_counts_add_up(lab, measure_observed(lab))


@pytest.mark.parametrize("networks", ["vlan", "shared"])
def test_no_chain_hears_another(networks: str) -> None:
    with bench(chains=3, networks=networks, frame_bytes=128, flow_count=64) as lab:
        command = lab.inside("sut", sys.executable, "-c", LISTEN, "2")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listener:
            assert listener.stdout and listener.stdout.readline() == "ready\n"
            result = lab.measure(1_000, DURATION_S)
            received = json.loads(listener.stdout.readlines()[-1])
        streams = {stream.stream_id: stream for stream in lab.plan.traffic.streams}
        assert sum(stream.received_count for stream in result.streams) > 0
        checked = 0
        for chain in lab.stage.facts.chains:
            for interface in chain.interfaces:
                assert {streams[int(stream)].chain for stream in received[interface]} == {chain.chain}
                checked += 1
        assert checked == 6


def test_interfaces_that_are_to_be_idle_are_up_and_silent() -> None:
    with bench(chains=2, networks="shared", idle_interfaces=3) as lab:
        lab.measure(LOAD_PPS, DURATION_S)
        idle = [name for chain in lab.stage.facts.chains for name in chain.idle_interfaces]
        assert len(idle) == 6
        links = lab.run("sut", "ip", "-br", "link")
        for name in idle:
            assert any(line.split()[0].split("@")[0] == name and "UP" in line for line in links.splitlines())
            assert tuple(lab.counters("sut", name)) == (0, 0)


def test_facts_say_what_every_chain_is() -> None:
    with bench(chains=2, hops=2, networks="vlan", vlans=[[100, 101], [200, 201]], frame_bytes=128) as lab:
        facts = lab.stage.facts
        assert [chain.vlans for chain in facts.chains] == [(100, 200), (101, 201)]
        assert len({pid for chain in facts.chains for pid in chain.pids}) == 4
        for chain in facts.chains:
            for pid in chain.pids:
                assert "nodrop-vnf" in Path(f"/proc/{pid}/cmdline").read_text()
        assert facts.up_s is not None and facts.up_s > 0


def test_64_chains_come_up_carry_frames_and_go() -> None:
    with bench(chains=64, frame_bytes=128, flow_count=1280) as lab:
        result = measure_observed(lab, 6_400)
        facts, plan = lab.stage.facts, lab.plan
        assert_counts_add_up(lab, result)
        namespaces = LabNamespaces(facts)
        processes = [process.pid for process in facts.sut_processes]
    await_empty(namespaces)
    assert len(processes) == 66 and not any(Path(f"/proc/{pid}").exists() for pid in processes)
    assert plan.lab.chain_count == 64


@pytest.mark.truth
def test_vnfs_of_idle_chains_leave_the_cpu_alone() -> None:
    """20 VNFs that polled all the time would take 20 CPUs."""
    with bench(chains=20, networks="shared", flow_count=400) as lab:
        pids = [process.pid for process in lab.stage.facts.sut_processes]
        time.sleep(0.3)
        before = sum(cpu_s(pid) for pid in pids)
        time.sleep(1)
        assert sum(cpu_s(pid) for pid in pids) - before < 0.1


def cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def test_frames_lost_at_an_edge_switch_are_attributed_to_it() -> None:
    """The switch is stopped for longer than its ring can buffer."""
    with bench(chains=2, networks="shared", flow_count=64) as lab:
        edge = next(process for process in lab.stage.facts.sut_processes if process.name == "edge left")
        result = measure_observed(
            lab,
            40_000,
            Fault(0, lambda: os.kill(edge.pid, signal.SIGSTOP)),
            Fault(20_000, lambda: os.kill(edge.pid, signal.SIGCONT)),
        )
        assert result.ledger and result.lost_count > 0
        lost = {hop.place: hop for way in result.ledger.ways for hop in way.hops if hop.lost_count}
        ring = lost["the edge switch's receive ring of sut0"]
        assert ring.side == "wire" and ring.lost_count > 1_000
        assert [(cause.name, cause.count) for cause in ring.causes] == [("ring_full", ring.lost_count)]


@pytest.mark.parametrize("keys", ["chains=3", "chains=3, networks='shared', sut='vnf-l3', routers=True"])
def test_without_privilege_chains_come_up_all_the_same(keys: str) -> None:
    script = (
        f"from tests.lab.bench import bench\nwith bench({keys}, frame_bytes=128) as lab:\n    lab.measure(1000, 0.2)"
    )
    command = [sys.executable, "-c", WITHOUT_PRIVILEGE, "-c", script]
    place = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=False, cwd=place)
    assert done.returncode == 0, done.stderr
