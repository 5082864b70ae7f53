"""Summaries of runs: stable keys, and figures from the result."""

from pathlib import Path
from typing import Any

from tests.factories import latency_summary, with_latency
from tests.recorded import record_run
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Step

from nodrop.model.result import RunResult
from nodrop.model.summary import Measure
from nodrop.run.execute import execute
from nodrop.store.summaries import summarize_result


def measures(result: RunResult) -> dict[str, Measure]:
    return {each.key: each for each in summarize_result(result).measures}


def test_a_search_has_its_goals_with_their_bounds_and_its_latencies(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    actual = measures(result)
    ndr, bounds = actual["ndr"], result.goals[0]
    assert bounds.lower and bounds.upper
    assert (ndr.value, ndr.low, ndr.high) == (bounds.lower.load_pps, bounds.lower.load_pps, bounds.upper.load_pps)
    assert (ndr.text, ndr.unit, ndr.better, ndr.limit) == ("NDR", "pps", "higher", "sut")
    assert actual["pdr_0.5%"].text == "PDR 0.5 %"
    assert len(actual) == 2, "a model measures no latency"


def test_a_limit_that_is_not_the_sut_s_stays_with_the_figure(tmp_path: Path) -> None:
    assert measures(record_run(tmp_path, SlowTester(3e6, 1e6)))["ndr"].limit == "tester"
    assert measures(record_run(tmp_path, Step(1e8)))["ndr"].limit == "max_load"


def test_a_search_without_bounds_has_what_it_estimates(tmp_path: Path) -> None:
    mrr = measures(record_run(tmp_path, MILLION, search__algorithm="mrr"))
    assert list(mrr) == ["mrr"]
    assert abs(mrr["mrr"].value / 1e6 - 1) < 0.01
    soak: dict[str, Any] = {"search__algorithm": "plrsearch", "search__max_duration": "60s", "goals": {"PLR": "0.1%"}}
    assert list(measures(record_run(tmp_path, MILLION, **soak))) == ["plr_0.1%_estimate"]


def test_a_fixed_rate_has_its_loss_and_what_came_back(tmp_path: Path) -> None:
    lossy = measures(execute(make_plan(tmp_path, rate="2Mpps", duration="1s"), Listener(), make_environment()))
    assert abs(lossy["loss_at_2mpps"].value - 0.5) < 0.01
    assert abs(lossy["forwarding_rate_at_2mpps"].value / 1e6 - 1) < 0.01
    assert lossy["loss_at_2mpps"].better == "lower"
    lossless = measures(execute(make_plan(tmp_path, rate="10kpps", duration="1s"), Listener(), make_environment()))
    assert lossless["forwarding_rate_at_10kpps"].limit == "max_load", "it says only what the SUT does at least"


def test_a_run_that_never_began_has_a_row_without_figures(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION).model_copy(
        update={"facts": None, "goals": (), "trials": (), "latencies": ()}
    )
    summary = summarize_result(result)
    assert summary.measures == ()
    assert summary.sut == "vnf-l2"
    assert summary.path == "PVP"


def test_latency_is_told_by_the_load_it_was_measured_at(tmp_path: Path) -> None:
    result = with_latency(record_run(tmp_path, MILLION), latency_summary([1000] * 97 + [1900] * 3))
    actual = measures(result)
    points = ("ndr", "pdr_0.5%", "50%_of_pdr_0.5%")
    assert [key for key in actual if key.startswith("latency")] == [
        f"latency_{name}_at_{point}" for point in points for name in ("p50", "p99", "p99.9", "max")
    ]
    assert actual["latency_p99_at_ndr"].value == 1900
    assert actual["latency_p99_at_50%_of_pdr_0.5%"].text == "latency p99 at 50 % of PDR 0.5 %"
    assert {(each.unit, each.better) for key, each in actual.items() if key.startswith("latency")} == {("ns", "lower")}


def test_a_rate_whose_bounds_are_far_apart_is_a_lower_limit(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    ndr, *others = result.goals
    assert ndr.lower and ndr.goal.width_ratio and measures(result)["ndr"].limit == "sut"
    apart = ndr.lower.replace(load_pps=ndr.lower.load_pps / (1 - 5.1 * ndr.goal.width_ratio))
    wide = result.replace(goals=(ndr.replace(upper=apart, regular=False), *others))
    assert measures(wide)["ndr"].limit == "unknown"
