"""Losses planted at every hop of a lab: the ledger names the hop and the cause, and agrees with other counters."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.bench import Bench, Fault, bench
from tests.waiting import await_true

from nodrop.model.ledger import Hop
from nodrop.model.trial import TrialResult
from nodrop.observe.counter_reader import HopCounterReader
from nodrop.report.document.loss import describe_loss

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

FORWARD_DROP = """
table bridge planted {
  chain loss {
    type filter hook forward priority 0
    meta oifname "sut1" numgen inc mod 100 == 0 counter drop
  }
}
"""
INGRESS_DROP = """
table netdev planted {
  chain loss {
    type filter hook ingress device sut0 priority 0
    numgen inc mod 100 == 0 counter drop
  }
}
"""
QUEUE_WITH_LIMIT = "rate 4800kbit burst 1540 limit 6000"
"""10 000 frames of 60 bytes per second, with a queue of 100."""

STOP_COUNT, END_COUNT = 8_000, 7_000
"""Frames that the tester offers while a process is stopped, and after a trial's last fault."""
QUEUES_FOR_SECONDS = {"vnf.queue_slots": 16384}
"""Queues that hold 8 s of 4,000 frames per second over both directions, while other labs have the CPUs."""
OWN_FRAMES_MAX = 5
"""Frames that a router itself may send in a trial, e.g. reports of multicast listeners."""


def measure_observed(lab: Bench, load_pps: float, *faults: Fault, duration_s: float = 1.0) -> TrialResult:
    """Run a trial with its ledger, and with these faults, which it outlasts."""
    with HopCounterReader(lab.stage.facts, lab.plan.lab) as hops:
        hops.begin_trial()
        if faults:
            measured = lab.measure_faults(load_pps, *faults, end_count=END_COUNT)
        else:
            measured = lab.measure(load_pps, duration_s)
        result = hops.end_trial(measured)
    print(describe_loss(result))
    return result


def stop_a_while(pid: int) -> tuple[Fault, Fault]:
    """Return the faults that stop a process while the tester offers some frames."""
    return (
        Fault(5_000, lambda: os.kill(pid, signal.SIGSTOP)),
        Fault(STOP_COUNT, lambda: os.kill(pid, signal.SIGCONT)),
    )


def losses(result: TrialResult) -> dict[str, Hop]:
    """Return the hops that lost frames, by place, except for frames that the tester failed to send."""
    assert result.ledger
    hops = [hop for way in result.ledger.ways for hop in way.hops if hop.lost_count]
    return {hop.place: hop for hop in hops if [cause.name for cause in hop.causes] != ["not_sent"]}


def causes_of(hop: Hop) -> dict[str, int]:
    return {cause.name: cause.count for cause in hop.causes}


def packet_count(text: str) -> int:
    """Return the count of an nft rule."""
    return int(text.partition("packets ")[2].split()[0])


@pytest.mark.parametrize(
    ("sut", "keys"),
    [
        ("vnf-l2", {}),
        ("vnf-l3", {}),
        ("bridge", {}),
        ("router", {}),
        ("vnf-l2", {"hops": 2}),
        ("bridge", {"chains": 2, "networks": "ports"}),
    ],
)
def test_every_frame_that_arrived_passed_every_hop(sut: str, keys: dict[str, int]) -> None:
    with bench(sut=sut, **QUEUES_FOR_SECONDS | keys) as lab:
        result = measure_observed(lab, 4_000)
    assert result.lost_count == 0
    assert result.ledger and result.ledger.lost_count == result.unsent_count
    assert {hop.out_count for way in result.ledger.ways for hop in way.hops[1:]} == {
        stream.received_count for stream in result.streams
    }
    if sut != "router":
        assert result.ledger.remarks == ()


@pytest.mark.parametrize(
    ("rule", "table"), [(FORWARD_DROP, "bridge"), (INGRESS_DROP, "netdev")], ids=["forward", "ingress"]
)
def test_frames_that_netfilter_drops_are_lost_in_the_sut(rule: str, table: str, require_tool: RequireTool) -> None:
    nft = require_tool("nft")
    with bench(sut="bridge", bidirectional=False) as lab:
        lab.run("sut", nft, "-f", "-", text=rule)
        result = measure_observed(lab, 10_000)
        planted_count = packet_count(lab.run("sut", nft, "list", "table", table, "planted"))
    (hop,) = losses(result).values()
    assert hop.place == "the SUT, sut0 to sut1"
    assert hop.lost_count == planted_count > 10
    if os.geteuid() == 0:
        assert causes_of(hop) == {"NETFILTER_DROP": planted_count}


def test_frames_that_a_queueing_discipline_drops_are_lost_in_the_sut(require_tool: RequireTool) -> None:
    tc = require_tool("tc")
    with bench(sut="bridge", bidirectional=False) as lab:
        lab.run("sut", tc, *f"qdisc add dev sut1 root tbf {QUEUE_WITH_LIMIT}".split())
        result = measure_observed(lab, 20_000)
        dropped = re.search(r"dropped (\d+)", lab.run("sut", tc, "-s", "qdisc", "show", "dev", "sut1"))
    assert dropped
    hop = losses(result)["the SUT, sut0 to sut1"]
    assert causes_of(hop) == {"queue_dropped": int(dropped[1])}
    assert hop.unattributed_count == 0 and hop.lost_count > 1000
    assert "queueing discipline tbf of sut1" in describe_loss(result)


@pytest.mark.parametrize("backend", ["af_packet", "af_xdp"])
def test_frames_that_find_the_vnfs_ring_full_are_lost_there(backend: str, request: pytest.FixtureRequest) -> None:
    if backend == "af_xdp":
        request.getfixturevalue("require_root")
    with bench(sut="vnf-l2", bidirectional=False, **{"vnf.queue_slots": 64, "vnf.backend": backend}) as lab:
        result = measure_observed(lab, 20_000, *stop_a_while(lab.stage.facts.sut_processes[0].pid))
    assert result.tester_drop_count == 0
    hop = losses(result)["the VNF's receive ring of sut0"]
    assert causes_of(hop) == {"ring_full": result.lost_count}
    assert result.lost_count > 1000


def test_of_two_vnfs_in_line_the_one_that_lost_is_named() -> None:
    with bench(sut="vnf-l2", hops=2, bidirectional=False, **{"vnf.queue_slots": 64}) as lab:
        stop, resume = stop_a_while(lab.stage.facts.sut_processes[1].pid)

        def resume_after_the_first_vnf_forwarded_enough() -> None:
            before = lab.counters("sut", "inner1").received_count
            await_true(
                lambda: lab.counters("sut", "inner1").received_count >= before + END_COUNT, "the first VNF forwards"
            )
            resume.act()

        result = measure_observed(lab, 20_000, stop, Fault(0, resume_after_the_first_vnf_forwarded_enough))
    hop = losses(result)["the VNF's receive ring of inner1"]
    assert causes_of(hop) == {"ring_full": hop.lost_count}
    assert hop.lost_count > 1000


def test_frames_that_a_router_has_no_route_for_are_lost_in_it(require_tool: RequireTool) -> None:
    ip = require_tool("ip")
    with bench(sut="router", bidirectional=False) as lab:
        behind = lab.plan.lab.forwarders[0].ports[1]
        lab.run("sut", ip, "route", "del", behind.routes[0].prefix)
        result = measure_observed(lab, 5_000)
    hop = losses(result)["the SUT, sut0 to sut1"]
    assert hop.unattributed_count == 0
    assert hop.lost_count == pytest.approx(result.offered_count, abs=OWN_FRAMES_MAX)
    assert "no route to the destination" in describe_loss(result)


@pytest.mark.parametrize("backend", ["af_packet", "af_xdp"])
def test_frames_that_find_the_testers_ring_full_are_lost_by_the_tester(
    backend: str, request: pytest.FixtureRequest
) -> None:
    if backend == "af_xdp":
        request.getfixturevalue("require_root")
    slots = {"engine.queue_slots": 64, "engine.backend": backend, "vnf.queue_slots": 65536}
    with bench(sut="vnf-l2", bidirectional=False, **slots) as lab:
        vnf_pid, engine_pid = lab.stage.facts.sut_processes[0].pid, engine_pid_of_this_process()

        def release_while_the_tester_stands_still() -> None:
            os.kill(engine_pid, signal.SIGSTOP)
            before = lab.counters("sut", "sut1").sent_count
            os.kill(vnf_pid, signal.SIGCONT)
            await_true(
                lambda: lab.counters("sut", "sut1").sent_count >= before + END_COUNT, "the VNF forwards its queue"
            )
            os.kill(engine_pid, signal.SIGCONT)

        stop, _ = stop_a_while(vnf_pid)
        result = measure_observed(lab, 20_000, stop, Fault(STOP_COUNT, release_while_the_tester_stands_still))
    hop = losses(result)["the tester's receiver on tester1"]
    assert hop.side == "tester"
    assert causes_of(hop) == {"tester_dropped": result.tester_drop_count}
    assert hop.lost_count == result.lost_count > 1000


def test_frames_too_large_for_the_far_end_of_the_last_wire_are_lost_on_it(require_tool: RequireTool) -> None:
    ip = require_tool("ip")
    with bench(sut="bridge", frame_bytes=128, bidirectional=False) as lab:
        lab.run("tester", ip, *["link", "set", "tester1", "mtu", "68"])
        result = measure_observed(lab, 5_000)
    hop = losses(result)["the wire sut1 → tester1"]
    assert causes_of(hop) == {"receive_refused": hop.in_count}
    assert hop.out_count == 0 and hop.side == "wire"


def test_frames_that_the_first_wire_refuses_are_not_sent(require_tool: RequireTool) -> None:
    ip = require_tool("ip")
    with bench(sut="bridge", frame_bytes=128, bidirectional=False) as lab:
        lab.run("sut", ip, *["link", "set", "sut0", "mtu", "68"])
        result = measure_observed(lab, 5_000)
    assert result.offered_count == 0
    hop = losses(result)["the tester's sender on tester0"]
    assert hop.lost_count == result.intended_count
    assert "receive_refused" in causes_of(hop) and "refused by sut0" in describe_loss(result)


def test_an_interface_of_the_sut_that_is_down_loses_all(require_tool: RequireTool) -> None:
    ip = require_tool("ip")
    with bench(sut="bridge", bidirectional=False) as lab:
        lab.run("sut", ip, *["link", "set", "sut1", "down"])
        result = measure_observed(lab, 5_000)
    hop = losses(result)["the SUT, sut0 to sut1"]
    assert hop.out_count == 0 and hop.lost_count == result.offered_count
    if os.geteuid() == 0:
        assert hop.unattributed_count == 0


def test_without_its_program_the_ledger_is_empty_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(sut="bridge") as lab:
        monkeypatch.setattr("nodrop.observe.counter_reader.find_binary", lambda *_: Path("/bin/false"))
        result = measure_observed(lab, 1_000, duration_s=0.2)
    assert result.ledger and result.ledger.ways == ()
    assert "were not read" in result.ledger.remarks[0]


def engine_pid_of_this_process() -> int:
    """Return the process id of the engine that a bench has started."""
    for child in children(os.getpid()):
        if "nodrop-engine" in Path(f"/proc/{child}/cmdline").read_text():
            return child
    raise AssertionError("no engine runs")


def children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())
