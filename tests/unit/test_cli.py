"""The command line: exit codes, messages on standard error, and help."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.running import MILLION, make_environment
from tests.suts import LossFloor

import nodrop
from nodrop.cli import COMMANDS, main
from nodrop.model.result import RunResult
from nodrop.run.execute import RunEnvironment, execute
from nodrop.simulation import SutCounts
from nodrop.system.signals import interruptible

SHORT = (
    *("--set", "search.initial_trial_duration=0.1s"),
    *("--set", "search.final_trial_duration=1s"),
    *("--max-load", "4Mpps"),
    *("--set", "latency.trial_duration=0.5s"),
)


@pytest.fixture
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run_simulated(environment: RunEnvironment, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Execute `nodrop run` without packets."""
    monkeypatch.setattr(
        "nodrop.run.execute.execute", lambda plan, on_event, _parts: execute(plan, on_event, environment)
    )
    return main(["run", *SHORT, *arguments])


def error_output(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return printed.err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"nodrop {nodrop.__version__}\n"


def test_the_version_is_told_without_loading_anything_slow() -> None:
    output = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nodrop", "--version"], check=True, capture_output=True, text=True
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in output.stderr.splitlines()}
    assert "click" in loaded
    assert loaded.isdisjoint({"pydantic", "rich", "yaml", "pyroute2"})


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n  {command} " in printed for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for flag in ("-h", "--help"):
        assert main([command, flag]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert f"nodrop {command}" in pages[0]


def test_help_of_run_teaches_terms_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for taught in ("NDR, the no drop rate", "PDR, the partial drop rate", "nodrop run --sut bridge", "Exit codes: 0"):
        assert taught in printed


def test_help_of_run_fits_two_screens_and_names_the_option_for_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 60
    assert printed.index("Examples:") < printed.index("--sut") < printed.index("--help-all")
    assert "--openrc" not in printed
    main(["run", "--help-all"])
    assert "--openrc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rnu"], "did you mean run?"),
        (["run", "--sut", "bride"], "did you mean bridge?"),
        (["fly"], "fly"),
        (["run", "--sut", "hub"], "hub"),
        (["run", "--goal", "half"], "--goal: 'half' is not KEY=VALUE; use e.g. --goal PDR=0.5%"),
        (["run", "--goal", "PDR=half"], "command line: goals.PDR: 'half' is not a ratio; write for example 0.5%"),
        (["run", "--set", "search.widht=1"], "search.widht: unknown key (1); did you mean search.width?"),
        (["run", "--min-load", "2M", "--max-load", "1M"], "search.max_load: 1.000 Mpps is not above"),
        (["run", "--search", "guess"], "guess"),
        (["run", "--budget", "soon"], "command line: search.budget: 'soon' is not a duration; write for example 30s"),
        (["run", "--exceed-ratio", "100%"], "command line: search.exceed_ratio: should be less than 1 (1.0)"),
        (["run", "--search", "binary", "--exceed-ratio", "50%"], "50 % has no effect, the search binary"),
        (
            ["run", "--search", "nodrop", "--duration-sum", "1s"],
            "search.duration_sum (1 s); make duration_sum",
        ),
        (
            ["run", "--search", "nodrop", "--warm-start", "gone"],
            "result gone: no such file, and no such run id",
        ),
        (
            ["run", "--search", "mlrsearch-03", "--goal", "A=0", "--goal", "B=1%", "--goal", "C=2%"],
            "goals: loss ratios A 0, B 0.01, C 0.02 are not 0 and at most one other, which mlrsearch-03 requires",
        ),
        (["run", "--config", "gone.yaml"], f"gone.yaml: cannot read the configuration ({os.strerror(errno.ENOENT)})"),
        (["run", "--json", "."], "--json: . is a directory; give a file name"),
        (["run", "--results-dir", "/dev/null/x"], "results_dir: cannot write to /dev/null/x"),
        (["show", "gone"], "result gone: no such file, and no such run id in results"),
    ],
)
@pytest.mark.usefixtures("in_empty_directory")
def test_what_cannot_be_used_is_a_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    report = error_output(capsys)
    assert report.startswith("nodrop: error: ")
    assert sentence in report


@pytest.mark.usefixtures("in_empty_directory")
def test_a_lab_that_does_not_stand_is_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--lab", "no-such-lab"]) == 3
    assert "nodrop: error: lab no-such-lab does not exist" in error_output(capsys)


def test_a_run_prints_its_result_and_where_it_is(
    in_empty_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch) == 0
    printed = capsys.readouterr()
    (stored,) = in_empty_directory.glob("results/*/result.json")
    assert f"result: {stored.relative_to(in_empty_directory)}\n" in printed.out
    assert "NDR 0 %" in printed.out
    assert "trial 0: 4.000 Mpps" in printed.out
    assert "\x1b" not in printed.out
    assert main(["show", "latest", "--json"]) == 0
    assert capsys.readouterr().out == stored.read_text()


@pytest.mark.usefixtures("in_empty_directory")
def test_with_json_to_standard_output_nothing_else_goes_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch, "--json", "-") == 0
    printed = capsys.readouterr()
    assert RunResult.model_validate_json(printed.out).status == "complete"
    assert "NDR 0 %" in printed.err


def test_the_result_is_also_written_where_json_says(
    in_empty_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch, "--json", "deep/out.json", "--quiet", "--no-latency") == 0
    result = json.loads((in_empty_directory / "deep/out.json").read_text())
    assert result["latencies"] == []
    assert "trial 0" not in capsys.readouterr().out


@pytest.mark.usefixtures("in_empty_directory")
def test_flags_become_the_plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--goal", "soft=2%", "--frame-bytes", "512", "--min-load", "5kpps", "--profile", "standard", "--json", "-")
    assert run_simulated(make_environment(), monkeypatch, *flags) == 0
    plan = RunResult.model_validate_json(capsys.readouterr().out).plan
    assert [(goal.label, goal.loss_ratio) for goal in plan.search.goals] == [("soft", 0.02)]
    assert plan.traffic.frame_bytes == 512
    assert (plan.search.min_load_pps, plan.search.max_load_pps) == (5000.0, 4e6)
    assert (plan.profile, plan.search.width_ratio) == ("standard", 0.005)


@pytest.mark.usefixtures("in_empty_directory")
def test_a_goal_that_no_load_meets_is_exit_code_5_and_still_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(LossFloor(capacity_pps=1e6, floor_ratio=0.1)), monkeypatch) == 5
    printed = capsys.readouterr()
    assert "even the lowest load does not meet NDR and PDR" in printed.err
    assert "Even at the lowest load allowed" in printed.out


@pytest.mark.usefixtures("in_empty_directory")
def test_a_search_out_of_time_is_exit_code_5_and_what_is_known_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch, "--set", "search.max_duration=0.9s") == 5
    printed = capsys.readouterr()
    assert "nodrop: error: the search needs more than 0.9 s" in printed.err
    assert "out of time; partial results follow" in printed.out


@pytest.mark.usefixtures("in_empty_directory")
def test_a_search_that_used_up_its_budget_is_exit_code_0_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch, "--search", "mlrsearch-01", "--budget", "0.9s") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "time ran out: NDR and PDR between " in printed
    assert "! NDR, PDR: The time for the search, 0.45 s, was over before the search was done." in printed


@pytest.mark.usefixtures("in_empty_directory")
def test_a_budget_too_small_for_any_answer_is_exit_code_5(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_simulated(make_environment(), monkeypatch, "--budget", "50ms") == 5
    assert "no load that meets NDR and PDR was found; allow more time (--budget)" in error_output(capsys)


@pytest.mark.usefixtures("in_empty_directory")
def test_flags_about_the_search_become_the_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--search", "mlrsearch-rfc9971", "--exceed-ratio", "50%", "--duration-sum", "3s", "--json", "-")
    assert run_simulated(make_environment(), monkeypatch, *flags) == 0
    search = RunResult.model_validate_json(capsys.readouterr().out).plan.search
    assert search.algorithm == "mlrsearch-rfc9971"
    assert [(goal.exceed_ratio, goal.duration_sum_s) for goal in search.goals] == [(0.5, 3.0)] * 2


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.usefixtures("in_empty_directory")
def test_a_signal_ends_a_run_once_and_what_was_measured_is_printed(
    number: signal.Signals, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = 0

    def interrupt_run(intended_load_pps: float, duration_s: float) -> SutCounts:
        nonlocal trials
        trials += 1
        if trials > 5:
            os.kill(os.getpid(), number)
        return MILLION(intended_load_pps, duration_s)

    before = signal.getsignal(number)
    assert run_simulated(make_environment(interrupt_run), monkeypatch) == exit_code
    printed = capsys.readouterr()
    assert f"nodrop: stopped by {number.name}" in printed.err
    assert "interrupted; partial results follow, 4 trials" in printed.out
    assert signal.getsignal(number) is before


def test_further_signals_change_nothing() -> None:
    with interruptible() as interruption:
        with pytest.raises(KeyboardInterrupt, match="stopped by SIGTERM"):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.exit_code == 143
