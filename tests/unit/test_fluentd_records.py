"""Records of a run: NFVbench's fields with the run's figures."""

from pathlib import Path
from typing import Any

from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Step

from nodrop.export.fluentd.records import build_records
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.run.execute import execute
from nodrop.simulation import SutFunction

COMMON = {
    *("runlogdate", "user_label", "version", "vSwitch", "Encapsulation", "service_chain", "profile", "bidirectional"),
    *("flow_count", "sc_count", "compute_nodes", "@timestamp", "frame_size", "type", "offered_tx_rate_bps"),
    *("theoretical_tx_rate_pps", "theoretical_tx_rate_bps", "avg_delay_usec", "min_delay_usec", "max_delay_usec"),
    "run_id",
}
"""Fields of NFVbench's records (its documentation, 7.1.11, and code), and the run's id."""
DIRECTIONS, RATES = ("forward", "reverse", "total"), ("orig", "tx", "rx")
SINGLE_RUN = {"drop_rate_percent"} | {
    f"{way}_{rate}_rate_{unit}" for way in DIRECTIONS for rate in RATES for unit in ("bps", "pps")
}
SEARCHED = {"ndr_search_duration", "pdr_search_duration", "rate_bps", "rate_pps", "drop_percentage", "drop_limit"}


def ship_run(directory: Path, sut: SutFunction = MILLION, **keys: Any) -> list[dict[str, Any]]:
    return build_records(
        [execute(make_plan(directory, **keys), Listener(), make_environment(sut))], "2026-01-31T12:00:00.000000+0000"
    )


def test_a_search_is_a_record_for_each_goal_with_the_fields_of_nfvbench(tmp_path: Path) -> None:
    ndr, pdr = ship_run(tmp_path)
    assert set(ndr) == set(pdr) == COMMON | SEARCHED
    assert (ndr["type"], ndr["drop_limit"], pdr["type"], pdr["drop_limit"]) == ("NDR", 0.0, "PDR", 0.5)
    assert ndr["ndr_search_duration"] == pdr["ndr_search_duration"]
    assert ndr["ndr_search_duration"].isdigit()


def test_a_fixed_rate_is_one_record_with_the_fields_of_nfvbench(tmp_path: Path) -> None:
    (record,) = ship_run(tmp_path, rate="10kpps", duration="1s")
    assert set(record) == COMMON | SINGLE_RUN
    assert record["type"] == "single_run"
    assert (record["total_orig_rate_pps"], record["forward_orig_rate_pps"]) == (10000, 5000)
    # 64 bytes and 20 between frames, in bits
    assert record["total_tx_rate_bps"] == record["total_tx_rate_pps"] * 84 * 8


def test_a_fixed_rate_that_the_tester_does_not_reach_says_so(tmp_path: Path) -> None:
    (record,) = ship_run(tmp_path, SlowTester(capacity_pps=1e6, tester_pps=4e3), rate="10kpps", duration="1s")
    assert record["total_orig_rate_pps"] == 10000
    assert record["total_tx_rate_pps"] == 4000
    assert "intended" in record["warning"]


def test_loss_one_way_is_the_loss_of_that_way_alone(tmp_path: Path) -> None:
    (record,) = ship_run(tmp_path, Step(5e3), rate="10kpps", duration="1s", bidirectional=False)
    assert record["bidirectional"] is False
    assert record["drop_rate_percent"] == 50.0
    assert record["reverse_tx_rate_pps"] == 0


def test_user_info_is_merged_in_and_never_hides_a_figure(tmp_path: Path) -> None:
    ndr, _ = ship_run(tmp_path, user_info={"site": "north", "rack": {"row": 3}, "rate_pps": "mine"}, label="seven")
    assert (ndr["site"], ndr["rack"], ndr["user_label"]) == ("north", {"row": 3}, "seven")
    assert isinstance(ndr["rate_pps"], int)


def test_theoretical_rates_are_those_of_frames_as_the_sut_makes_them(tmp_path: Path) -> None:
    ndr, _ = ship_run(tmp_path, user_info={"extra_encapsulation_bytes": 28})
    # 2 x 10 Gbit/s of 64 + 28 + 20 bytes
    assert round(ndr["theoretical_tx_rate_pps"]) == 22_321_429
    assert ndr["theoretical_tx_rate_bps"] == 15e9


def test_a_goal_that_was_not_met_says_so_beside_its_zeros(tmp_path: Path) -> None:
    ndr, _ = ship_run(tmp_path, Step(1e4), search__min_load="20kpps")
    assert ndr["rate_pps"] == 0
    assert "no load was found" in ndr["warning"]


def test_records_have_the_figures_of_nfvbenchs_json(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment(Step(1e6)))
    ndr, _ = build_records([result], "")
    nfvbench_result = build_nfvbench_result([result])["benchmarks"]["network"]["service_chain"]["PVP"]["result"][
        "result"
    ]["64"]["ndr"]
    assert ndr["rate_pps"] == nfvbench_result["rate_pps"]
    assert ndr["drop_percentage"] == nfvbench_result["stats"]["overall"]["drop_percentage"]


def test_a_run_that_only_checked_the_path_has_no_records(tmp_path: Path) -> None:
    assert ship_run(tmp_path, no_traffic=True) == []
