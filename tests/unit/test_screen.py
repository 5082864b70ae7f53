"""The screen of a search: at most 22 lines, and every number on it is one of the result."""

import re
from pathlib import Path

import pytest
from tests.factories import with_latency
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Step, Sut
from tests.unit.test_report import render_piped

from nodrop.formatting import format_small_ratio
from nodrop.model.result import EarlierFigure, EarlierRuns, RunResult, Status
from nodrop.model.trial import Doubt
from nodrop.report.document.screen import format_rounded_pps
from nodrop.report.terminal import render_screen
from nodrop.run.execute import execute


def run_search(tmp_path: Path, sut: Sut = MILLION) -> RunResult:
    return with_latency(execute(make_plan(tmp_path), Listener(), make_environment(sut)))


def render(result: RunResult, monkeypatch: pytest.MonkeyPatch, columns: int = 100) -> str:
    return render_piped(render_screen(result), columns, monkeypatch)


@pytest.mark.parametrize(("columns", "line_count"), [(80, 28), (100, 22), (200, 22)])
@pytest.mark.parametrize("sut", [MILLION, Step(7e5), SlowTester(1e6, 4e5)])
def test_the_result_of_a_search_fits_a_screen(
    sut: Sut, columns: int, line_count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = render(run_search(tmp_path, sut), monkeypatch, columns).splitlines()
    assert len(lines) <= line_count
    assert max(map(len, lines)) <= columns


def test_a_busy_machine_adds_few_lines_and_each_cause_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path)
    doubts = (
        Doubt.suspect("cpu_steal", steal_ratio=0.2),
        Doubt.suspect("tester_preempted", waited_s=0.3, waited_ratio=0.3),
    )
    trials = result.trials
    for doubt in doubts:
        trials = tuple(trial.with_doubt(doubt) for trial in trials)
    warnings = tuple(f"warning {number}" for number in range(5))
    plan = result.plan.model_copy(update={"warnings": warnings})
    figures = (EarlierFigure(key="ndr", text="NDR", count=3, lowest=4e6, highest=5e6),)
    earlier = EarlierRuns(run_ids=("a", "b", "c"), figures=figures)
    text = render(result.replace(trials=trials, plan=plan, earlier_runs=earlier), monkeypatch)
    assert "3 earlier runs of this setup: NDR 4.000 Mpps to 5.000 Mpps" in text
    assert len(text.splitlines()) <= 22
    assert text.count("\n! ") == 3
    assert f"3 further cautions: nodrop show {result.run_id[-6:]} --all" in " ".join(text.split())


def test_the_rates_and_losses_are_those_of_the_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path)
    text = render(result, monkeypatch)
    for goal_result in result.goals:
        assert goal_result.lower and goal_result.upper
        (row,) = (line for line in text.splitlines() if re.match(rf"{goal_result.goal.label} .*(Mpps|kpps)", line))
        number, unit = re.search(r"([\d.]+) ([kM])pps", row).groups()  # type: ignore[union-attr]
        shown_pps = float(number) * {"k": 1e3, "M": 1e6}[unit]
        assert shown_pps == pytest.approx(goal_result.lower.load_pps, rel=0.005)
        trial = result.trials[goal_result.upper.trial_index]
        if trial.lost_count:
            assert f"lost {format_small_ratio(trial.lost_count / trial.offered_count)}" in row


def test_a_rate_that_is_likely_too_high_says_so_beside_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_search(tmp_path)
    for probability, is_doubtful in ((0.93, True), (0.3, False)):
        ndr = result.goals[0].model_copy(update={"lower_error_probability": probability})
        text = render(result.model_copy(update={"goals": (ndr, *result.goals[1:])}), monkeypatch)
        (row,) = (line for line in text.splitlines() if re.match(r"NDR .*pps", line))
        assert ("likely too high" in row) is is_doubtful


def test_frames_that_were_not_sent_are_not_called_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render(run_search(tmp_path, SlowTester(1e6, 4e5)), monkeypatch)
    assert "did not send 0.301 %" in text
    assert "lost 0.301 %" not in text
    assert "at least" in text
    assert "limited by the tester" in text


def test_an_interrupted_search_says_so_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path).model_copy(update={"status": Status.INTERRUPTED})
    assert "interrupted; partial results follow" in " ".join(render(result, monkeypatch).splitlines()[:2])


@pytest.mark.parametrize(
    ("load_pps", "width_ratio", "text"),
    [
        (279_512.0, 0.01, "280 kpps"),
        (279_512.0, 0.001, "279.5 kpps"),
        (1_234_567.0, 0.01, "1.23 Mpps"),
        (530_412.0, 0.05, "530 kpps"),
        (999_900.0, 0.01, "1 Mpps"),
        (12_345_678.0, 0.005, "12.3 Mpps"),
        (0.0, 0.01, "0 pps"),
    ],
)
def test_a_rate_has_the_digits_that_its_bounds_support(load_pps: float, width_ratio: float, text: str) -> None:
    assert format_rounded_pps(load_pps, width_ratio) == text
