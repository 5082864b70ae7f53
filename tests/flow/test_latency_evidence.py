"""Latency trials at the bounds of a search are evidence about them; the SUTs here lose capacity with each of these."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.running import Listener, make_environment, make_plan
from tests.suts import Step

from nodrop.charts.search_chart_data import build_search_chart_data
from nodrop.explain.redecide import redecide
from nodrop.generator.base import OnWindow
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import REFUTED_LOWER
from nodrop.model.result import RunResult
from nodrop.model.trial import Trial, TrialResult
from nodrop.report.document.screen import list_cautions
from nodrop.run.execute import execute
from nodrop.run.session import REFUTATIONS_MAX
from nodrop.simulation import SimulatedMeasurer, SutCounts


class WeakSut:
    """Forwards less by a share from each of its first changes on."""

    def __init__(self, lost_ratio: float) -> None:
        self.capacity_pps = 1e6
        self._lost_ratio = lost_ratio

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        return Step(self.capacity_pps)(intended_load_pps, duration_s)

    def weaken(self) -> None:
        self.capacity_pps *= 1.0 - self._lost_ratio


class WeakeningMeasurer(SimulatedMeasurer):
    """Weakens the SUT before a latency trial at NDR, a number of times."""

    def __init__(self, measurer: SimulatedMeasurer, sut: WeakSut, count: int) -> None:
        super().__init__(measurer._traffic, sut)
        self._weak_sut = sut
        self._count = count

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        if phase == "latency NDR" and self._count:
            self._count -= 1
            self._weak_sut.weaken()
        return super().measure(trial, index, phase, on_window)


def weaken(sut: WeakSut, count: int) -> Callable[[SimulatedMeasurer], SimulatedMeasurer]:
    return lambda measurer: WeakeningMeasurer(measurer, sut, count)


def run(tmp_path: Path, count: int, algorithm: AlgorithmName = "nodrop", lost_ratio: float = 0.02) -> RunResult:
    sut = WeakSut(lost_ratio)
    # Longer than the trials of the search, so that these do not have the latency already.
    plan = make_plan(tmp_path, search__algorithm=algorithm, latency__trial_duration="2s")
    return execute(plan, Listener(), make_environment(sut, wrap=weaken(sut, count)))


def list_latency_trials(result: RunResult, point: str) -> list[TrialResult]:
    return [trial for trial in result.trials if trial.phase == f"latency {point}"]


def test_a_latency_trial_that_loses_at_a_bound_moves_it(tmp_path: Path) -> None:
    result = run(tmp_path, count=1)
    loss_free = result.goals[0]
    refuted, confirmed = list_latency_trials(result, "NDR")
    assert refuted.loss_ratio > 0.0 and confirmed.loss_ratio == 0.0
    assert loss_free.regular and loss_free.lower
    assert 0.97e6 < loss_free.lower.load_pps <= 0.98e6
    assert confirmed.trial.intended_load_pps == loss_free.lower.load_pps


def test_latency_is_reported_at_the_final_bounds_only(tmp_path: Path) -> None:
    result = run(tmp_path, count=1)
    labels = [latency.label for latency in result.latencies]
    assert len(labels) == len(set(labels)) == len(result.plan.latency.points)
    lower_pps = {goal.goal.label: goal.lower.load_pps for goal in result.goals if goal.lower}
    for point in result.plan.latency.points:
        measured = next(each for each in result.latencies if each.label == point.label)
        assert measured.load_pps == lower_pps[point.goal_label] * point.load_ratio


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_search_with_latency_trials_as_evidence_is_reproduced(tmp_path: Path, count: int) -> None:
    result = run(tmp_path, count)
    again = redecide(result)
    assert again.differences == ()
    assert len(again.steps) == again.trial_count == len(result.steps)
    counted = {step.trial_index for step in result.steps}
    assert {trial.index for trial in list_latency_trials(result, "NDR")} <= counted


def test_a_bound_that_no_latency_trial_confirms_is_not_refuted_forever(tmp_path: Path) -> None:
    result = run(tmp_path, count=100)
    assert len(list_latency_trials(result, "NDR")) == REFUTATIONS_MAX + 1
    assert result.goals[0].lower
    assert list_refuted(result) == ["NDR", "PDR"]


def list_refuted(result: RunResult) -> list[str]:
    return [each.goal.label for each in result.goals if REFUTED_LOWER in {flag.code for flag in each.flags}]


@pytest.mark.parametrize("algorithm", ["mlrsearch-rfc9971", "mlrsearch-01", "binary"])
def test_published_searches_count_their_own_trials_only(tmp_path: Path, algorithm: AlgorithmName) -> None:
    result = run(tmp_path, count=1, algorithm=algorithm)
    (trial,) = list_latency_trials(result, "NDR")
    assert trial.loss_ratio > 0.0
    assert trial.index not in {step.trial_index for step in result.steps}
    assert redecide(result).differences == ()
    assert list_refuted(result) == ["NDR", "PDR"]
    ndr = result.goals[0]
    flag = next(flag for flag in ndr.flags if flag.code == REFUTED_LOWER)
    assert (flag.params["trial"], flag.params["load_pps"]) == (trial.index, trial.trial.intended_load_pps)
    assert ndr.is_likely_too_high is (ndr.goal.exceed_ratio == 0.0)
    assert any(text.startswith("the latency trial at ") for text in list_cautions(result))


def test_a_latency_trial_below_the_bounds_refutes_them_all(tmp_path: Path) -> None:
    result = run(tmp_path, count=1, lost_ratio=0.7)
    assert list_refuted(result) == []  # the search has moved its bounds
    result = run(tmp_path, count=1, algorithm="binary", lost_ratio=0.7)
    (half,) = list_latency_trials(result, "50 % of PDR")
    assert half.loss_ratio > 0.0
    assert list_refuted(result) == ["NDR", "PDR"]


def test_latency_trials_that_are_evidence_are_drawn_with_the_search(tmp_path: Path) -> None:
    result = run(tmp_path, count=1)
    drawn = {bar.trial for bar in build_search_chart_data(result, result.steps).bars}
    assert {trial.index for trial in list_latency_trials(result, "NDR")} <= drawn
