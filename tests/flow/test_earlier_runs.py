"""The rates of earlier runs of the same setup, beside those of a run."""

from pathlib import Path
from typing import Any

import pytest
from tests.running import Listener, make_environment
from tests.suts import Step

from nodrop import store
from nodrop.config.load import build_config
from nodrop.model.result import RunResult
from nodrop.plan import build_plan
from nodrop.report.document.repeatability import describe_repeatability
from nodrop.report.document.screen import build_screen
from nodrop.run.event_sinks import open_sinks
from nodrop.run.execute import execute
from nodrop.store.setup_key import compute_setup_key
from nodrop.store.summaries import summarize_result
from nodrop.units import format_pps


def run(tmp_path: Path, capacity_pps: float, **keys: Any) -> RunResult:
    """Measure a simulated SUT and index the result, as `nodrop run` does."""
    short = {
        "search.final_trial_duration": "1s",
        "search.max_load": "4Mpps",
        "latency.enabled": False,
        "results_dir": str(tmp_path),
    }
    plan = build_plan(build_config((), short | {key.replace("__", "."): value for key, value in keys.items()}))
    problems: list[str] = []
    with open_sinks(plan, problems.append) as dispatch:
        result = execute(plan, dispatch, make_environment(Step(capacity_pps)))
    assert not problems
    return result


def test_a_first_run_has_no_repeatability(tmp_path: Path) -> None:
    result = run(tmp_path, 1e6)
    assert result.earlier_runs
    assert not result.earlier_runs.run_ids
    assert list(describe_repeatability(result)) == ["no earlier run of this setup, so the repeatability is unknown"]


def test_the_rates_of_earlier_runs_are_stored_and_shown(tmp_path: Path) -> None:
    earlier = [run(tmp_path, rate) for rate in (1.02e6, 0.98e6, 1e6)]
    stored = store.load(run(tmp_path, 1e6).run_id, tmp_path)
    assert stored.earlier_runs
    assert set(stored.earlier_runs.run_ids) == {each.run_id for each in earlier}
    rates = sorted(each.goals[0].lower.load_pps for each in earlier if each.goals[0].lower)
    text = f"3 earlier runs of this setup: NDR {format_pps(rates[0])} to {format_pps(rates[-1])}; PDR"
    assert next(describe_repeatability(stored)).startswith(text)
    paragraphs = [block.text for section in build_screen(stored) for block in section.blocks if hasattr(block, "text")]
    assert any(each.startswith(text) for each in paragraphs)


@pytest.mark.parametrize(
    "keys",
    [{"search__width": "2%"}, {"sut": "bridge"}, {"flow_count": 1000}, {"label": "patched"}, {"vnf__capacity": 9e5}],
)
def test_runs_of_other_setups_do_not_count(tmp_path: Path, keys: dict[str, Any]) -> None:
    run(tmp_path, 1e6, **keys)
    result = run(tmp_path, 1e6)
    assert result.earlier_runs
    assert not result.earlier_runs.run_ids


def test_other_cpus_are_the_same_setup(tmp_path: Path) -> None:
    result = run(tmp_path, 1e6)
    engine = result.plan.engine.model_copy(update={"cores": (7,)})
    moved = result.model_copy(update={"plan": result.plan.model_copy(update={"engine": engine})})
    assert compute_setup_key(moved) == compute_setup_key(result)


def test_a_stored_result_has_the_same_key(tmp_path: Path) -> None:
    result = run(tmp_path, 1e6)
    assert compute_setup_key(store.load(result.run_id, tmp_path)) == summarize_result(result).setup != ""


def test_a_broken_index_does_not_end_a_run(tmp_path: Path) -> None:
    plan = build_plan(build_config((), {"results_dir": str(tmp_path), "rate": "10kpps", "duration": "1s"})).model_copy(
        update={"results_index": "sqlite:////nonexistent/index"}
    )
    assert execute(plan, Listener(), make_environment()).earlier_runs is None
