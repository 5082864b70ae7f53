"""Thresholds for figures: their forms, their verdicts, and the exit code of a run that misses one."""

from pathlib import Path

import pytest
from tests.factories import with_latency
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Sut

from nodrop.analysis.expectations import Verdict, judge_expectations, require_outcome
from nodrop.config.load import build_config
from nodrop.errors import ConfigError, FailOnError, OfferedShortError, SearchError
from nodrop.model.expectation import parse_expectation
from nodrop.model.result import RunResult
from nodrop.plan import build_plan
from nodrop.run.execute import execute


def run_search(tmp_path: Path, *expect: str, sut: Sut = MILLION) -> RunResult:
    plan = make_plan(tmp_path).model_copy(update={"expect": expect})
    return with_latency(execute(plan, Listener(), make_environment(sut)))


def run_fixed(tmp_path: Path, rate: str, *expect: str, sut: Sut = MILLION) -> RunResult:
    plan = make_plan(tmp_path, rate=rate, duration=1).model_copy(update={"expect": expect})
    return execute(plan, Listener(), make_environment(sut))


@pytest.mark.parametrize(
    ("text", "figure", "name", "point", "limit"),
    [
        ("ndr>5Mpps", "load", "NDR", None, 5e6),
        ("PDR >= 2.5Gbps", "load", "PDR", None, 2.5e9),
        ("p99@50%<50us", "latency", "p99", 0.5, 50e3),
        ("max@ndr<=1ms", "latency", "max", "NDR", 1e6),
        ("p99.9<50us", "latency", "p99.9", None, 50e3),
        ("loss<=0.1%", "loss", "loss", None, 0.001),
    ],
)
def test_an_expectation_names_a_figure_and_a_limit(
    text: str, figure: str, name: str, point: str | float | None, limit: float
) -> None:
    parsed = parse_expectation(text)
    assert (parsed.figure, parsed.name, parsed.point) == (figure, name, point)
    assert parsed.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text", ["ndr", "ndr=5Mpps", "ndr>", ">5Mpps", "p0<1us", "p101<1us", "ndr@50%>1Mpps", "ndr>5us"]
)
def test_a_text_that_is_no_expectation_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"expect.*write"):
        build_config((), {"expect": [text]})


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, "mrr>5Mpps"),
        ({}, "loss<=0.1%"),
        ({}, "p99<50us"),
        ({}, "p99@40%<50us"),
        ({"latency": {"enabled": False}}, "p99@ndr<50us"),
        ({"rate": "10kpps"}, "ndr>5Mpps"),
        ({"rate": "10kpps"}, "p99@50%<50us"),
    ],
)
def test_a_figure_that_the_run_does_not_measure_is_refused_before_it_starts(keys: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match="expect: "):
        build_plan(build_config((), {**keys, "expect": [text]}))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("ndr>0.9Mpps", Verdict.MET),
        ("ndr>1.1Mpps", Verdict.MISSED),
        ("ndr<1.1Mpps", Verdict.MET),
        ("ndr>600Mbps", Verdict.MET),
        ("ndr>700Mbps", Verdict.MISSED),
        ("min@ndr<1s", Verdict.MET),
        ("p99@50%<1ns", Verdict.MISSED),
    ],
)
def test_bounds_and_latencies_decide(text: str, verdict: Verdict, tmp_path: Path) -> None:
    (judgment,) = judge_expectations(run_search(tmp_path, text))
    assert judgment.verdict is verdict


def test_a_rate_that_the_sut_may_exceed_decides_in_one_direction_only(tmp_path: Path) -> None:
    texts = ("ndr>0.3Mpps", "ndr>0.9Mpps", "ndr<0.3Mpps", "ndr<0.9Mpps")
    result = run_search(tmp_path, *texts, sut=SlowTester(1e6, 4e5))
    verdicts = [judgment.verdict for judgment in judge_expectations(result)]
    assert verdicts == [Verdict.MET, Verdict.UNDECIDED, Verdict.MISSED, Verdict.UNDECIDED]
    with pytest.raises(FailOnError, match=r"3 expectations not met: ndr>0\.9Mpps: undecided, NDR is at least"):
        require_outcome(result)


def test_a_rate_that_is_likely_too_high_meets_no_minimum(tmp_path: Path) -> None:
    result = run_search(tmp_path, "ndr>0.9Mpps", "ndr<0.9Mpps", "ndr>1.1Mpps", "ndr<1.1Mpps")
    ndr = result.goals[0].model_copy(update={"lower_error_probability": 0.93})
    judgments = judge_expectations(result.model_copy(update={"goals": (ndr, *result.goals[1:])}))
    verdicts = [judgment.verdict for judgment in judgments]
    assert verdicts == [Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.MISSED, Verdict.MET]
    assert judgments[0].found.endswith("likely too high")


def test_a_fixed_rate_is_judged_by_loss_and_must_be_reached(tmp_path: Path) -> None:
    require_outcome(run_fixed(tmp_path, "0.5Mpps", "loss<=0%"))
    with pytest.raises(FailOnError, match=r"loss<=0.1%: missed, loss is"):
        require_outcome(run_fixed(tmp_path, "2Mpps", "loss<=0.1%"))
    with pytest.raises(OfferedShortError, match="rate: the tester sent"):
        require_outcome(run_fixed(tmp_path, "0.8Mpps", sut=SlowTester(1e6, 4e5)))


def test_a_rate_of_nfvbenchs_configuration_need_not_be_reached(tmp_path: Path) -> None:
    result = run_fixed(tmp_path, "0.8Mpps", sut=SlowTester(1e6, 4e5))
    plan = result.plan.model_copy(update={"nfvbench": {"traffic_generator": {"ip_addrs": ["110.0.0.0/8"]}}})
    require_outcome(result.model_copy(update={"plan": plan}))


def test_a_goal_without_a_load_leaves_its_expectations_undecided(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, search__budget="2s")
    result = execute(plan, Listener(), make_environment())
    assert result.goals[0].lower is None
    with pytest.raises(SearchError, match=r"no load that meets NDR.* was found; allow more time \(--budget\)"):
        require_outcome(result)
    expecting = result.model_copy(update={"plan": plan.model_copy(update={"expect": ("ndr>1kpps",)})})
    with pytest.raises(FailOnError, match=r"1 expectation not met: ndr>1kpps: undecided"):
        require_outcome(expecting)


def test_a_share_of_a_goal_is_searched_for_then_measured() -> None:
    plan = build_plan(build_config((), {"rate": "50% of NDR", "duration": 3}))
    assert [goal.label for goal in plan.search.goals] == ["NDR"]
    (point,) = plan.latency.points
    assert (point.label, point.load_ratio, plan.latency.duration_s, plan.fixed) == ("50 % of NDR", 0.5, 3.0, None)


def test_a_share_of_a_goal_without_latency_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rate: 50%NDR .*latency.enabled is false"):
        build_plan(build_config((), {"rate": "50%NDR", "latency": {"enabled": False}}))
