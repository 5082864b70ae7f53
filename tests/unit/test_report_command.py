"""`nodrop report`: every format from one command, and refusals that name the fix."""

import csv
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorded import record_run
from tests.running import MILLION
from tests.waiting import stretch

from nodrop.cli import main
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite, SuiteRun
from nodrop.store import suites


def report_output(*arguments: object) -> bytes:
    """Run in a child process: the renderer's threads outlive the test and take signals meant for other tests."""
    command = [sys.executable, "-m", "nodrop", "report", *map(str, arguments)]
    return subprocess.run(command, check=True, timeout=stretch(60), capture_output=True).stdout


@pytest.fixture
def run(tmp_path: Path) -> RunResult:
    return record_run(tmp_path, MILLION)


def rows(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(text.decode().splitlines()))


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [
        ("html", b"<!doctype html>"),
        ("md", b"# "),
        ("svg", b"<svg"),
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
    ],
)
def test_the_suffix_says_the_format(suffix: str, begins: bytes, run: RunResult, tmp_path: Path) -> None:
    if suffix == "pdf":
        pytest.importorskip("typst", reason="Typst is not installed: pip install typst")
    file = tmp_path / f"report.{suffix}"
    report_output(tmp_path / run.run_id, "-o", file)
    assert file.read_bytes().startswith(begins)


def test_the_report_of_a_suite_is_named_after_the_suite(
    run: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = SuiteRun(frame_size="64", run_id=run.run_id, status=run.status)
    suite = Suite(
        suite_id="20260102T030405Z-abcdef",
        started_at=run.started_at,
        wall_s=1.0,
        status=run.status,
        frame_sizes=("64",),
        runs=(each,),
    )
    suites.save(suite, tmp_path)
    monkeypatch.chdir(tmp_path)
    report_output(suite.suite_id, "--results-dir", tmp_path, "--format", "md")
    assert (tmp_path / f"report-{suite.suite_id}.md").exists()


def test_the_goals_are_a_row_each_in_csv(run: RunResult, tmp_path: Path) -> None:
    text = rows(report_output(tmp_path / run.run_id, "--format", "csv", "-o", "-"))
    for row, each in zip(text, run.goals, strict=True):
        assert each.lower
        assert each.upper
        assert float(row["rate_pps"]) == pytest.approx(each.lower.load_pps)
        assert float(row["upper_bound_pps"]) == pytest.approx(each.upper.load_pps)
        assert row["run"] == run.run_id


def test_the_trials_are_a_row_each_in_csv(run: RunResult, tmp_path: Path) -> None:
    text = rows(report_output(tmp_path / run.run_id, "--format", "csv", "--table", "trials", "-o", "-"))
    assert [int(row["received_frames"]) for row in text] == [trial.received_count for trial in run.trials]


def test_a_report_of_two_says_what_became_of_one_beside_the_other(run: RunResult, tmp_path: Path) -> None:
    other = record_run(tmp_path, MILLION)
    message = report_output(
        tmp_path / run.run_id, "--against", tmp_path / other.run_id, "--format", "md", "-o", "-"
    ).decode()
    assert "## B compared with A" in message
    assert "**Measures**" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "report.docx"], "name a file that ends in .html, .md"),
        (["--table", "trials"], "--table: not available with --format html; use --format csv"),
        (["--chart", "funnel"], "--chart: not available with --format html; use --format svg or png"),
        (["-o", "x.svg", "--chart", "pie"], "the report has no chart 'pie'; available: "),
        (["-o", "/nowhere/x.md"], f"--output: cannot write /nowhere/x.md: {os.strerror(errno.ENOENT)}"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(
    arguments: list[str], message: str, run: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / run.run_id), *arguments]) == 2
    assert message in capsys.readouterr().err
