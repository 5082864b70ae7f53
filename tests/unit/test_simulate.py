"""`nodrop simulate`: its output and the files that it leaves."""

import json
import re
from pathlib import Path

import pytest

from nodrop import store
from nodrop.cli import main
from nodrop.model.result import Status
from nodrop.simulation import SUTS


@pytest.fixture(autouse=True)
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_the_list_has_every_sut_with_a_sentence_and_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(SUTS)
    assert all(re.search(r"  [A-Z].*\.$", line) for line in lines[::2])
    assert all("capacity_pps=" in line and "seed" not in line for line in lines[1::2])


def test_a_simulated_search_ends_with_the_truth_and_a_stored_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--sut", "hard-limit", "--search", "mlrsearch-01", "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("truth: NDR 9.100 Mpps (found +0.0 %), PDR 9.146 Mpps (found -0.0 %)\n")
    result = store.load("latest")
    assert (result.status, result.latencies) == (Status.COMPLETE, ())
    assert result.facts
    assert result.facts.versions.engine == "simulated"
    assert result.facts.stage.sut == "hard-limit (simulated, seed 7)"
    assert (result.plan.search.min_load_pps, result.plan.search.max_load_pps) == (18_002, 37.5e6)
    assert result.plan.search.final_trial_duration_s == 30


def test_simulated_time_is_what_a_search_is_held_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--sut", "hard-limit", "--search", "mlrsearch-01", "--budget", "30s", "-q"]) == 0
    result = store.load("latest")
    assert 10 < result.wall_s < 32
    assert sum(trial.duration_s for trial in result.trials) < 30
    assert "truth: NDR" in capsys.readouterr().out


def test_files_flags_and_parameters_change_what_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("quick.yaml").write_text("profile: quick\nsearch: {max_load: 8Mpps}\n")
    flags = ["--search", "mlrsearch-01", "--param", "capacity_pps=5e6", "--goal", "NDR=0"]
    assert main(["simulate", "--config", "quick.yaml", "--sut", "hard-limit", "-q", *flags]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("truth: NDR 5.000 Mpps (found ")
    search = store.load("latest").plan.search
    assert (search.max_load_pps, search.min_load_pps, search.final_trial_duration_s) == (8e6, 18_002, 5)


def test_the_result_can_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--sut", "perfect-link", "--search", "mlrsearch-01", "--json", "-", "-q"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["facts"]["stage"]["name"] == "simulated"
    assert "truth: NDR 37.50 Mpps" in printed.err


def test_a_dead_link_fails_the_path_check_like_a_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--sut", "dead-link", "-q"]) == 4
    assert "none received" in capsys.readouterr().err


def test_a_comparison_prints_a_table_and_writes_every_attempt(capsys: pytest.CaptureFixture[str]) -> None:
    searches = ["--search", "mlrsearch-01", "--search", "mlrsearch-03"]
    suts = ["--sut", "hard-limit", "--sut", "two-modes-time"]
    assert main(["simulate", "--compare", *searches, *suts, "--seeds", "2", "--json", "all.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in SUTS] == ["hard-limit", "two-modes-time"]
    assert sum(line.startswith("  mlrsearch-0") for line in lines) == 4
    assert sum(" PDR " in line for line in lines) == 4
    text = json.loads(Path("all.json").read_text())
    assert len(text["attempts"]) == 8
    assert {each["seed"] for each in text["attempts"]} == {1, 2}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give one --sut and at most one --search"),
        (["--sut", "hard-limit", "--sut", "drift"], "or use --compare"),
        (["--sut", "soft-limit"], "unknown simulated SUT 'soft-limit'; choose one of hard-limit"),
        (["--sut", "drift", "--param", "speed=3"], "unknown parameter 'speed' of the simulated SUT drift"),
        (["--sut", "drift", "--param", "fall_s"], "--param: 'fall_s' is not NAME=NUMBER; use e.g. fall_s="),
        (["--compare", "--sut", "soft-limit"], "unknown simulated SUT 'soft-limit'"),
        (["--compare", "--json", "."], "--json: . is a directory"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_events_of_a_trial_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("events.yaml").write_text("rate: 2kpps\ntrial_events: [2s load 4kpps]\n", encoding="utf-8")
    assert main(["simulate", "--sut", "hard-limit", "-c", "events.yaml"]) == 2
    assert "neither a simulated SUT nor its load changes in a trial (load 4kpps)" in capsys.readouterr().err
