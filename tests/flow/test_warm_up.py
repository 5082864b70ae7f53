"""The load of a trial is sent for a while before the trial, and not judged."""

from pathlib import Path

import pytest
from tests.running import make_plan, run_clocked

from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.report.document.screen import build_screen
from nodrop.simulation import create
from nodrop.simulation.sut import Sut

CAPACITY_PPS = 1e6


def make_forgetful_sut() -> Sut:
    """Return a SUT that forgets 512 flows between trials, and takes half a second to learn them again."""
    return create("flow-table", 1, {"capacity_pps": CAPACITY_PPS, "idle_s": 0.4})


def measure(results_dir: Path, **keys: object) -> RunResult:
    result, _ = run_clocked(make_plan(results_dir, path_check=False, **keys), make_forgetful_sut())
    return result


def test_a_sut_that_forgets_between_trials_has_the_rate_of_its_slow_path(tmp_path: Path) -> None:
    result = measure(tmp_path, search__budget="60s")
    assert all(goal.lower is None or goal.lower.load_pps < 0.01 * CAPACITY_PPS for goal in result.goals)


def test_a_warm_up_shows_the_rate_of_the_warm_sut(tmp_path: Path) -> None:
    result = measure(tmp_path, warm_up="1s")
    for goal in result.goals:
        assert goal.lower
        assert goal.lower.load_pps == pytest.approx(CAPACITY_PPS, rel=0.02)


def test_it_counts_as_time_of_the_search_and_of_the_budget(tmp_path: Path) -> None:
    with_warm_up, _ = run_clocked(make_plan(tmp_path / "a", path_check=False, warm_up="2s", search__budget="30s"))
    assert with_warm_up.plan.search.overhead_s == pytest.approx(2.5)
    _, ended_s = run_clocked(make_plan(tmp_path / "b", path_check=False, warm_up="2s", search__budget="30s"))
    assert ended_s <= 31.0


def test_the_screen_states_it(tmp_path: Path) -> None:
    result = measure(tmp_path, warm_up="1s", rate="10kpps", duration="1s")
    assert "1 s of warm-up before each trial" in str(build_screen(result))
    assert result.plan.traffic.warm_up_s == 1.0


def test_it_is_off_by_default_and_bounded(tmp_path: Path) -> None:
    assert make_plan(tmp_path).traffic.warm_up_s == 0.0
    with pytest.raises(ConfigError, match="warm_up"):
        make_plan(tmp_path, warm_up="61s")
