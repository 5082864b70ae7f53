"""Ledgers from two readings and a trial's counts: tables of the kernel's counters for a loss at each hop."""

from pathlib import Path
from typing import NamedTuple

import pytest
from tests.factories import simulated_trial
from tests.recorded import overwrite_result, record_run
from tests.suts import Step

from nodrop.cli import main
from nodrop.model.lab_plan import Forwarder, ForwarderPort, LabPlan
from nodrop.model.ledger import LossLedger
from nodrop.model.neighbor import NeighborCounts
from nodrop.model.trial import StreamCounts, TrialResult
from nodrop.observe.ledger import build_loss_ledger
from nodrop.observe.path_hops import CounterDelta
from nodrop.report.document.loss import describe_loss

SENT = 1000


class Lab(NamedTuple):
    """The kernel's counters when 1000 frames go each way and the way from port 0 has losses."""

    counters: dict[str, int]
    offered_count: int
    received_count: int
    tester_drop_count: int = 0
    corrupted_count: int = 0


def lab_of(forwarders: tuple[tuple[str, str], ...]) -> LabPlan:
    """Return a lab with a bridge for each pair of interfaces, in line between two tester ports; none is a wire."""

    def port(name: str) -> ForwarderPort:
        return ForwarderPort(interface=name, mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02")

    created = tuple(Forwarder(ports=(port(near), port(far))) for near, far in forwarders)
    return LabPlan(sut="bridge" if created else "wire", forwarders=created, sut_queue_slots=64)


ONE = lab_of((("sut0", "sut1"),))


def counters(entered: int = SENT, left: int = SENT, arrived: int = SENT, **more: int) -> dict[str, int]:
    """Return interfaces of both ways; on the way from port 0, these counts reached sut0, left sut1, reached tester1."""
    forth = {"sut/sut0/rx_packets": entered, "sut/sut1/tx_packets": left, "tester/tester1/rx_packets": arrived}
    back = dict.fromkeys(("sut/sut1/rx_packets", "sut/sut0/tx_packets", "tester/tester0/rx_packets"), SENT)
    return forth | back | {name.replace("__", "/"): count for name, count in more.items()}


def trial(lab: Lab) -> TrialResult:
    """Return a trial with these offered and received counts on the way from port 0."""
    result = simulated_trial(2.0 * SENT)

    def counted(stream: StreamCounts) -> StreamCounts:
        offered, received = (lab.offered_count, lab.received_count) if stream.tx_port == 0 else (SENT, SENT)
        return stream.model_copy(
            update={
                "intended_count": SENT,
                "offered_count": offered,
                "received_count": received,
                "lost_count": offered - received,
            }
        )

    streams = tuple(map(counted, result.streams))
    return result.model_copy(
        update={"streams": streams, "tester_drop_count": lab.tester_drop_count, "corrupted_count": lab.corrupted_count}
    )


def test_arp_between_tester_and_sut_hides_no_loss_and_is_not_remarked_upon() -> None:
    lab = Lab(counters(SENT - 3 + 5, SENT - 3 + 2, SENT - 3 + 2), SENT, SENT - 3)
    near_counts = NeighborCounts(port=0, heard_count=0, answered_count=1, announced_count=4)
    far_counts = NeighborCounts(port=1, heard_count=2, answered_count=0, announced_count=0)
    result = trial(lab).model_copy(update={"neighbors": (near_counts, far_counts)})
    actual = build_loss_ledger(result, ONE, CounterDelta({}, lab.counters))
    assert list_losses(actual) == [("the wire tester0 → sut0", "", 3)]
    assert actual.remarks == ()


def ledger(lab: Lab, before: dict[str, int] | None = None) -> LossLedger:
    return build_loss_ledger(trial(lab), ONE, CounterDelta(before or {}, lab.counters))


def list_losses(result: LossLedger) -> list[tuple[str, str, int]]:
    """Return place, cause and count of every loss."""
    return [
        (hop.place, name, count)
        for way in result.ways
        for hop in way.hops
        for name, count in [*((c.name, c.count) for c in hop.causes), ("", hop.unattributed_count)]
        if count
    ]


PLANTED = {
    "nothing": (Lab(counters(), SENT, SENT), []),
    "sender too slow": (
        Lab(counters(980, 980, 980), 980, 980),
        [("the tester's sender on tester0", "not_sent", 20)],
    ),
    "first wire refuses, the sender is told": (
        Lab(counters(0, 0, 0, tester__tester0__tx_dropped=5000, sut__sut0__rx_dropped=5000), 0, 0),
        [("the tester's sender on tester0", "receive_refused", 1000)],
    ),
    "first wire refuses, the sender is not told": (
        Lab(counters(990, 990, 990, tester__tester0__tx_dropped=10, sut__sut0__rx_dropped=10), SENT, 990),
        [("the wire tester0 → sut0", "receive_refused", 10)],
    ),
    "backlog before the SUT": (
        Lab(counters(990, 990, 990, sut__sut0__rx_dropped=10, host__softnet__cpu0__dropped=25), SENT, 990),
        [("the wire tester0 → sut0", "backlog_full", 10)],
    ),
    "queue of the tester's interface": (
        Lab(counters(990, 990, 990, tester__tester0__qdisc__tbf__dropped=10), SENT, 990),
        [("the wire tester0 → sut0", "queue_dropped", 10)],
    ),
    "in the SUT, and no counter tells": (
        Lab(counters(SENT, 970, 970), SENT, 970),
        [("the SUT, sut0 to sut1", "", 30)],
    ),
    "netfilter in the SUT": (
        Lab(counters(SENT, 970, 970, sut__kernel__NETFILTER_DROP__sut1=30), SENT, 970),
        [("the SUT, sut0 to sut1", "NETFILTER_DROP", 30)],
    ),
    "no route in the SUT": (
        Lab(counters(SENT, 970, 970, sut__ip__OutNoRoutes=30), SENT, 970),
        [("the SUT, sut0 to sut1", "ip_OutNoRoutes", 30)],
    ),
    "queue of the SUT's far interface": (
        Lab(counters(SENT, 970, 970, sut__sut1__qdisc__tbf__dropped=30), SENT, 970),
        [("the SUT, sut0 to sut1", "queue_dropped", 30)],
    ),
    "an XDP program in the SUT": (
        Lab(counters(SENT, 970, 970, sut__sut0__driver__rx_queue_0_xdp_drops=30), SENT, 970),
        [("the SUT, sut0 to sut1", "driver_dropped", 30)],
    ),
    "the VNF's ring, and frames that were dropped before it": (
        Lab(
            counters(SENT, 960, 960, vnf__sut0__received=960, vnf__sut0__receive_dropped=47, sut__sut0__rx_dropped=7),
            SENT,
            960,
        ),
        [("the VNF's receive ring of sut0", "ring_full", 40)],
    ),
    "the VNF itself": (
        Lab(counters(SENT, 960, 960, vnf__sut0__received=SENT, vnf__sut0__no_route=40), SENT, 960),
        [("the VNF, sut0 to sut1", "vnf_no_route", 40)],
    ),
    "the last wire": (
        Lab(counters(SENT, 960, 960, sut__sut1__tx_dropped=40, tester__tester1__rx_dropped=40), SENT, 960, 40),
        [("the wire sut1 → tester1", "receive_refused", 40)],
    ),
    "changed on the way": (
        Lab(counters(), SENT, 990, corrupted_count=10),
        [("the tester's receiver on tester1", "corrupted", 10)],
    ),
    "the tester's receiver": (
        Lab(counters(), SENT, 950, 50),
        [("the tester's receiver on tester1", "tester_dropped", 50)],
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_loss_is_found_at_the_hop_it_was_planted(planted: str) -> None:
    lab, expected = PLANTED[planted]
    result = ledger(lab)
    assert list_losses(result) == expected
    assert result.lost_count == sum(count for _, _, count in expected)
    assert result.remarks == ()


def test_only_what_was_counted_between_the_readings_matters() -> None:
    lab = Lab(counters(SENT, 970, 970, sut__kernel__NETFILTER_DROP__sut1=30), SENT, 970)
    before = dict.fromkeys(lab.counters, 7)
    after = {name: count + 7 for name, count in lab.counters.items()}
    assert list_losses(ledger(lab._replace(counters=after), before)) == list_losses(ledger(lab))


def test_a_cause_never_explains_more_than_was_lost_at_its_hop() -> None:
    lab = Lab(counters(SENT, 970, 970, sut__kernel__NETFILTER_DROP__sut1=999, sut__ip__OutNoRoutes=5), SENT, 970)
    assert list_losses(ledger(lab)) == [("the SUT, sut0 to sut1", "NETFILTER_DROP", 30)]


def test_frames_of_others_are_told_and_the_ledger_still_adds_up() -> None:
    result = ledger(Lab(counters(SENT, SENT + 3, 990), SENT, 990))
    assert list_losses(result) == [("the wire sut1 → tester1", "", 10)]
    assert result.remarks == ("sut1 counted 3 more frames than reached it",)
    fewer = ledger(Lab(counters(SENT, 0, SENT), SENT, SENT))
    assert list_losses(fewer) == []
    assert fewer.remarks == ("sut1 counted 1000 fewer frames than arrived",)


def test_one_cause_in_both_directions_is_told_once_with_both_places() -> None:
    lab = Lab(counters(SENT, 970, 970) | {"sut/sut0/tx_packets": 980, "tester/tester0/rx_packets": 980}, SENT, 970)
    result = trial(lab)
    streams = tuple(
        stream.model_copy(update={"received_count": 980}) if stream.tx_port == 1 else stream
        for stream in result.streams
    )
    result = result.model_copy(update={"streams": streams})
    delta = CounterDelta({}, lab.counters | {"sut/kernel/NETFILTER_DROP/sut1": 50})
    result = result.model_copy(update={"ledger": build_loss_ledger(result, ONE, delta)})
    assert describe_loss(result) == (
        "lost 50 of 2,000: 50 at the SUT, sut0 to sut1 and the SUT, sut1 to sut0 "
        "(dropped by a netfilter rule (nft, iptables) [NETFILTER_DROP])"
    )


def test_a_trial_without_loss_has_no_line() -> None:
    lab = Lab(counters(), SENT, SENT)
    assert describe_loss(trial(lab).model_copy(update={"ledger": ledger(lab)})) == ""


def test_without_a_sut_there_is_one_wire_between_the_testers_ports() -> None:
    delta = {"tester/tester1/rx_packets": 990, "tester/tester0/rx_packets": SENT, "tester/tester0/tx_dropped": 10}
    lab = Lab(delta, SENT, 990)
    result = build_loss_ledger(trial(lab), lab_of(()), CounterDelta({}, delta))
    assert list_losses(result) == [("the wire tester0 → tester1", "receive_refused", 10)]


def test_two_forwarders_in_line_have_a_wire_between_them() -> None:
    two = lab_of((("sut0", "inner0"), ("inner1", "sut1")))
    forth = {"sut/inner0/tx_packets": SENT, "sut/inner1/rx_packets": SENT - 3}
    back = {"sut/inner1/tx_packets": SENT, "sut/inner0/rx_packets": SENT}
    delta = counters(SENT, 990, 990) | forth | back | {"sut/inner1/rx_dropped": 3, "sut/sut1/qdisc/tbf/dropped": 7}
    result = build_loss_ledger(trial(Lab(delta, SENT, 990)), two, CounterDelta({}, delta))
    assert list_losses(result) == [
        ("the wire inner0 → inner1", "receive_refused", 3),
        ("the SUT, inner1 to sut1", "queue_dropped", 7),
    ]
    assert [hop.side for hop in result.ways[0].hops] == ["tester", "wire", "sut", "sut", "sut", "wire", "tester"]


def test_frames_an_interface_counts_both_as_received_and_as_dropped_were_lost_behind_it() -> None:
    """Drivers count so for frames that an XDP program passes to a full AF_XDP ring."""
    dropped = {"sut/sut0/rx_dropped": 30, "vnf/sut0/received": SENT - 30, "vnf/sut0/receive_dropped": 30}
    back = {"vnf/sut1/received": SENT, "vnf/sut1/receive_dropped": 0}
    assert list_losses(ledger(Lab(counters(SENT, 970, 970) | dropped | back, SENT, 970))) == [
        ("the VNF's receive ring of sut0", "ring_full", 30)
    ]
    tester = counters(SENT, SENT, SENT, tester__tester1__rx_dropped=20)
    assert list_losses(ledger(Lab(tester, SENT, 980, tester_drop_count=20))) == [
        ("the tester's receiver on tester1", "tester_dropped", 20)
    ]


def test_the_ledger_of_one_trial_is_shown_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = record_run(tmp_path, Step(1e6))
    lab = Lab(counters(SENT, 970, 970, sut__kernel__NETFILTER_DROP__sut1=20), SENT, 970)
    lost = trial(lab).model_copy(update={"index": 1, "ledger": ledger(lab)})
    trials = (result.trials[0], lost, *result.trials[2:])
    overwrite_result(result.model_copy(update={"trials": trials}), tmp_path)

    def explain(index: int) -> int:
        return main(["explain", "latest", "--trial", str(index), "--results-dir", str(tmp_path)])

    assert explain(1) == 0
    output = capsys.readouterr().out
    assert output.startswith("Trial #1: 2.000 kpps for 1 s: lost 30 of 2,000: 20 at the SUT, sut0 to sut1")
    (row,) = [line for line in output.splitlines() if "0→1" in line and "the SUT, sut0 to sut1" in line]
    assert [word for word in row.split() if word.replace(",", "").isdigit()][:3] == ["1,000", "970", "30"]
    assert "NETFILTER_DROP" in output and "unattributed" in output
    assert explain(0) == 0
    assert "no host's counters were read in this trial" in capsys.readouterr().out
    assert explain(len(trials)) == 2
    assert f"has {len(trials)} trials, counted from 0" in capsys.readouterr().err
