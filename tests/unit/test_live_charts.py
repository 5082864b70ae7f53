"""Charts of a running run: constant definitions, and rows up to the run's progress."""

import json
import subprocess
import sys
from pathlib import Path

import altair
import jsonschema
import pytest
from tests.recorded import record_run, space_trials
from tests.running import MILLION
from tests.waiting import stretch

from nodrop.charts import live
from nodrop.charts.base import Chart
from nodrop.charts.render import compile_chart, render_png
from nodrop.model.event import TrialProgress, TrialStarted
from nodrop.model.goal import Goal
from nodrop.model.result import RunResult
from nodrop.model.trial import Trial

COMPILES_IN_TWO_THREADS = """
import gc, sys, threading, time
from nodrop.charts import live, render

def let_the_other_thread_run(phase, info):
    until_s = time.perf_counter() + 0.001
    while time.perf_counter() < until_s:
        pass

def compile_charts():
    for _ in range(20):
        render._compile.cache_clear()
        render.compile_chart(live.build_bounds_chart(()), "light")

sys.setswitchinterval(1e-6)
gc.set_threshold(50, 5, 5)
gc.callbacks.append(let_the_other_thread_run)
threads = [threading.Thread(target=compile_charts) for _ in range(2)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""
"""The collector runs while the renderer converts its result to Python objects, and changes the thread there."""
GOALS = (Goal(label="NDR", loss_ratio=0.0), Goal(label="PDR", loss_ratio=0.005))
CHARTS = (live.build_search_chart(), live.build_bounds_chart(GOALS), live.build_rate_chart(), live.build_loss_chart())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return space_trials(record_run(tmp_path_factory.mktemp("live"), MILLION))


def first_trials(result: RunResult, count: int) -> RunResult:
    return result.model_copy(update={"trials": result.trials[:count], "steps": result.steps[:count]})


def progress(index: int, elapsed_s: float, offered_count: int, lost_count: int = 0) -> TrialProgress:
    received_count = offered_count - lost_count
    return TrialProgress(
        index=index,
        elapsed_s=elapsed_s,
        offered_count=offered_count,
        received_count=received_count,
        lost_count=lost_count,
    )


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_definitions_are_valid_and_hold_no_data(chart: Chart) -> None:
    """Validate with the schema of Vega-Lite 5 that the package altair ships."""
    schema_file = Path(altair.__file__).parent / "vegalite" / "v5" / "schema" / "vega-lite-schema.json"
    jsonschema.Draft7Validator(json.loads(schema_file.read_text(encoding="utf-8"))).validate(chart.spec)
    assert '"values": [{' not in json.dumps(chart.definition)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_what_a_browser_gets_takes_its_data_by_the_same_names_in_both_themes(chart: Chart) -> None:
    light, dark = compile_chart(chart, "light"), compile_chart(chart, "dark")
    assert set(chart.data) <= {data["name"] for data in light["data"]}
    assert light != dark
    assert light["background"] is None  # It uses the page's own background.


def test_rows_at_every_moment_of_a_search_can_be_drawn(result: RunResult) -> None:
    count = sum(trial.phase == "search" for trial in result.trials)
    for until in (1, count // 2, count):
        rows = live.build_search_rows(first_trials(result, until), result.steps[:until])
        assert len(rows["trials"]) == until
        for chart in (live.build_search_chart(), live.build_bounds_chart(result.plan.search.goals)):
            filled = chart.model_copy(update={"data": {name: tuple(rows[name]) for name in chart.data}})
            assert render_png(filled).startswith(b"\x89PNG")


def test_the_trial_that_runs_is_among_those_tried(result: RunResult) -> None:
    now = TrialStarted(index=9, phase="search", trial=Trial(intended_load_pps=1e6, duration_s=2.0))
    *_, last = live.build_search_rows(first_trials(result, 2), result.steps[:2], now)["trials"]
    assert last["outcome"] == live.IS_RUNNING
    assert last["end"] - last["start"] == pytest.approx(2.0)


def test_bounds_at_the_end_are_those_of_the_result(result: RunResult) -> None:
    count = sum(trial.phase == "search" for trial in result.trials)
    rows = live.build_search_rows(first_trials(result, count), result.steps)["bounds"]
    for each in result.goals:
        assert each.lower and each.upper
        own = [row for row in rows if row["goal"].startswith(each.goal.label)]
        for side, bound in (("lower", each.lower), ("upper", each.upper)):
            assert [row["load"] for row in own if row["side"] == side][-1] == pytest.approx(bound.load_pps)


def test_rates_and_loss_are_those_since_the_counts_before() -> None:
    rows = live.build_trial_rows([progress(1, 1.0, 1000), progress(1, 1.05, 1050), progress(1, 2.0, 2000, 100)])
    assert [row["rate"] for row in rows["rates"] if row["way"] == "sent"] == [1000, 1000, 1000]
    assert [row["rate"] for row in rows["rates"] if row["way"] == "received"] == [1000, 1000, 900]
    assert [row["time"] for row in rows["rates"] if row["way"] == "sent"] == [0.0, 1.0, 2.0]
    assert [row["loss"] for row in rows["losses"]] == [0, pytest.approx(0.1)]


def test_a_long_trial_is_kept_in_as_many_points_as_can_be_seen() -> None:
    stored: list[TrialProgress] = []
    for step in range(10_000):
        stored = live.thin_progress([*stored, progress(1, step * 0.25, step)])
    assert live.POINTS_MAX / 3 < len(stored) <= live.POINTS_MAX
    assert stored[0].elapsed_s == 0
    assert [each.elapsed_s for each in stored] == sorted(each.elapsed_s for each in stored)


def test_two_threads_that_render_do_not_wait_for_each_other() -> None:
    subprocess.run([sys.executable, "-c", COMPILES_IN_TWO_THREADS], check=True, timeout=stretch(60))
