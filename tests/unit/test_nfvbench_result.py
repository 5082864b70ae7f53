"""NFVbench's result JSON: the fields that its users' programs read, with correct numbers.

`tests/nfvbench/*.json` are files in NFVbench's format, written by hand from the documented fields.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hdrh.histogram import HdrHistogram
from scripts.schemas import SCHEMAS
from tests.factories import latency_summary, with_trial
from tests.running import Listener, make_environment, make_plan
from tests.suts import SlowTester

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.export.nfvbench import build_nfvbench_result, build_standard_name, format_nfvbench_json
from nodrop.model.neighbor import NeighborCounts
from nodrop.model.result import RunResult, Status
from nodrop.model.trex import TrexPlan
from nodrop.model.trial import DirectionTimes, StreamCounts, TrialResult
from nodrop.report.nfvbench import write_nfvbench
from nodrop.run.execute import execute

FILES = Path(__file__).parents[1] / "nfvbench"
USEC = 1000


def direction_times(tx_port: int, rx_port: int, *latencies_ns: int, stream_id: int | None = None) -> DirectionTimes:
    latency = latency_summary(latencies_ns)
    return DirectionTimes(tx_port=tx_port, rx_port=rx_port, stream_id=stream_id, latency_every=1, latency=latency)


def with_counts(
    trial: TrialResult, counts: dict[int, tuple[int, int]], duration_s: float = 2.0, *directions: DirectionTimes
) -> TrialResult:
    """Return the same trial with these counts of sent and received frames per stream."""

    def changed(stream: StreamCounts) -> StreamCounts:
        sent, received = counts[stream.stream_id]
        return stream.model_copy(
            update={"offered_count": sent, "received_count": received, "lost_count": sent - received}
        )

    streams = tuple(map(changed, trial.streams))
    return trial.model_copy(update={"streams": streams, "duration_s": duration_s, "directions": directions})


def run_fixed_rate(tmp_path: Path, rate: str = "1000pps", **keys: Any) -> RunResult:
    return execute(make_plan(tmp_path, rate=rate, duration="2s", **keys), Listener(), make_environment())


def run_search(tmp_path: Path, **keys: Any) -> RunResult:
    return execute(
        make_plan(tmp_path, **keys), Listener(), make_environment(SlowTester(capacity_pps=1e6, tester_pps=2e6))
    )


def chain_result(result: dict[str, Any], chain: str = "PVP") -> dict[str, Any]:
    actual: dict[str, Any] = result["benchmarks"]["network"]["service_chain"][chain]["result"]
    return actual


def size_result(result: dict[str, Any], size: str = "64") -> dict[str, Any]:
    actual: dict[str, Any] = chain_result(result)["result"][size]
    return actual


def iter_leaf_types(value: Any, path: str = "") -> Iterator[tuple[str, type]]:
    """Yield every field with its value's type; integers and floats are both numbers."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from iter_leaf_types(below, f"{path}/{key}")
    else:
        yield path, float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def assert_valid(result: dict[str, Any]) -> None:
    schema = json.loads((SCHEMAS / "nfvbench-result.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(format_nfvbench_json(result)))


# ---- structure ----------------------------------------------------------------------------------------------------


def nfvbench_leaf_types(name: str, leave_out: tuple[str, ...]) -> dict[str, type]:
    content = json.loads((FILES / f"{name}.json").read_text())
    return {
        path: kind
        for path, kind in iter_leaf_types(content)
        if not path.startswith(("/config", "/openstack_spec", "/benchmarks/network/versions", *leave_out))
        and "/compute_nodes/" not in path
        and not path.endswith("/warning")
    }


def test_a_fixed_rate_has_every_field_of_nfvbenchs_file_with_the_same_type(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, chains=2, networks="ports")
    (trial,) = run.trials
    directions = tuple(
        direction_times(stream.tx_port, stream.rx_port, 10 * USEC, 20 * USEC, stream_id=stream.stream_id)
        for stream in run.plan.traffic.streams
    )
    full = with_trial(run, trial.model_copy(update={"directions": directions}))
    own = dict(iter_leaf_types(json.loads(format_nfvbench_json(build_nfvbench_result([full])))))
    assert {path: own.get(path) for path in nfvbench_leaf_types("fixed", ())} == nfvbench_leaf_types("fixed", ())


def test_a_search_has_every_field_of_nfvbenchs_file_with_the_same_type(tmp_path: Path) -> None:
    plans = [run_search(tmp_path, frame_bytes=size) for size in (64, 1518)]
    runs = [
        run.model_copy(
            update={
                "plan": run.plan.model_copy(update={"frame_size": size}),
                "trials": tuple(
                    trial.model_copy(
                        update={"directions": (direction_times(0, 1, 9 * USEC), direction_times(1, 0, 8 * USEC))}
                    )
                    for trial in run.trials
                ),
            }
        )
        for run, size in zip([*plans, plans[0]], ("64", "1518", "IMIX"), strict=True)
    ]
    own = dict(iter_leaf_types(json.loads(format_nfvbench_json(build_nfvbench_result(runs)))))
    expected = nfvbench_leaf_types("ndr_pdr", ())
    assert {path: own.get(path) for path in expected} == expected


def test_all_that_is_written_fits_the_schema(tmp_path: Path) -> None:
    for run in (run_fixed_rate(tmp_path), run_search(tmp_path), run_search(tmp_path, goals={"odd": 0.01, "NDR": 0})):
        assert_valid(build_nfvbench_result([run]))


def test_the_configuration_has_all_of_nfvbenchs_keys(tmp_path: Path) -> None:
    config = build_nfvbench_result([run_fixed_rate(tmp_path)])["config"]
    assert len(NfvbenchConfig.model_fields) == 81
    assert set(NfvbenchConfig.model_fields) <= set(config)
    added = {"frame_sizes", "generator_profile", "ndr_run", "pdr_run", "single_run", "tg-name", "tg-tool"}
    files = {"json", "std_json_path"}
    assert set(config) - set(NfvbenchConfig.model_fields) == added | files


def test_counters_and_configuration_name_the_generator(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path)
    for plan, name in ((run.plan, "nodrop"), (run.plan.replace(trex=TrexPlan()), "TRex")):
        result = build_nfvbench_result([run.model_copy(update={"plan": plan})])
        assert result["config"]["tg-tool"] == name
        assert size_result(result)["packet_path_stats"]["Forward"]["interfaces"][0] == f"{name}.TX.p0"


def test_the_configuration_names_the_files_of_the_result_as_nfvbench_does(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, json=f"{tmp_path}/result.json", std_json=str(tmp_path))
    config = build_nfvbench_result([run])["config"]
    assert config["json"] == config["json_file"] == f"{tmp_path}/result.json"
    assert config["std_json"] == config["std_json_path"] == str(tmp_path)


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({}, "traffic_profile_64B"),
        ({"frame_sizes": "IMIX"}, "traffic_profile_IMIX"),
        ({"frame_sizes": "256"}, "custom_traffic_profile"),
        ({"traffic": {"profile": "short"}}, "short"),
        ({"traffic": {"profile": "short"}, "frame_sizes": "256"}, "custom_traffic_profile"),
    ],
)
def test_the_profile_is_the_configured_one_unless_other_frame_sizes_were_given(
    keys: dict[str, Any], name: str, tmp_path: Path
) -> None:
    profiles = {"traffic_profile": [{"name": "short", "l2frame_size": ["60"]}]} if "traffic" in keys else {}
    assert chain_result(build_nfvbench_result([run_fixed_rate(tmp_path, **profiles, **keys)]))["profile"] == name


def test_keys_as_they_were_written_stand_over_the_defaults_and_under_what_the_run_did(tmp_path: Path) -> None:
    run = run_fixed_rate(
        tmp_path,
        rate="2000pps",
        sriov=True,
        user_info={"status": "explore"},
        traffic_generator__host_name="here",
    )
    config = build_nfvbench_result([run])["config"]
    assert config["sriov"] is True
    assert config["traffic_generator"]["host_name"] == "here"
    assert config["traffic_generator"]["default_profile"] == "trex-local"
    assert (config["rate"], config["duration_sec"], config["single_run"]) == ("2000pps", 2, True)
    assert config["user_info"] == {"status": "explore"}
    assert config["intf_speed_used"] == 10_000_000_000


@pytest.mark.parametrize(
    ("keys", "networks", "ports"),
    [
        # nodrop's flows: one address a side, a source port for each of 256 flows each way
        ({}, ["198.18.0.1/32", "198.19.0.1/32"], [49152, 49407]),
        # 5000 flows each way from 5000 addresses: 13 bits
        (
            {"flow_count": 10_000, "traffic_generator__ip_addrs": ["110.0.0.0/8", "120.0.0.0/8"]}
            | {"traffic_generator__ip_src_static": False},
            ["110.0.0.0/19", "120.0.0.0/19"],
            53,
        ),
    ],
)
def test_addresses_that_nobody_wrote_are_those_of_the_traffic(
    keys: dict[str, Any], networks: list[str], ports: Any, tmp_path: Path
) -> None:
    run = run_fixed_rate(tmp_path, **keys)
    unwritten = run.model_copy(update={"plan": run.plan.model_copy(update={"nfvbench": {}})})
    generator = build_nfvbench_result([unwritten])["config"]["traffic_generator"]
    assert (generator["ip_addrs"], generator["udp_src_port"]) == (networks, ports)


def test_files_are_sorted_indented_and_end_with_a_line(tmp_path: Path) -> None:
    result = build_nfvbench_result([run_fixed_rate(tmp_path)])
    text = format_nfvbench_json(result)
    assert text == json.dumps(json.loads(text), indent=4, sort_keys=True) + "\n"
    with pytest.raises(ValueError, match="JSON compliant"):
        format_nfvbench_json({"drop": float("nan")})


def test_the_tables_are_the_same_before_and_after_the_file(tmp_path: Path) -> None:
    for run in (run_fixed_rate(tmp_path, chains=2, networks="ports"), run_search(tmp_path)):
        timed = run.model_copy(
            update={
                "trials": tuple(
                    trial.model_copy(
                        update={"directions": (direction_times(0, 1, 9 * USEC), direction_times(1, 0, 8 * USEC))}
                    )
                    for trial in run.trials
                )
            }
        )
        result = build_nfvbench_result([timed])
        assert write_nfvbench(json.loads(format_nfvbench_json(result)), "csv") == write_nfvbench(result, "csv")


def test_the_standard_name_tells_chain_count_flows_and_sizes(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path)
    sizes = [
        run.model_copy(update={"plan": run.plan.model_copy(update={"frame_size": size})}) for size in ("64", "IMIX")
    ]
    flows = chain_result(build_nfvbench_result([run]))["flow_count"]
    assert build_standard_name(sizes) == f"PVP-1-{flows}-64-IMIX.json"


def test_the_date_is_local_time(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path).model_copy(update={"started_at": "2026-03-01T23:30:00+00:00"})
    local = datetime.fromisoformat("2026-03-01T23:30:00+00:00").astimezone()
    assert build_nfvbench_result([run])["date"] == f"{local:%Y-%m-%d %H:%M:%S}"


def test_a_run_without_traffic_has_no_service_chain(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path)
    idle = run.model_copy(update={"plan": run.plan.model_copy(update={"no_traffic": True}), "trials": ()})
    assert build_nfvbench_result([idle])["benchmarks"]["network"]["service_chain"] == {}


# ---- a fixed rate -------------------------------------------------------------------------------------------------


def test_rates_and_counters_of_a_fixed_rate_are_those_of_the_trial(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, rate="1000pps")
    trial = with_counts(
        run.trials[0],
        {0: (1000, 990), 1: (800, 800)},
        2.0,
        direction_times(0, 1, 10 * USEC, 30 * USEC),
        direction_times(1, 0, *[50 * USEC] * 6),
    )
    result = size_result(build_nfvbench_result([with_trial(run, trial)]))
    forward = result["run_config"]["direction-forward"]
    # 64-byte frames take 84 bytes of the wire: 500 frames a second are 336,000 bits, of 10 Gb/s 0.00336 percent
    assert forward["orig"] == {
        "initial_rate_type": "rate_pps",
        "rate_pps": 500,
        "rate_bps": 336_000,
        "rate_percent": 0.00336,
    }
    assert (forward["tx"]["rate_pps"], forward["rx"]["rate_pps"]) == (500, 495)
    assert result["run_config"]["direction-reverse"]["tx"]["rate_pps"] == 400
    assert result["run_config"]["direction-total"]["tx"]["rate_bps"] == 900 * 84 * 8
    stats = result["stats"]
    assert stats["0"]["tx"] == {
        "total_pkts": 1000,
        "total_pkt_bytes": 64_000,
        "pkt_rate": 500,
        "pkt_bit_rate": 256_000,
    }
    assert (stats["0"]["rx"]["total_pkts"], stats["0"]["rx"]["dropped_pkts"]) == (800, 0)
    assert (stats["1"]["rx"]["total_pkts"], stats["1"]["rx"]["dropped_pkts"]) == (990, 10)
    assert (stats["0"]["drop_rate_percent"], stats["1"]["drop_rate_percent"]) == (0.0, 1.0)
    assert stats["overall"]["drop_rate_percent"] == pytest.approx(100 * 10 / 1800, abs=1e-6)
    assert (stats["overall"]["tx"]["total_pkts"], stats["overall"]["tx"]["pkt_rate"]) == (1800, 450)
    assert (stats["total_tx_rate"], stats["offered_tx_rate_bps"]) == (900, 900 * 84 * 8)
    # each frame counts once: (10 + 30 + 6 * 50) / 8
    assert stats["overall"]["rx"]["avg_delay_usec"] == round(340 / 8)
    assert (stats["overall"]["rx"]["min_delay_usec"], stats["overall"]["rx"]["max_delay_usec"]) == (10, 50)
    assert stats["1"]["rx"]["avg_delay_usec"] == 20
    assert stats["0"]["rx"]["avg_delay_usec"] == 50
    assert stats["overall"]["rx"]["lat_percentile"] == {"25": 30, "75": 50, "99": 50}


def test_histograms_are_in_microseconds_and_hold_every_frame(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path)
    trial = with_counts(
        run.trials[0],
        {0: (3, 3), 1: (1, 1)},
        2.0,
        direction_times(0, 1, 1_400, 250_000, 9_000_600),
        direction_times(1, 0, 400),
    )
    result = size_result(build_nfvbench_result([with_trial(run, trial)]))
    decoded = HdrHistogram.decode(result["stats"]["overall"]["hdrh"].encode())
    recorded = {item.value_iterated_to: item.count_at_value_iterated_to for item in decoded.get_recorded_iterator()}
    assert list(recorded.values()) == [1, 1, 1, 1]
    assert list(recorded) == pytest.approx([0, 1, 250, 9001], rel=0.001)
    forward = result["packet_path_stats"]["Forward"]["chains"]["0"]["hdrh"]
    assert HdrHistogram.decode(forward.encode()).get_total_count() == 3


def test_loss_one_way_is_that_ways_loss(tmp_path: Path) -> None:
    """NFVbench reports the reverse direction's, so almost always none."""
    run = run_fixed_rate(tmp_path, bidirectional=False)
    trial = with_counts(run.trials[0], {0: (1000, 500)})
    result = build_nfvbench_result([with_trial(run, trial)])
    actual = size_result(result)
    assert chain_result(result)["bidirectional"] is False
    assert actual["stats"]["overall"]["drop_rate_percent"] == 50.0
    assert actual["stats"]["1"]["drop_rate_percent"] == 50.0
    assert actual["stats"]["0"]["drop_rate_percent"] is None
    assert actual["stats"]["overall"]["tx"]["pkt_rate"] == 500
    # The fields that programs read exist, and are zero.
    assert actual["run_config"]["direction-reverse"]["tx"]["rate_pps"] == 0
    assert actual["packet_path_stats"]["Reverse"]["chains"]["0"]["packets"] == [0, 0]
    # line rate of the only direction: 10 Gb/s
    assert actual["stats"]["theoretical_tx_rate_bps"] == pytest.approx(10e9)


def test_nothing_sent_and_nothing_received_are_null_and_never_nan(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path)
    result = size_result(build_nfvbench_result([with_trial(run, with_counts(run.trials[0], {0: (0, 0), 1: (0, 0)}))]))
    assert result["stats"]["overall"]["drop_rate_percent"] is None
    assert result["stats"]["overall"]["rx"]["avg_delay_usec"] is None
    assert "hdrh" not in result["stats"]["overall"]
    assert_valid(build_nfvbench_result([with_trial(run, with_counts(run.trials[0], {0: (0, 0), 1: (0, 0)}))]))


def test_a_fixed_rate_has_frame_sizes_alone_and_its_warnings_with_them(tmp_path: Path) -> None:
    """NFVbench's summary of a fixed rate reads `run_config` of every key."""
    run = run_fixed_rate(tmp_path)
    warned = run.model_copy(update={"plan": run.plan.model_copy(update={"warnings": ("the cable is loose",)})})
    failed = warned.model_copy(update={"status": Status.FAILED, "error": "the lab fell down"})
    for each, expected in ((warned, "the cable"), (failed, "64: failed: the lab fell down")):
        result = build_nfvbench_result([each])
        assert list(chain_result(result)["result"]) == ["64"]
        assert expected in size_result(result)["run_config"]["warning"]
        assert_valid(result)


def test_a_tester_that_fell_short_is_warned_of(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, rate="1000pps")
    result = size_result(
        build_nfvbench_result([with_trial(run, with_counts(run.trials[0], {0: (500, 500), 1: (500, 500)}))])
    )
    assert "only 500 pps of the intended 1.000 kpps" in result["run_config"]["warning"]
    assert result["run_config"]["direction-total"]["orig"]["rate_pps"] == 1000
    assert result["run_config"]["direction-total"]["tx"]["rate_pps"] == 500


def test_extra_encapsulation_gives_the_rates_of_nfvbenchs_manual(tmp_path: Path) -> None:
    """64 bytes and 28 more on two links of 10 Gb/s: 22,321,428 packets per second, 15 Gb/s."""
    run = run_fixed_rate(tmp_path, user_info={"extra_encapsulation_bytes": 28})
    stats = size_result(build_nfvbench_result([run]))["stats"]
    assert stats["theoretical_tx_rate_pps"] == pytest.approx(22321428.57142857)
    assert stats["theoretical_tx_rate_bps"] == pytest.approx(15e9)


def test_user_info_of_other_kinds_leaves_line_rate(tmp_path: Path) -> None:
    stats = size_result(build_nfvbench_result([run_fixed_rate(tmp_path, user_info={"status": "explore"})]))["stats"]
    assert stats["theoretical_tx_rate_pps"] == pytest.approx(2 * 14_880_952.38, abs=1)


def test_announcements_stand_beside_the_load_and_are_no_loss(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, sut="vnf-l3", neighbors__announce_every="0.5s", rate="1000pps")
    assert {len(link.station.addresses) for link in run.plan.neighbors.links} == {2}
    neighbors = tuple(NeighborCounts(port=port, heard_count=0, answered_count=0, announced_count=6) for port in (0, 1))
    trial = with_counts(run.trials[0], {0: (1000, 1000), 1: (1000, 1000)}).model_copy(update={"neighbors": neighbors})
    result = size_result(build_nfvbench_result([with_trial(run, trial)]))
    garp = result["run_config"]["garp-direction-total"]
    # two ports with an IPv4 and an IPv6 address each, every half second; 12 in 2 s; of 64 and of 90 bytes
    assert (garp["orig"]["rate_pps"], garp["tx"]["rate_pps"], garp["rx"]["rate_pps"]) == (8, 6, 0)
    assert garp["tx"]["rate_bps"] == 6 * (77 + 20) * 8
    assert result["stats"]["garp_total_tx_rate"] == 6
    assert result["run_config"]["direction-total"]["tx"]["rate_pps"] == 1000
    assert result["stats"]["overall"]["drop_rate_percent"] == 0.0


def test_each_chain_has_its_counters_and_the_total_is_their_sum(tmp_path: Path) -> None:
    run = run_fixed_rate(tmp_path, chains=3, networks="ports")
    counts = {
        stream.stream_id: (100 * stream.chain + 100, 100 * stream.chain + 99) for stream in run.plan.traffic.streams
    }
    of_first = direction_times(0, 1, 5 * USEC, stream_id=0)
    result = build_nfvbench_result([with_trial(run, with_counts(run.trials[0], counts, 2.0, of_first))])
    path = size_result(result)["packet_path_stats"]["Forward"]
    sides = [(row["packets"][0], row["packets"][-1]) for row in path["chains"].values()]
    assert list(path["chains"]) == ["0", "1", "2", "total"]
    assert sides == [(100, 99), (200, 199), (300, 299), (600, 597)]
    assert [row["lat_avg_usec"] for row in path["chains"].values()] == [5, None, None, 5]
    assert chain_result(result)["service_chain_count"] == 3


# ---- a search -----------------------------------------------------------------------------------------------------


def test_the_rate_of_a_goal_is_what_was_sent_and_not_what_was_asked_for(tmp_path: Path) -> None:
    """NFVbench reports the requested value."""
    run = run_search(tmp_path)
    ndr = next(goal for goal in run.goals if goal.goal.label == "NDR")
    assert ndr.lower
    trial = run.trials[ndr.lower.trial_index]
    slower = with_counts(trial, {0: (100_000, 100_000), 1: (50_000, 49_000)}, 1.0)
    result = size_result(build_nfvbench_result([with_trial(run, slower)]))["ndr"]
    assert (result["rate_pps"], result["rate_bps"]) == (150_000, 150_000 * 84 * 8)
    assert result["rate_percent"] == pytest.approx(100 * 150_000 * 84 * 8 / 10e9)
    assert result["load_percent_per_direction"] == pytest.approx(result["rate_percent"] / 2)
    assert result["stats"]["total_tx_rate"] == 150_000
    overall = result["stats"]["overall"]
    assert (overall["tx_pkts"], overall["rx_pkts"], overall["dropped_pkts"]) == (150_000, 149_000, 1000)
    assert overall["drop_pct"] == 1000
    assert overall["drop_percentage"] == pytest.approx(100 * 1000 / 150_000, abs=1e-6)
    assert result["stats"]["0"]["drop_percentage"] == 2.0
    assert result["stats"]["1"]["drop_percentage"] == 0.0


def test_latency_of_a_goal_is_that_of_the_trial_made_for_it(tmp_path: Path) -> None:
    run = run_search(tmp_path)
    (timed,) = [each for each in run.latencies if each.label == "NDR"]
    trial = run.trials[timed.trial_index].model_copy(
        update={"directions": (direction_times(0, 1, 7 * USEC), direction_times(1, 0, 9 * USEC))}
    )
    result = size_result(build_nfvbench_result([with_trial(run, trial)]))["ndr"]
    assert result["stats"]["overall"]["avg_delay_usec"] == 8
    assert (result["stats"]["0"]["avg_delay_usec"], result["stats"]["1"]["avg_delay_usec"]) == (9, 7)
    assert result["packet_path_stats"]["Forward"]["chains"]["0"]["lat_percentile"]["99"] == 7


def test_the_trials_of_a_search_are_all_there_with_totals(tmp_path: Path) -> None:
    run = run_search(tmp_path)
    trials = [trial for trial in run.trials if trial.phase == "search"]
    result = size_result(build_nfvbench_result([run]))
    iterations = result["iteration_stats"]["ndr_pdr"]
    assert [each["tx_pps"] for each in iterations] == [round(trial.trial.intended_load_pps) for trial in trials]
    assert [each["tx_pkts"] for each in iterations] == [trial.offered_count for trial in trials]
    (noted,) = [each["ndr_pps"] for each in iterations if "ndr_pps" in each]
    assert noted == result["ndr"]["rate_pps"]


def test_the_time_a_goal_took_is_its_own(tmp_path: Path) -> None:
    run = run_search(tmp_path)
    paced = run.model_copy(
        update={
            "trials": tuple(
                trial.model_copy(update={"started_at": f"2026-01-01T00:{trial.index:02d}:00+00:00", "duration_s": 1.0})
                for trial in run.trials
            )
        }
    )
    result = size_result(build_nfvbench_result([paced]))
    for goal in run.goals:
        moved = [
            step.trial_index
            for step in run.steps
            if [state for state in step.before if state.label == goal.goal.label]
            != [state for state in step.after if state.label == goal.goal.label]
        ]
        assert result[goal.goal.label.lower()]["time_taken_sec"] == 60 * moved[-1] + 1


def test_a_goal_that_nothing_meets_is_not_a_rate_of_zero_without_loss(tmp_path: Path) -> None:
    run = run_search(tmp_path)
    lost = run.model_copy(update={"goals": tuple(goal.model_copy(update={"lower": None}) for goal in run.goals)})
    result = build_nfvbench_result([lost])
    actual = size_result(result)["ndr"]
    assert actual["rate_pps"] == 0
    assert actual["stats"]["overall"]["drop_percentage"] is None
    assert "NDR: no load was found that meets it" in actual["stats"]["warning"]
    assert "PDR: no load was found that meets it" in chain_result(result)["result"]["warning"]
    assert_valid(result)


def test_a_run_that_failed_says_so_and_keeps_what_it_measured(tmp_path: Path) -> None:
    run = run_search(tmp_path)
    failed = run.model_copy(update={"status": Status.FAILED, "error": "the lab fell down", "goals": ()})
    actual = chain_result(build_nfvbench_result([failed]))["result"]
    assert "64: failed: the lab fell down" in actual["warning"]
    assert len(actual["64"]["iteration_stats"]["ndr_pdr"]) == len([t for t in run.trials if t.phase == "search"])
    nothing = failed.model_copy(update={"trials": (), "facts": None, "steps": (), "latencies": ()})
    result = build_nfvbench_result([nothing])
    assert list(chain_result(result)["result"]) == ["warning"]
    assert_valid(result)
