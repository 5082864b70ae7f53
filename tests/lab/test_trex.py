"""TRex's protocol with a real SUT: the server in tests/trex sends and receives on the lab's veth interfaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.running import plan_lab
from tests.trex.running import Trex, result_of, run_trex_server, running_lab

from nodrop.errors import SearchError
from nodrop.generator.trex.measurer import TrexMeasurer
from nodrop.generator.trex.rpc import TrexPortsInUse
from nodrop.model.trial import FIXED, StopRule, Trial, TrialResult
from nodrop.run.retries import check_valid
from nodrop.stage.registry import LabRecord

pytestmark = [pytest.mark.trex, pytest.mark.lab, pytest.mark.usefixtures("require_privilege", "require_root")]


@pytest.fixture(scope="module")
def lab() -> Iterator[LabRecord]:
    with running_lab() as record:
        yield record


@pytest.fixture(scope="module")
def trex(lab: LabRecord) -> Iterator[Trex]:
    with run_trex_server(lab) as server:
        yield server


def measure(
    measurer: TrexMeasurer, load_pps: float = 4000.0, duration_s: float = 0.5, stop: StopRule | None = None
) -> TrialResult:
    trial = Trial(intended_load_pps=load_pps, duration_s=duration_s, stop=stop)
    return measurer.measure(trial, 0, "search" if stop else FIXED, lambda *_: None)


def doubt_codes(result: TrialResult) -> set[str]:
    return {doubt.code for doubt in result.validity.doubts}


def total_counts(result: TrialResult) -> tuple[int, int]:
    return (
        sum(stream.offered_count for stream in result.streams),
        sum(stream.received_count for stream in result.streams),
    )


def test_a_fixed_rate_is_sent_and_counted_and_its_latency_is_known(trex: Trex, tmp_path: Path) -> None:
    result = result_of(trex.run(tmp_path, "--rate", "4kpps", "--duration", "0.5s", sut="ext"))
    (trial,) = result["trials"]
    offered, received = (
        sum(stream[f"{what}_count"] for stream in trial["streams"]) for what in ("offered", "received")
    )
    assert received == offered and offered in range(2000, 2005)
    assert all(direction["latency"]["count"] > 0 and direction["latency"]["hdr"] for direction in trial["directions"])
    assert {port["backend"] for port in result["facts"]["ports"]} == {"trex"}


def test_frames_of_a_warm_up_are_not_counted(trex: Trex, tmp_path: Path) -> None:
    result = result_of(trex.run(tmp_path, "--rate", "4kpps", "--duration", "0.5s", sut="ext", warm_up="1s"))
    (trial,) = result["trials"]
    for stream in trial["streams"]:
        assert stream["received_count"] == stream["offered_count"] in range(1000, 1003)


@pytest.mark.truth
def test_a_search_goes_through_over_the_protocol(trex: Trex, tmp_path: Path) -> None:
    keys = {
        "search__max_load": "20kpps",
        "search__initial_trial_duration": "0.2s",
        "search__final_trial_duration": "0.5s",
        "search__width": "20%",
        "latency__trial_duration": "0.2s",
    }
    result = result_of(trex.run(tmp_path, sut="ext", **keys))
    assert [goal["goal"]["loss_ratio"] for goal in result["goals"]] == [0.0, 0.005]
    assert all(sum(stream["offered_count"] for stream in trial["streams"]) > 0 for trial in result["trials"])


@pytest.mark.parametrize("api", ["5.0", "4.6"])
def test_older_servers_are_spoken_with_too(lab: LabRecord, api: str) -> None:
    with run_trex_server(lab, "--api", api) as older, older.measurer() as measurer:
        assert f"API {api}" in measurer.version
        assert measurer.check_path()
        offered, received = total_counts(measure(measurer))
    assert received == offered >= 2000


def test_sizes_are_mixed_and_fields_change(trex: Trex) -> None:
    with trex.measurer(traffic__imix="64:7,594:4,1518:1", flow_count=1000) as measurer:
        offered, received = total_counts(measure(measurer))
    assert received == offered >= 2000


def test_trials_on_the_same_streams_count_each_frame_once(trex: Trex) -> None:
    with trex.measurer() as measurer:
        counts = [total_counts(measure(measurer, duration_s=0.2)) for _ in range(3)]
    assert all(received == offered in range(800, 805) for offered, received in counts)


def test_a_run_of_another_protocol_follows_one_of_two_ways(trex: Trex) -> None:
    """The packet groups of streams that stayed would be refused to those of another protocol."""
    with trex.measurer() as measurer:
        measure(measurer, duration_s=0.1)
        measure(measurer, duration_s=0.1)
    with trex.measurer(traffic__transport="tcp", frame_bytes=128, bidirectional=False) as measurer:
        offered, received = total_counts(measure(measurer, duration_s=0.1))
    assert received == offered >= 400


def test_a_trial_that_loses_is_stopped_early(trex: Trex) -> None:
    """The load exceeds every SUT's capacity; the tester itself may fall behind first, which it reports."""
    with trex.measurer() as measurer:
        result = measure(measurer, 6e6, 5.0, StopRule(lost_count=1000))
    assert result.stopped_early or "offered_short" in doubt_codes(result)


def test_chains_are_told_apart_by_their_vlans() -> None:
    with running_lab(plan_lab("vnf-l2", chains=2)) as lab, run_trex_server(lab) as trex:
        left, right = zip(*(chain.vlans for chain in lab.facts.chains if chain.vlans), strict=True)
        macs = [[chain.macs[side] for chain in lab.facts.chains if chain.macs] for side in (0, 1)]
        keys = {"chains": 2, "networks": "vlan", "vlans": [[*left], [*right]], "macs": macs}
        with trex.measurer(**keys) as measurer:
            measurer.check_path()
            result = measure(measurer)
    assert len(result.streams) == 4
    assert all(stream.received_count == stream.offered_count > 0 for stream in result.streams)


@pytest.mark.truth
def test_stretched_time_is_load_that_was_not_offered(lab: LabRecord) -> None:
    with run_trex_server(lab, "--stretch", "3") as slow, slow.measurer() as measurer:
        result = measure(measurer)
    offered, received = total_counts(result)
    assert "offered_short" in doubt_codes(result)
    assert received == offered < 1500
    assert sum(stream.intended_count for stream in result.streams) in range(1995, 2005)


def test_what_the_testers_own_receiver_drops_is_no_loss_of_the_suts(lab: LabRecord) -> None:
    with run_trex_server(lab, "--dropped-ratio", "0.1") as dropping, dropping.measurer() as measurer:
        result = measure(measurer)
    assert result.tester_drop_count > 100
    assert "tester_drops" in doubt_codes(result) and result.validity.verdict == "invalid"


def test_busy_threads_and_full_queues_are_told(lab: LabRecord) -> None:
    with run_trex_server(lab, "--cpu-percent", "100", "--queue-full-count", "500") as busy, busy.measurer() as measurer:
        result = measure(measurer, duration_s=2.0)  # long enough to be polled while it sends, also on a busy machine
    assert {"tester_busy", "queue_full"} <= doubt_codes(result)


def test_a_server_that_vanishes_leaves_an_invalid_trial_that_says_so(lab: LabRecord) -> None:
    with run_trex_server(lab, "--vanish-at", "get_port_stats:9") as vanishing, vanishing.measurer() as measurer:
        result = measure(measurer, duration_s=2.0)
    assert doubt_codes(result) == {"generator_gone"}
    with pytest.raises(SearchError, match=r"start the TRex server again \(`nodrop run --show-trex-log` shows why"):
        check_valid(result)


def test_ports_that_somebody_else_takes_are_named(lab: LabRecord) -> None:
    with (
        run_trex_server(lab, "--taken-at", "get_port_stats:9") as taken,
        taken.measurer() as measurer,
        pytest.raises(TrexPortsInUse, match="another-user acquired it"),
    ):
        measure(measurer, duration_s=2.0)


def test_a_server_that_says_to_try_again_is_asked_again(lab: LabRecord) -> None:
    with run_trex_server(lab, "--busy-at", "start_traffic") as busy, busy.measurer() as measurer:
        offered, received = total_counts(measure(measurer))
    assert received == offered > 0
