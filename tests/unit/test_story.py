"""The story of a search: one sentence per trial, on any terminal, also from records with fewer fields."""

from pathlib import Path
from typing import Any

import pytest
from tests.recorded import overwrite_result, record_run
from tests.running import MILLION
from tests.suts import SlowTester, Step

from nodrop.cli import main
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Flag
from nodrop.model.result import RunResult
from nodrop.model.trial import Doubt, Validity, ValidityStatus
from nodrop.report.story import render_story
from nodrop.units import format_pps


def join_lines(text: str) -> str:
    return " ".join(text.split())


def render(result: RunResult, width: int = 100, with_outlook: bool = False) -> str:
    return render_story(result, result.steps, width, with_outlook)


def listed_trials(text: str) -> list[int]:
    return [int(line[:5]) for line in text.splitlines() if line[:5].strip().isdigit() and line[3:5] == "  "]


@pytest.mark.parametrize("width", [80, 100])
def test_a_story_fits_the_width_and_tells_every_trial(width: int, tmp_path: Path) -> None:
    result = record_run(tmp_path, SlowTester(capacity_pps=2e6, tester_pps=5e5), search__algorithm="mlrsearch-01")
    text = render(result, width, with_outlook=True)
    assert max(map(len, text.splitlines())) <= width
    assert listed_trials(text) == [trial.index for trial in result.trials]
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_story_says_what_was_asked_what_came_out_and_what_it_changed(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION, search__algorithm="mlrsearch-01")
    text = join_lines(render(result))
    first = result.trials[0]
    assert "The search mlrsearch-01 tried loads between" in text
    assert "- NDR: the highest load that loses no frame in trials of 1 s, to within 1 %." in text
    assert "- PDR: the highest load that loses at most 0.5 % in trials of 1 s, to within 1 %." in text
    assert f"4.000 Mpps for 0.1 s (initial: {format_message(first.trial.reason)})" in text
    assert "300,000 of 400,000 frames were lost (75 %); NDR and PDR upper bounds are now 4.000 Mpps." in text
    assert "The run is complete" in text
    ndr = result.goals[0]
    assert ndr.lower and f"NDR 0 %: {format_pps(ndr.lower.load_pps)}, limited by the SUT." in text


def test_frames_the_tester_never_sent_are_not_told_as_lost_by_the_sut(tmp_path: Path) -> None:
    text = join_lines(
        render(record_run(tmp_path, SlowTester(capacity_pps=2e6, tester_pps=5e5), search__algorithm="mlrsearch-01"))
    )
    assert "350,000 of 400,000 frames were never sent (87.5 %)" in text
    assert "frames were lost" not in text.split("The run is")[0]


def test_the_other_outcome_is_told_when_asked_for(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(765_432.0))
    assert "Without loss:" not in render(result)
    text = join_lines(render(result, with_outlook=True))
    assert f"Without loss: {format_message(result.steps[0].if_low_loss)}." in text
    assert "were expected to remain." in text


def test_an_invalid_trial_is_told_with_why_it_does_not_count(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    doubt = Doubt.invalid("tester_drops", dropped_count=5)
    spoiled = result.trials[1].model_copy(
        update={"validity": Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))}
    )
    text = render(result.model_copy(update={"trials": (result.trials[0], spoiled), "goals": (), "latencies": ()}))
    assert "the trial does not count: the tester dropped 5 frames in its own receive path." in join_lines(text)
    assert "Cautions:" in text


def test_findings_and_flags_are_told_at_the_end(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    flagged = result.goals[0].model_copy(update={"flags": (Flag(code="x", text="Trials at the bound disagree."),)})
    more = {
        "findings": (Flag(code="warm-up", text="The SUT got faster for 20 s."),),
        "goals": (flagged, *result.goals[1:]),
    }
    ending = render(result.model_copy(update=more)).split("The run is")[1]
    assert "Other findings:\n- The SUT got faster for 20 s.\n" in ending
    assert "Trials at the bound disagree." in ending


def test_a_record_from_before_there_were_steps_is_told_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = record_run(tmp_path, MILLION)
    overwrite_result(result.model_copy(update={"steps": ()}), tmp_path)
    assert main(["explain", "latest", "--results-dir", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "NDR and PDR upper bounds are now 4.000 Mpps" in join_lines(text)
    assert listed_trials(text) == [trial.index for trial in result.trials]


def test_a_run_that_never_measured_is_told_as_that(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    nothing: dict[str, Any] = {"trials": (), "steps": (), "goals": (), "latencies": ()}
    text = render(result.model_copy(update=nothing | {"error": "no lab"}))
    assert "No trial was made." in text
    assert "(no lab)" in text
