"""The statements of a result agree with its trials and with each other, for every kind of SUT and any budget."""

import random
from pathlib import Path

import pytest
from tests.running import make_plan, run_clocked

from nodrop.model.goal import REFUTED_LOWER, GoalResult, Limit
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Cell, Table
from nodrop.report.document.screen import build_screen
from nodrop.report.document.status import build_status
from nodrop.simulation import SUTS

PARTIAL = ("sut-lost-early", "sut-lost-in-parts")
"""Explanations of upper bounds whose trial as a whole lost no more than allowed."""
GOALS = (
    {"NDR": 0.0, "PDR": 0.005},
    {"NDR": 0.0, "PDR 0.1 %": 0.001, "PDR 1 %": 0.01},
    {"PDR": {"loss_ratio": 0.005, "duration_sum": "20s", "exceed_ratio": 0.5}},
)


@pytest.mark.parametrize("kind", SUTS)
@pytest.mark.parametrize("goals", GOALS)
def test_statements_agree(tmp_path: Path, kind: str, goals: dict[str, object]) -> None:
    draws = random.Random(f"{kind} {goals}")
    budget_s = draws.uniform(3.0, 40.0)
    trial_s = draws.choice([0.5, 1.5, 5.0])
    plan = make_plan(
        tmp_path,
        goals=goals,
        path_check=False,  # a dead link would end here
        search__budget=f"{budget_s:.1f}s",
        search__final_trial_duration=f"{trial_s}s",
    )
    result, _ = run_clocked(plan, SUTS[kind](draws.randrange(10**6)))
    for each in result.goals:
        assert_bounds_agree_with_their_trials(each, result)
        assert_latency_trials_count(each, result)
    is_complete = all(is_found(each) for each in result.goals)
    status = build_status(result)
    assert status.text.startswith("complete") is is_complete and (status.tone == "good") is is_complete
    for each, row in zip(result.goals, list_goal_rows(result), strict=True):
        is_partial = each.upper is not None and each.upper.loss_ratio <= each.goal.loss_ratio
        assert row[3].text.endswith((", more in parts", ", more if continued")) is is_partial


def is_found(each: GoalResult) -> bool:
    """Return whether the bounds of a goal are close enough, or at a limit of the loads."""
    if not each.lower or not each.upper:
        return each.limit in (Limit.MAX_LOAD, Limit.MIN_LOAD)
    assert each.goal.width_ratio
    return 1.0 - each.lower.load_pps / each.upper.load_pps <= each.goal.width_ratio * (1.0 + 1e-6) and each.regular


def list_goal_rows(result: RunResult) -> tuple[tuple[Cell, ...], ...]:
    (rates,) = (section for section in build_screen(result) if section.name == "rates")
    return next(block.rows for block in rates.blocks if isinstance(block, Table))


def assert_bounds_agree_with_their_trials(each: GoalResult, result: RunResult) -> None:
    allowed = each.goal.loss_ratio
    if each.lower:
        trial = result.trials[each.lower.trial_index]
        assert each.lower.loss_ratio == trial.judged_loss_ratio
        assert each.lower.load_pps == trial.trial.intended_load_pps
        assert trial.judged_loss_ratio <= allowed or "parts-as-trials" in {flag.code for flag in each.flags}
    if each.upper:
        trial = result.trials[each.upper.trial_index]
        assert each.upper.loss_ratio == trial.judged_loss_ratio
        assert (trial.judged_loss_ratio > allowed) is (each.explanation.code not in PARTIAL) or not each.lower
        if each.lower:
            assert each.explanation.params["lost_count"] == trial.judged_counts.lost_count


def assert_latency_trials_count(each: GoalResult, result: RunResult) -> None:
    """A latency trial at the bound or below, after its trial, either moved the bound or is a flag."""
    if not each.lower:
        return
    refuting = [
        trial
        for trial in result.trials[each.lower.trial_index + 1 :]
        if trial.phase.startswith("latency ")
        and trial.trial.intended_load_pps <= each.lower.load_pps
        and trial.judged_counts.sut_loss_ratio > each.goal.loss_ratio
    ]
    assert bool(refuting) is (REFUTED_LOWER in {flag.code for flag in each.flags})
