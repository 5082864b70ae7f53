"""Every search decides the same from the same outcomes: every record can be re-decided."""

from pathlib import Path
from typing import Any

import pytest
from tests.factories import with_trial
from tests.recorded import SEARCHES, overwrite_result, record_run
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import Buffer, SlowTester, SmoothCurve, Step, Sut

from nodrop.cli import main
from nodrop.explain.redecide import redecide
from nodrop.model.choices import AlgorithmName
from nodrop.model.result import RunResult
from nodrop.model.trial import Doubt, TrialResult, Validity, ValidityStatus
from nodrop.run.execute import execute
from nodrop.simulation import SUTS

MODELS = [
    Step(1e9),
    Buffer(1e6, 100_000),
    SmoothCurve(9e5),
    SlowTester(capacity_pps=2e6, tester_pps=5e5),
]
KINDS = ["noisy-capacity", "stall-random", "two-modes-time", "warm-up", "loss-inversion"]
OWN_NEEDS: dict[AlgorithmName, dict[str, Any]] = {
    "plrsearch": {"goals": {"PLR": 0.001}, "search__max_duration": "20s", "search__initial_count": 2},
}
"""A goal that every search accepts; plrsearch ends only by its time."""


def assert_reproduced(result: RunResult) -> None:
    again = redecide(result)
    assert again.differences == ()
    assert len(again.steps) == again.trial_count == len(result.steps) > 0
    assert [step.after for step in again.steps] == [step.after for step in result.steps]


@pytest.mark.parametrize("sut", MODELS, ids=lambda sut: type(sut).__name__)
@pytest.mark.parametrize("algorithm", SEARCHES)
def test_every_search_decides_again_what_is_on_record(algorithm: AlgorithmName, sut: Sut, tmp_path: Path) -> None:
    needs = OWN_NEEDS.get(algorithm, {})
    assert_reproduced(record_run(tmp_path, sut, search__algorithm=algorithm, **needs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", SEARCHES)
def test_it_does_so_for_suts_that_change_their_mind(algorithm: AlgorithmName, kind: str, tmp_path: Path) -> None:
    needs = OWN_NEEDS.get(algorithm, {})
    assert_reproduced(
        record_run(tmp_path, SUTS[kind](7), search__algorithm=algorithm, search__max_load="20Mpps", **needs)
    )


def without_loss(trial: TrialResult) -> TrialResult:
    streams = [s.model_copy(update={"lost_count": 0, "received_count": s.offered_count}) for s in trial.streams]
    return trial.model_copy(update={"streams": tuple(streams)})


def test_a_record_that_was_changed_is_told_from_the_true_one(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    lossy = next(trial for trial in result.trials if trial.lost_count)
    again = redecide(with_trial(result, without_loss(lossy)))
    assert len(again.steps) < again.trial_count
    assert f"trial {lossy.index}: bounds of NDR" in again.differences[0]
    assert "on record" in again.differences[-1]


def test_bounds_that_do_not_follow_from_the_trials_are_named(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    ndr = result.goals[0]
    assert ndr.lower
    better = ndr.model_copy(update={"lower": ndr.lower.model_copy(update={"load_pps": 2e6})})
    (difference,) = redecide(result.model_copy(update={"goals": (better, *result.goals[1:])})).differences
    assert difference.startswith("the result: bounds of NDR")
    assert "2.000 Mpps" in difference


def test_a_search_that_says_complete_too_early_is_named(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    last = max(trial.index for trial in result.trials if trial.phase == "search")
    steps = tuple(step for step in result.steps if step.trial_index < last)
    cut = result.model_copy(update={"trials": result.trials[:last], "steps": steps, "goals": ()})
    (difference,) = redecide(cut).differences
    assert "the end of the search on record" in difference


def test_invalid_trials_and_latency_trials_are_left_out(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    doubt = Doubt.invalid("tester_drops", dropped_count=5)
    spoiled = result.trials[2].model_copy(
        update={"validity": Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))}
    )
    trials = (*result.trials[:2], spoiled, *result.trials[2:])
    again = redecide(result.model_copy(update={"trials": trials}))
    assert again.differences == ()
    assert again.trial_count == len(result.steps) < len(result.trials)


def test_a_record_from_before_there_were_steps_can_be_decided_again(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    again = redecide(result.model_copy(update={"steps": ()}))
    assert again.differences == ()
    # Latency trials have counted for the search only since there are steps of them.
    searched = [step for step in result.steps if result.trials[step.trial_index].phase == "search"]
    assert [step.after for step in again.steps] == [step.after for step in searched]


def test_a_verified_record_is_said_to_be_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = record_run(tmp_path, MILLION)
    assert main(["explain", "latest", "--verify", "--results-dir", str(tmp_path)]) == 0
    count = len(result.steps)
    assert capsys.readouterr().out == f"reproduced: {count} of {count} trials, all bounds\n"


def test_a_record_that_cannot_be_reproduced_ends_with_where_and_exit_code_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = record_run(tmp_path, MILLION)
    lossy = next(trial for trial in result.trials if trial.lost_count)
    overwrite_result(with_trial(result, without_loss(lossy)), tmp_path)
    assert main(["explain", "latest", "--verify", "--results-dir", str(tmp_path)]) == 5
    captured = capsys.readouterr()
    assert "trials reproduced; verify with the release that measured it" in captured.err
    assert f"  trial {lossy.index}: " in captured.err


def test_a_run_without_a_search_cannot_be_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment())
    overwrite_result(result.model_copy(update={"trials": (), "steps": (), "goals": ()}), tmp_path)
    assert main(["explain", "latest", "--verify", "--results-dir", str(tmp_path)]) == 5
    assert "has no trials of a search to re-decide" in capsys.readouterr().err
