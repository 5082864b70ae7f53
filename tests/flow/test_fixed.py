"""Runs at a fixed rate and runs without traffic, over simulated systems under test."""

import io
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Step

from nodrop import store
from nodrop.charts import search_bounds
from nodrop.cli.console import print_renderable
from nodrop.config.load import build_config
from nodrop.errors import ConfigError, SearchError
from nodrop.model.result import DirectionCheck, RunResult, Status
from nodrop.model.trial import FIXED, Doubt, TrialResult, Validity, ValidityStatus
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.report.line_progress import LineProgress, format_trial_line
from nodrop.report.story import render_story
from nodrop.report.terminal import render_result
from nodrop.run.execute import execute
from nodrop.simulation import SimulatedMeasurer
from nodrop.store import calibration
from nodrop.units import format_pps


def text_of(result: RunResult, monkeypatch: pytest.MonkeyPatch, columns: int = 100) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    print_renderable(render_result(result), out)
    return out.getvalue()


def join_lines(text: str) -> str:
    return " ".join(text.split())


def test_a_fixed_rate_is_one_trial_of_its_duration_and_no_search(tmp_path: Path) -> None:
    listener = Listener()
    result = execute(make_plan(tmp_path, rate="10kpps", duration="3s"), listener, make_environment())
    (trial,) = result.trials
    assert (trial.phase, trial.trial.intended_load_pps, trial.trial.duration_s) == (FIXED, 10e3, 3.0)
    assert trial.trial.stop is None
    assert (trial.offered_count, trial.lost_count) == (30_000, 0)
    assert (result.goals, result.steps, result.status) == ((), (), Status.COMPLETE)
    assert listener.names == ["RunStarted", "StageUp", "PathChecked", "TrialStarted", "TrialDone", "RunDone"]
    assert store.load("latest", tmp_path) == result


@pytest.mark.parametrize(("bidirectional", "load_pps"), [(True, 2 * 7_440_476.19), (False, 7_440_476.19)])
def test_a_percentage_is_of_the_line_rate_of_each_direction(
    bidirectional: bool, load_pps: float, tmp_path: Path
) -> None:
    plan = make_plan(tmp_path, rate="50%", bidirectional=bidirectional)
    assert plan.fixed and plan.fixed.load_pps == pytest.approx(load_pps)


def test_link_speed_is_what_a_percentage_is_of(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, rate="10%", link_speed="25Gbps")
    assert plan.fixed and plan.fixed.load_pps == pytest.approx(2 * 0.1 * 25e9 / 672)
    assert make_plan(tmp_path, link_speed="25Gbps", search__max_load=None).search.max_load_pps == pytest.approx(
        2 * 25e9 / 672
    )


def test_more_than_the_line_rate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\(30\.00 Mpps\), which is 29\.76 Mpps"):
        make_plan(tmp_path, rate="30Mpps")


def test_lost_frames_are_stated_and_are_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = execute(make_plan(tmp_path, rate="1.25Mpps", duration="1s"), Listener(), make_environment(MILLION))
    text = join_lines(text_of(result, monkeypatch))
    assert result.status is Status.COMPLETE
    assert "1,250,000 frames were sent in 1 s, 1.250 Mpps; 250,000 of them were lost (20 %)" in text


def test_the_rate_told_is_the_one_that_was_sent_and_a_tester_that_fell_short_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowTester(capacity_pps=1e6, tester_pps=5e5)
    result = execute(make_plan(tmp_path, rate="2Mpps", duration="1s"), Listener(), make_environment(slow))
    text = join_lines(text_of(result, monkeypatch))
    assert "the tester sent 25 % of the intended frames, 500.0 kpps instead of 2.000 Mpps" in text
    assert "500,000 frames were sent in 1 s, 500.0 kpps; none was lost" in text
    assert "counts as lost" not in text and "they count as lost" not in text
    assert "only 25 % of it sent, loss 0 %" in format_trial_line(result.trials[0])


@pytest.mark.parametrize(("bidirectional", "rows"), [(True, ["0→1", "1→0", "all"]), (False, ["0→1"])])
def test_the_table_has_a_row_for_each_direction_with_traffic(
    bidirectional: bool, rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(tmp_path, rate="10kpps", duration="1s", bidirectional=bidirectional)
    lines = text_of(execute(plan, Listener(), make_environment()), monkeypatch).splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("0→1", "1→0", "all"))] == rows


def test_one_way_traffic_is_searched_up_to_one_line_rate(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, bidirectional=False, search__max_load=None)
    result = execute(plan, Listener(), make_environment(Step(1e9)))
    assert [each.lower and round(each.lower.load_pps) for each in result.goals] == [14_880_952, 14_880_952]
    assert {(counts.tx_port, counts.rx_port) for trial in result.trials for counts in trial.streams} == {(0, 1)}


@pytest.mark.parametrize(("rate", "labels"), [("ndr", ["NDR"]), ("PDR", ["PDR"]), ("pdr_ndr", ["NDR", "PDR"])])
def test_a_rate_that_names_goals_searches_for_these_alone(rate: str, labels: list[str], tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path, rate=rate), Listener(), make_environment())
    assert [each.goal.label for each in result.goals] == labels


def test_a_goal_that_is_not_there_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rate: no goal is named NDR \(ndr\), goals are mine; .* name one NDR"):
        make_plan(tmp_path, rate="ndr", goals={"mine": 0.01})


def test_interval_lines_add_up_to_the_trial_and_have_the_loss_of_their_interval(tmp_path: Path) -> None:
    out = io.StringIO()
    progress = LineProgress(out)
    plan = make_plan(tmp_path, rate="1.25Mpps", duration="2s", interval="0.5s")
    result = execute(plan, progress.handle, make_environment(MILLION))
    lines = [line.split() for line in out.getvalue().splitlines() if " s: sent " in line]
    assert [line[0] for line in lines] == ["0.5", "1.0", "1.5", "2.0"]
    figures = [[int(line[place].strip(",").replace(",", "")) for place in (3, 5, 7)] for line in lines]
    assert [sum(column) for column in zip(*figures, strict=True)] == [
        result.trials[0].offered_count,
        result.trials[0].received_count,
        result.trials[0].lost_count,
    ]
    assert all(lost / sent == pytest.approx(0.2, abs=0.01) for sent, _, lost in figures)


def test_without_an_interval_there_are_no_such_lines(tmp_path: Path) -> None:
    out = io.StringIO()
    execute(make_plan(tmp_path, rate="10kpps", duration="2s"), LineProgress(out).handle, make_environment())
    assert " s: sent " not in out.getvalue()


class LossyTester(SimulatedMeasurer):
    """Loses frames of its own in every trial."""

    def measure(self, *arguments: Any) -> TrialResult:
        doubt = Doubt.invalid("tester_drops", dropped_count=5)
        validity = Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))
        return super().measure(*arguments).model_copy(update={"validity": validity})


def test_a_trial_that_says_nothing_of_the_sut_is_an_error_and_kept(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, rate="10kpps", duration="1s")
    reason = "the tester dropped 5 frames in its own receive path"
    with pytest.raises(SearchError, match=f"is invalid: {reason}; lower the rate"):
        execute(plan, Listener(), make_environment(wrap=lambda _: LossyTester(plan.traffic, MILLION)))
    stored = store.load("latest", tmp_path)
    assert (stored.status, len(stored.trials), stored.latencies) == (Status.FAILED, 1, ())


def test_a_run_without_traffic_checks_the_path_and_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener()
    result = execute(make_plan(tmp_path, no_traffic=True), listener, make_environment())
    assert listener.names == ["RunStarted", "StageUp", "PathChecked", "RunDone"]
    assert (result.status, result.trials) == (Status.COMPLETE, ())
    assert "Frames arrived on 2 of 2 directions of 1 chain; nothing was measured." in text_of(result, monkeypatch)


class UncheckedMeasurer(SimulatedMeasurer):
    """Cannot check its path."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        raise AssertionError("checked")


def test_a_path_that_is_not_to_be_checked_is_not(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, path_check=False, rate="10kpps", duration="1s")
    result = execute(plan, Listener(), make_environment(wrap=lambda _: UncheckedMeasurer(plan.traffic, MILLION)))
    assert (result.checks, len(result.trials)) == ((), 1)


def test_what_tells_of_searches_copes_with_runs_that_have_none(tmp_path: Path) -> None:
    fixed = execute(make_plan(tmp_path, rate="10kpps", duration="1s"), Listener(), make_environment())
    checked = execute(make_plan(tmp_path, no_traffic=True), Listener(), make_environment())
    assert "No search: at 10kpps for 1 s." in render_story(fixed, (), 100)
    assert "No search: no traffic." in render_story(checked, (), 100)
    assert calibration.derive_calibration(fixed) is None
    for result in (fixed, checked):
        with pytest.raises(ConfigError, match="no search"):
            search_bounds.build_chart(result, ())
    config = build_config((), {"search.warm_start": fixed.run_id})
    with pytest.raises(ConfigError, match="no goal has both bounds"):
        build_plan(config, Resolvers(find_result=lambda expected: store.load(expected, tmp_path)))


def test_a_bound_that_was_not_sent_in_full_says_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowTester(capacity_pps=2e6, tester_pps=1e6)
    result = execute(make_plan(tmp_path, rate="pdr", search__width="0.1%"), Listener(), make_environment(slow))
    (actual,) = result.goals
    assert actual.lower
    trial = result.trials[actual.lower.trial_index]
    assert 0 < trial.unsent_count < 0.005 * trial.intended_count
    assert f"the tester sent {format_pps(trial.offered_load_pps)}; the rest counts as lost" in join_lines(
        text_of(result, monkeypatch)
    )
