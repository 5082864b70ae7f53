"""Search plans for testers with a custom measurer."""

import subprocess
import sys
from typing import Any

import pytest

import nodrop.search
from nodrop.errors import ConfigError
from nodrop.search import Goal, create, plan


def test_the_highest_load_is_enough() -> None:
    requested = plan(max_load_pps=1e6)
    assert (requested.algorithm, requested.min_load_pps, requested.final_trial_duration_s) == ("nodrop", 1e3, 30.0)
    assert [(goal.label, goal.loss_ratio) for goal in requested.goals] == [("NDR", 0.0), ("PDR", 0.005)]
    assert create(requested).ask()


def test_short_final_trials_bring_short_initial_ones() -> None:
    assert plan(max_load_pps=1e6, final_trial_duration_s=0.2).initial_trial_duration_s == 0.2


def test_goals_may_have_attributes() -> None:
    goal = Goal(label="NDR", loss_ratio=0.0, final_trial_duration_s=1.0, duration_sum_s=21.0, exceed_ratio=0.5)
    requested = plan(max_load_pps=1e6, goals=[goal], algorithm="mlrsearch-rfc9971")
    assert requested.goals == (goal,)
    assert create(requested).ask()


def test_any_option_of_a_search_may_be_given() -> None:
    assert plan(max_load_pps=1e6, algorithm="mrr", trial_count=3).trial_count == 3


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"max_load_pps": -1.0}, "search: max_load_pps: should be greater than 0 (-1.0)"),
        ({"max_load_pps": 1e6, "min_load_pps": 1e6}, "search.max_load: 1.000 Mpps is not above search.min_load"),
        ({"max_load_pps": 1e6, "width": 0.1}, "search: width: unknown key (0.1)"),
        ({"max_load_pps": 1e6, "goals": {}}, "search: goals:"),
        ({"max_load_pps": 1e6, "algorithm": "luck"}, "search: algorithm: should be 'nodrop'"),
        (
            {"max_load_pps": 1e6, "algorithm": "binary", "goals": [Goal(label="NDR", loss_ratio=0, exceed_ratio=0.5)]},
            "goals.NDR.exceed_ratio: 0.5 has no effect, the search binary uses only the loss ratio of a goal",
        ),
        (
            {"max_load_pps": 1e6, "goals": [Goal(label="NDR", loss_ratio=0, duration_sum_s=1.0)]},
            "search.final_trial_duration: 30 s exceeds goals.NDR.duration_sum (1 s)",
        ),
    ],
)
def test_what_cannot_be_searched_for_is_a_sentence(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(**asked)
    assert sentence in str(raised.value)


def test_everything_that_is_offered_is_there() -> None:
    assert all(hasattr(nodrop.search, name) for name in nodrop.search.__all__)


def test_searching_loads_nothing_of_the_tester() -> None:
    output = subprocess.run(
        [sys.executable, "-c", "import sys, nodrop.search; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    rooms = ("cli", "config", "stage", "generator", "report", "store", "run")
    assert set(output.stdout.split()).isdisjoint(
        {"click", "rich", "yaml", "pyroute2", "numpy", *(f"nodrop.{room}" for room in rooms)}
    )
