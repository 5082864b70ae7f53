"""A run with a budget ends within it: search, latency trials, retries and the extension of disturbed trials."""

from pathlib import Path

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan, run_clocked

from nodrop.config.load import build_config
from nodrop.explain.redecide import redecide
from nodrop.generator.base import OnWindow
from nodrop.model.plan import Plan
from nodrop.model.trial import EXTENSION_MAX_RATIO, Doubt, Trial, TrialResult, UndisturbedCounts, ValidityStatus
from nodrop.plan import build_plan
from nodrop.run.execute import execute
from nodrop.simulation import SimulatedMeasurer


class DisturbedMeasurer(SimulatedMeasurer):
    """Extends every trial of a search as far as it may: only its own duration of it is undisturbed."""

    def __init__(self, measurer: SimulatedMeasurer) -> None:
        super().__init__(measurer._traffic, MILLION, overhead_s=0.0)
        self.search_end_s = 0.0

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        result = super().measure(trial, index, phase, on_window)
        if phase != "search" or not result.lost_count:
            return result
        limit_s = trial.extension_max_s
        extension_s = min(3.0, EXTENSION_MAX_RATIO) * result.duration_s
        extension_s = extension_s if limit_s is None else min(extension_s, limit_s)
        self.now_s += extension_s
        self.search_end_s = self.now_s
        undisturbed = UndisturbedCounts(
            duration_s=result.duration_s,
            offered_count=result.offered_count,
            lost_count=result.lost_count,
            unsent_count=result.unsent_count,
        )
        duration_s = result.duration_s + extension_s
        return result.model_copy(update={"undisturbed_counts": undisturbed, "duration_s": duration_s})


@pytest.mark.parametrize("budget_s", [3.0, 6.0, 20.0])
def test_disturbed_trials_do_not_exceed_the_budget(tmp_path: Path, budget_s: float) -> None:
    measurers: list[DisturbedMeasurer] = []

    def disturb(measurer: SimulatedMeasurer) -> DisturbedMeasurer:
        measurers.append(DisturbedMeasurer(measurer))
        return measurers[0]

    plan = make_plan(tmp_path, search__budget=f"{budget_s:g}s", latency__enabled=False)
    environment = make_environment(wrap=disturb)._replace(clock=lambda: measurers[0].now_s if measurers else 0.0)
    result = execute(plan, Listener(), environment)
    assert result.goals[0].lower or budget_s < 10.0
    assert measurers[0].search_end_s <= budget_s


class InvalidMeasurer(SimulatedMeasurer):
    """Its first trials are invalid."""

    def __init__(self, measurer: SimulatedMeasurer, invalid_count: int) -> None:
        super().__init__(measurer._traffic, MILLION)
        self._invalid_count = invalid_count

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        result = super().measure(trial, index, phase, on_window)
        if self._invalid_count:
            self._invalid_count -= 1
            return result.with_doubt(Doubt.invalid("tester_drops", count=1))
        return result


@pytest.mark.parametrize("budget_s", [4.0, 8.0, 12.0, 30.0])
@pytest.mark.parametrize("trial_s", [0.5, 3.0, 10.0])
def test_a_run_with_latency_trials_ends_within_its_budget(tmp_path: Path, budget_s: float, trial_s: float) -> None:
    plan = make_plan(tmp_path, search__budget=f"{budget_s:g}s", latency__trial_duration=f"{trial_s:g}s")
    result, end_s = run_clocked(plan)
    assert end_s <= budget_s
    is_too_short = any("too short" in warning for warning in plan.warnings)
    assert is_too_short or (result.goals[0].lower and len(result.latencies) == 3)


def test_a_trial_that_is_retried_gets_shorter_with_the_remaining_time(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, search__budget="6s", search__final_trial_duration="5s", latency__enabled=False)
    result, end_s = run_clocked(plan, wrap=lambda measurer: InvalidMeasurer(measurer, 2))
    assert end_s <= 6.0
    assert result.trials[1].trial.duration_s > result.trials[2].trial.duration_s
    assert result.trials[2].validity.verdict is ValidityStatus.VALID
    assert redecide(result).differences == ()


@pytest.mark.parametrize(
    ("requested", "least"),
    [
        ({}, "10 s"),
        ({"latency.enabled": False}, "8 s"),
        ({"goals": {"NDR": 0}}, "7 s"),
        ({"engine.backend": "dpdk"}, "12 s"),
        ({"profile": "csit"}, "44 s"),
    ],
)
def test_a_budget_that_is_too_short_is_named_with_the_shortest(requested: dict[str, object], least: str) -> None:
    (warning,) = plan_budget("2s", requested).warnings
    assert warning.startswith("search.budget: 2 s is too short to find NDR") and f"allow at least {least} " in warning
    assert plan_budget(warning.split()[-1].rstrip(")"), requested).warnings == ()


def plan_budget(budget: str, requested: dict[str, object]) -> Plan:
    return build_plan(build_config([], {**requested, "search.budget": budget}), cpus=[0, 1])
