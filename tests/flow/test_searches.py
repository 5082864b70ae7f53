"""Every search in an entire run: its goals are judged, stored and reported."""

import io
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan

from nodrop import store
from nodrop.cli.console import print_renderable
from nodrop.model.choices import AlgorithmName
from nodrop.model.event import RunDone
from nodrop.model.goal import Limit
from nodrop.model.result import RunResult, Status
from nodrop.report.terminal import render_result
from nodrop.run.execute import execute

WITH_BOUNDS: tuple[AlgorithmName, ...] = (
    "nodrop",
    "mlrsearch-rfc9971",
    "mlrsearch-01",
    "mlrsearch-03",
    "binary",
    "binary-loss-verification",
    "nfvbench",
)


def run(algorithm: AlgorithmName, results_dir: Path, **keys: Any) -> RunResult:
    """Return a stored run of that search over a SUT that forwards a million frames per second."""
    listener = Listener()
    execute(make_plan(results_dir, search__algorithm=algorithm, **keys), listener, make_environment())
    done = listener.events[-1]
    assert isinstance(done, RunDone) and done.path
    return store.load(done.path)


def text_of(result: RunResult) -> str:
    out = io.StringIO()
    print_renderable(render_result(result, with_trials=True), out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", WITH_BOUNDS)
def test_a_search_with_bounds_encloses_the_truth(algorithm: AlgorithmName, tmp_path: Path) -> None:
    result = run(algorithm, tmp_path)
    assert result.status is Status.COMPLETE
    for each in result.goals:
        truth = MILLION.throughput(each.goal.loss_ratio, 1.0)
        assert (each.regular, each.limit) == (True, Limit.SUT)
        assert each.lower and each.lower.load_pps <= truth.high_pps
        assert each.upper and each.upper.load_pps >= truth.low_pps
        assert each.loss_ratio_limit and each.lower.loss_ratio <= each.loss_ratio_limit < 0.01
    assert "limited by the SUT" in text_of(result)


def test_trials_at_the_highest_load_are_told_as_an_estimate(tmp_path: Path) -> None:
    result = run("mrr", tmp_path)
    assert result.status is Status.COMPLETE
    assert [each.estimate_pps for each in result.goals] == pytest.approx([1e6, 1e6], rel=0.01)
    assert "- NDR 0 %: about 1.000 Mpps" in text_of(result)


def test_a_soak_uses_up_its_time_and_is_told_as_an_estimate(tmp_path: Path) -> None:
    time = {"search__max_duration": "40s", "search__initial_count": 1, "search__duration_increment": "0.2s"}
    result = run("plrsearch", tmp_path, goals={"PLR": 1e-4}, **time)
    assert (result.status, result.goals[0].limit) == (Status.COMPLETE, Limit.UNKNOWN)
    assert result.goals[0].estimate_pps == pytest.approx(1e6, rel=0.02)
    assert "- PLR 0.01 %: about " in text_of(result)


@pytest.mark.parametrize("algorithm", ["nodrop", "mlrsearch-rfc9971"])
def test_goals_with_attributes_of_their_own_are_found_by_these(algorithm: AlgorithmName, tmp_path: Path) -> None:
    often = {"loss_ratio": 0, "final_trial_duration": "0.2s", "duration_sum": "2s", "exceed_ratio": "50%"}
    goals = {"NDR": 0, "often": often, "coarse": {"loss_ratio": "1%", "width": "5%"}}
    result = run(algorithm, tmp_path, goals=goals, latency__enabled=False)
    assert [each.regular for each in result.goals] == [True] * 3
    coarse = result.goals[2]
    assert coarse.lower and coarse.upper and coarse.goal.width_ratio == 0.05
    assert 1 - coarse.lower.load_pps / coarse.upper.load_pps <= 0.05
