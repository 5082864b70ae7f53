"""Disturbed trials of a search go on, but not beyond its time limit by more than their own duration."""

from pathlib import Path

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan

from nodrop.generator.base import OnWindow
from nodrop.model.trial import EXTENSION_MAX_RATIO, Trial, TrialResult, UndisturbedCounts
from nodrop.run.execute import execute
from nodrop.simulation import SimulatedMeasurer


class DisturbedMeasurer(SimulatedMeasurer):
    """Extends every trial of a search as far as it may: only its own duration of it is undisturbed."""

    def __init__(self, measurer: SimulatedMeasurer) -> None:
        super().__init__(measurer._traffic, MILLION, overhead_s=0.0)
        self.search_end_s = 0.0
        self.longest_s = 0.0

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        result = super().measure(trial, index, phase, on_window)
        if phase != "search" or not result.lost_count:
            return result
        limit_s = trial.extension_max_s
        extension_s = min(3.0, EXTENSION_MAX_RATIO) * result.duration_s
        extension_s = extension_s if limit_s is None else min(extension_s, limit_s)
        self.now_s += extension_s
        self.search_end_s = self.now_s
        self.longest_s = max(self.longest_s, trial.duration_s)
        undisturbed = UndisturbedCounts(
            duration_s=result.duration_s,
            offered_count=result.offered_count,
            lost_count=result.lost_count,
            unsent_count=result.unsent_count,
        )
        duration_s = result.duration_s + extension_s
        return result.model_copy(update={"undisturbed_counts": undisturbed, "duration_s": duration_s})


@pytest.mark.parametrize("budget_s", [3.0, 6.0, 20.0])
def test_a_search_ends_within_its_budget_and_one_trial(tmp_path: Path, budget_s: float) -> None:
    measurers: list[DisturbedMeasurer] = []

    def disturb(measurer: SimulatedMeasurer) -> DisturbedMeasurer:
        measurers.append(DisturbedMeasurer(measurer))
        return measurers[0]

    plan = make_plan(tmp_path, search__budget=f"{budget_s:g}s", latency__enabled=False)
    environment = make_environment(wrap=disturb)._replace(clock=lambda: measurers[0].now_s if measurers else 0.0)
    result = execute(plan, Listener(), environment)
    assert result.goals[0].lower or budget_s < 10.0
    assert measurers[0].search_end_s <= budget_s + measurers[0].longest_s
