"""Trials against a TRex server that only counts: the counts, the doubts, and the reasons of an early end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from tests.traffic import two_way_traffic
from tests.trex_paced import PacedServer
from tests.trex_responder import Error, NoAnswer, Responder

from nodrop.errors import GeneratorError
from nodrop.formatting.messages import format_message
from nodrop.generator.base import TrialInterrupted
from nodrop.generator.trex.measurer import TrexMeasurer
from nodrop.generator.trex.rpc import TrexNoReply, TrexPortsInUse
from nodrop.model.layer import Ethernet, Ipv4, Udp, Vxlan
from nodrop.model.neighbor import NeighborLink, NeighborPlan, Station
from nodrop.model.traffic import SizeShare, Traffic
from nodrop.model.trex import TrexPlan
from nodrop.model.trial import FIXED, StopRule, Trial, TrialResult, ValidityStatus

TRAFFIC = two_way_traffic(2)


def report_no_problem() -> None:
    """Report no problem of the path."""


@contextmanager
def measurer(
    server: PacedServer, check_alive: Any = report_no_problem, **plan: Any
) -> Iterator[tuple[TrexMeasurer, Responder]]:
    with Responder(server.methods) as responder:
        requested = TrexPlan(**{"rpc_port": responder.port, "latency_chains": (0,), "timeout_s": 2.0} | plan)
        with TrexMeasurer(requested, TRAFFIC, check_alive=check_alive, clock=server.clock) as measuring:
            yield measuring, responder


def run(
    server: PacedServer, load_pps: float, duration_s: float, *, phase: str = "search", stop: StopRule | None = None
) -> TrialResult:
    with measurer(server) as (measuring, _):
        trial = Trial(intended_load_pps=load_pps, duration_s=duration_s, stop=stop)
        return measuring.measure(trial, 0, phase, lambda *_: None)


def doubts(result: TrialResult) -> list[tuple[str, ValidityStatus]]:
    return [(doubt.code, doubt.verdict) for doubt in result.validity.doubts]


def test_a_trial_sends_its_load_and_counts_what_came_back() -> None:
    result = run(PacedServer(), 20_000, 0.3)
    assert doubts(result) == []
    assert [(each.tx_port, each.rx_port) for each in result.streams] == [(0, 1), (1, 0)]
    assert all(3000 <= each.offered_count <= 3001 for each in result.streams)
    assert result.intended_count == result.offered_count == result.received_count
    assert (result.duration_s, result.stopped_early, result.unsent_count) == (0.3, False, 0)
    assert result.tester_cpu_ratio == pytest.approx(0.23)


def test_loss_is_counted_and_shown_in_the_windows_it_came_in() -> None:
    result = run(PacedServer(capacity_pps=8_000), 20_000, 0.5)
    assert doubts(result) == []
    assert result.loss_ratio == pytest.approx(0.2, abs=0.002)
    lost = [sum(column) for column in zip(*result.windows.lost_count, strict=True)]
    assert sum(lost) == result.lost_count
    assert sum(count > 0 for count in lost) >= 0.8 * len(lost)
    assert sum(map(sum, result.windows.offered_count)) == result.offered_count
    assert sum(map(sum, result.windows.received_count)) == result.received_count


def test_frames_on_their_way_are_waited_for_and_not_lost() -> None:
    result = run(PacedServer(delay_s=0.12), 20_000, 0.3)
    assert (result.lost_count, doubts(result)) == (0, [])
    assert not any(map(sum, result.windows.lost_count))


def test_time_that_is_stretched_is_load_that_was_not_offered() -> None:
    """A server that falls behind sends everything, later, without a message: 1 M packets for 1 s took 4.3 s."""
    result = run(PacedServer(stretch=2.0), 20_000, 0.4)
    assert doubts(result) == [("offered_short", ValidityStatus.SUSPECT)]
    assert "were not sent in time: TRex fell behind its schedule" in format_message(result.validity.doubts[0])
    assert result.intended_count == 8000
    assert result.lost_count == 0
    assert 0.35 < result.loss_ratio < 0.5
    assert result.duration_s == pytest.approx(0.4, abs=0.15)
    assert not result.stopped_early


def test_one_frame_more_than_asked_is_no_error() -> None:
    result = run(PacedServer(), 1000, 0.2)
    assert 200 <= result.offered_count <= 202
    assert (result.intended_count, result.lost_count, doubts(result)) == (result.offered_count, 0, [])


def test_a_trial_is_stopped_once_more_is_certainly_lost_than_allowed() -> None:
    result = run(PacedServer(capacity_pps=1000), 20_000, 20.0, stop=StopRule(lost_count=0))
    assert (result.stopped_early, result.stopped_by) == (True, "lost_count")
    assert result.duration_s < 5.0
    assert result.lost_count > 0
    assert (result.unsent_count, doubts(result)) == (0, [])
    assert result.offered_load_pps == pytest.approx(20_000, rel=0.02)


def test_a_trial_stopped_for_frames_that_were_only_late_is_invalid_and_the_next_waits_longer() -> None:
    server = PacedServer(delay_s=0.15)
    with measurer(server) as (measuring, _):
        trial = Trial(intended_load_pps=20_000, duration_s=1.0, stop=StopRule(lost_count=0))
        codes = []
        for index in range(6):
            result = measuring.measure(trial, index, "search", lambda *_: None)
            codes.append([code for code, _ in doubts(result)])
            if not result.stopped_early:
                break
    assert codes[0] == ["stopped_for_late"]
    assert codes[-1] == []


def test_no_trial_is_stopped_for_frames_that_a_queue_delays_by_tens_of_milliseconds() -> None:
    with measurer(PacedServer(delay_s=0.08)) as (measuring, _):
        trial = Trial(intended_load_pps=20_000, duration_s=0.5, stop=StopRule(lost_count=0))
        results = [measuring.measure(trial, index, "search", lambda *_: None) for index in range(3)]
    assert [(result.stopped_early, doubts(result)) for result in results] == [(False, [])] * 3


@pytest.mark.parametrize(
    ("server", "doubt"),
    [
        (PacedServer(receive_drops=3), ("tester_drops", ValidityStatus.INVALID)),
        (PacedServer(queue_drop=3), ("sender_drops", ValidityStatus.INVALID)),
        (PacedServer(queue_full=1000), ("queue_full", ValidityStatus.SUSPECT)),
        (PacedServer(cpu_percent=99.0), ("tester_busy", ValidityStatus.SUSPECT)),
        (PacedServer(frozen=True), ("counters_frozen", ValidityStatus.INVALID)),
        (PacedServer(stops_after_s=0.1), ("aborted", ValidityStatus.INVALID)),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_what_the_tester_is_to_blame_for_is_said(server: PacedServer, doubt: tuple[str, ValidityStatus]) -> None:
    result = doubts(run(server, 20_000, 0.3))
    assert doubt in result
    assert [each for each in result if each not in (doubt, ("offered_short", ValidityStatus.SUSPECT))] == []


def test_drops_at_the_testers_ports_are_counted_as_its_own() -> None:
    assert run(PacedServer(receive_drops=3), 20_000, 0.2).tester_drop_count == 6


def test_trials_of_a_search_send_nothing_but_the_traffic_asked_for() -> None:
    with measurer(PacedServer()) as (measuring, responder):
        measuring.measure(Trial(intended_load_pps=20_000, duration_s=0.1), 0, "search", lambda *_: None)
        rules = [
            params["stream"]["flow_stats"]["rule_type"]
            for method, params in responder.requests
            if method == "add_stream"
        ]
    assert rules == ["stats", "stats"]


def test_latency_is_told_in_nanoseconds_with_its_whole_histogram() -> None:
    result = run(PacedServer(), 20_000, 0.3, phase="latency ndr")
    assert doubts(result) == []
    assert result.offered_load_pps == pytest.approx(20_000, rel=0.01)
    assert [each.latency_every for each in result.directions] == [10, 10]
    latency = result.directions[0].latency
    assert latency
    assert latency.hdr
    assert (latency.min_ns, latency.max_ns, latency.p50_ns) == (25_000, 26_000, 25_000)
    assert latency.mean_ns == pytest.approx(25_500, rel=0.01)
    assert latency.count == pytest.approx(300, abs=2)
    whole = HdrHistogram.decode(latency.hdr)
    assert whole.get_total_count() == latency.count
    assert whole.get_value_at_percentile(50) == pytest.approx(25_000, rel=0.001)


def test_latency_streams_take_a_tenth_of_the_load_at_most() -> None:
    with measurer(PacedServer()) as (measuring, responder):
        result = measuring.measure(Trial(intended_load_pps=2_000, duration_s=0.2), 0, FIXED, lambda *_: None)
        rates = [
            params["stream"]["mode"]["rate"]["value"]
            for method, params in responder.requests
            if method == "add_stream" and params["stream"]["flow_stats"]["rule_type"] == "latency"
        ]
    assert rates == [100.0, 100.0]
    assert result.offered_count == pytest.approx(400, abs=8)


def test_without_histograms_there_is_no_latency() -> None:
    result = run(PacedServer(histograms=False), 20_000, 0.1, phase=FIXED)
    assert [each.latency for each in result.directions] == [None, None]


def test_frames_that_arrive_twice_are_no_more_frames() -> None:
    result = run(PacedServer(duplicates=3), 20_000, 0.2, phase=FIXED)
    assert [each.duplicate_count for each in result.streams] == [3, 3]
    assert result.lost_count == 0


def test_where_streams_are_not_counted_ports_are() -> None:
    with measurer(PacedServer(), flow_stats=False) as (measuring, _):
        trial = Trial(intended_load_pps=20_000, duration_s=0.2)
        result = measuring.measure(trial, 0, "search", lambda *_: None)
    assert result.offered_count == result.received_count == pytest.approx(4000, abs=2)
    assert [each.offered_count for each in result.streams] == pytest.approx([2000, 2000], abs=1)


@pytest.mark.parametrize("can_parse", [True, False], ids=["counted inside", "counted by port"])
def test_ports_count_streams_in_vxlan_only_if_they_can_parse_it(can_parse: bool) -> None:
    inner = TRAFFIC.streams[0].layers
    outer = (Ethernet(src="02:00:00:00:00:01", dst="02:00:00:00:00:02"), Ipv4(src="192.0.2.1", dst="192.0.2.2"))
    layers = (*outer, Udp(src_port=49152, dst_port=4789), Vxlan(vni=7), *inner)
    sizes = (SizeShare(frame_bytes=256),)
    tunnel = Traffic(streams=tuple(each.replace(layers=layers, sizes=sizes) for each in TRAFFIC.streams))
    server, attributes = PacedServer(), []

    def set_port_attr(params: dict[str, Any]) -> Any:
        if "vxlan_fs" in params["attr"]:
            attributes.append(params["attr"]["vxlan_fs"])
            if not can_parse:
                raise Error(-32000, "Error applying vxlan_fs: operation is not supported for this NIC.")
        return {}

    with Responder(server.methods | {"set_port_attr": set_port_attr}) as responder:
        plan = TrexPlan(rpc_port=responder.port, timeout_s=2.0)
        with TrexMeasurer(plan, tunnel, check_alive=report_no_problem, clock=server.clock) as measuring:
            result = measuring.measure(Trial(intended_load_pps=1000, duration_s=0.1), 0, "search", lambda *_: None)
            assert ("vxlan_fs" in " ".join(measuring.notes)) is not can_parse
        counted = [
            params["stream"]["flow_stats"]["enabled"] for method, params in responder.requests if method == "add_stream"
        ]
    assert attributes == [[4789]] * (2 if can_parse else 1)
    assert counted == [can_parse] * 2
    assert result.offered_count == result.received_count > 0


def test_a_port_without_load_announces_its_addresses() -> None:
    one_way = Traffic(streams=TRAFFIC.streams[:1])
    station = Station(mac="02:00:00:00:00:01", addresses=("198.18.0.1",))
    neighbors = NeighborPlan(links=(NeighborLink(port=1, chain=0, station=station),), announce_every_s=0.1)
    server = PacedServer()
    with Responder(server.methods) as responder:
        plan = TrexPlan(rpc_port=responder.port, timeout_s=2.0)
        with TrexMeasurer(plan, one_way, neighbors, check_alive=report_no_problem, clock=server.clock) as measuring:
            result = measuring.measure(Trial(intended_load_pps=1000, duration_s=0.1), 0, "search", lambda *_: None)
        started = {
            params["port_id"]: params["mul"] for method, params in responder.requests if method == "start_traffic"
        }
    assert result.offered_count == result.received_count in (100, 101)
    assert started[1]["value"] == 1.0


def test_filters_are_removed_after_every_trial_however_it_ends() -> None:
    def dead() -> None:
        raise GeneratorError("the path is gone")

    with measurer(PacedServer()) as (measuring, responder):
        measuring.measure(Trial(intended_load_pps=1000, duration_s=0.1), 0, "search", lambda *_: None)
        assert [method for method, _ in responder.requests[-4:]] == ["stop_traffic"] * 2 + ["remove_rx_filters"] * 2
    with measurer(PacedServer(), check_alive=dead) as (measuring, responder):
        with pytest.raises(GeneratorError, match="the path is gone"):
            measuring.measure(Trial(intended_load_pps=1000, duration_s=5.0), 0, "search", lambda *_: None)
        assert [method for method, _ in responder.requests[-4:]] == ["stop_traffic"] * 2 + ["remove_rx_filters"] * 2


def test_an_interrupted_trial_at_a_fixed_rate_keeps_its_counts() -> None:
    seen: list[float] = []

    def interrupt(elapsed_s: float, *_: int) -> None:
        seen.append(elapsed_s)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with measurer(PacedServer()) as (measuring, _):
        trial = Trial(intended_load_pps=20_000, duration_s=30.0)
        with pytest.raises(TrialInterrupted) as caught:
            measuring.measure(trial, 0, FIXED, interrupt)
        result = caught.value.result
        assert doubts(result) == [("aborted", ValidityStatus.SUSPECT)]
        assert result.offered_count == result.received_count > 0
        assert result.duration_s < 10.0
        seen.clear()
        with pytest.raises(KeyboardInterrupt):
            measuring.measure(trial, 1, "search", interrupt)


def test_ports_taken_by_somebody_else_end_the_run_by_name() -> None:
    server = PacedServer()

    def receive(*_: Any) -> None:
        server.owner = "anna"

    with measurer(server) as (measuring, _), pytest.raises(TrexPortsInUse, match="anna acquired it during the run"):
        measuring.measure(Trial(intended_load_pps=1000, duration_s=5.0), 0, "search", receive)


def test_a_server_that_vanishes_is_one_invalid_trial_and_is_found_again() -> None:
    server = PacedServer()
    answers = dict(server.methods)

    def silent(_: dict[str, Any]) -> Any:
        raise NoAnswer

    with measurer(server, timeout_s=0.3) as (measuring, responder):

        def vanish(*_: Any) -> None:
            responder.methods["get_pgid_stats"] = silent

        trial = Trial(intended_load_pps=1000, duration_s=0.3)
        result = measuring.measure(trial, 0, "search", vanish)
        assert doubts(result) == [("generator_gone", ValidityStatus.INVALID)]
        assert "s into the trial" in format_message(result.validity.doubts[0])
        responder.methods.update(answers)
        assert doubts(measuring.measure(trial, 1, "search", lambda *_: None)) == []


def test_what_a_measurer_says_of_the_server() -> None:
    with measurer(PacedServer()) as (measuring, _):
        assert (measuring.version, measuring.commit) == ("TRex v3.08 (API 5.1)", "unknown")
        first, second = measuring.ports
        assert (first.interface, first.backend) == ("TRex port 0", "trex")
        assert "port 1 of TRex v3.08 at 127.0.0.1" in second.why


def test_a_server_that_is_not_there_is_an_error_before_anything_runs() -> None:
    with pytest.raises(TrexNoReply, match="no TRex server at"):
        TrexMeasurer(TrexPlan(rpc_port=1), TRAFFIC, check_alive=report_no_problem).__enter__()


def test_requests_are_made_by_one_thread_at_a_time() -> None:
    with measurer(PacedServer()) as (measuring, _):
        session = measuring._open().session
        threads = [threading.Thread(target=session.call, args=("get_global_stats",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
