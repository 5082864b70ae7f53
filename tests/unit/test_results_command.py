"""`nodrop results` from the user's side."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from tests.recorded import overwrite_result, record_run
from tests.running import Listener, make_environment, make_plan
from tests.suts import SlowTester, Step

from nodrop.cli import main
from nodrop.model.result import RunResult
from nodrop.run.suite import execute_suite
from nodrop.store import suites

NFVBENCH = Path(__file__).parents[1] / "nfvbench/ndr_pdr.json"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def stored_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RunResult]]:
    """Store three runs, oldest first: without a label, with a label, and one whose tester was the limit."""
    directory = tmp_path_factory.mktemp("results")
    quick = {"latency__enabled": False, "search__width": "5%"}
    first = record_run(directory, Step(1e6), **quick)
    second = record_run(directory, Step(2e6), label="nightly", **quick)
    third = record_run(directory, SlowTester(3e6, 1e6), label="nightly of a branch with a long name", **quick)
    return directory, [first, second, third]


@pytest.fixture
def directory(stored_runs: tuple[Path, list[RunResult]], tmp_path: Path) -> Path:
    """Return a copy of the results for changes."""
    return Path(shutil.copytree(stored_runs[0], tmp_path / "results"))


def run_results(directory: Path, capsys: Captured, *words: str, code: int = 0) -> str:
    """Return a command's standard output; for another exit code than 0, its standard error."""
    capsys.readouterr()
    assert main(["results", *words, "--results-dir", str(directory)]) == code
    output = capsys.readouterr()
    return output.err if code else output.out


def test_a_list_has_a_line_for_each_run_in_100_columns(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    main(["results", "import", str(NFVBENCH), "--results-dir", str(directory), "--tag", "old"])
    run_results(directory, capsys, "tag", stored_runs[1][1].run_id, "+good", "+release-1.4")
    lines = run_results(directory, capsys, "list").splitlines()
    assert len(lines) == 1 + 3 + 3
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["run", "label", "SUT", "size", "NDR", "PDR", "0.5", "%", "notes"]
    assert lines[1].startswith(stored_runs[1][2].run_id)
    assert "≥ " in lines[1], "the tester was the limit"
    assert "≥ " not in lines[3]
    assert "+good" in lines[2]
    assert "nfvbench" in lines[4]
    assert "NDR 0.001 %" in lines[4], "what has other figures than most names them"


def test_a_list_as_json_and_as_csv_has_the_same_runs(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    newest_first = [result.run_id for result in reversed(stored_runs[1])]
    rows = json.loads(run_results(directory, capsys, "list", "--format", "json"))
    assert [row["summary"]["run_id"] for row in rows] == newest_first
    table = list(csv.DictReader(io.StringIO(run_results(directory, capsys, "list", "--format", "csv"))))
    assert [row["run_id"] for row in table] == newest_first
    assert float(table[0]["ndr_pps"]) == rows[0]["summary"]["measures"][0]["value"]
    assert json.loads(run_results(directory, capsys, "list", "--format", "json", "--label", "none")) == []


def test_a_list_says_how_many_it_left_out(directory: Path, capsys: Captured) -> None:
    assert main(["results", "list", "--limit", "1", "--results-dir", str(directory)]) == 0
    assert "1 of 3; --limit 0 for all" in capsys.readouterr().err
    assert main(["results", "list", "--label", "none", "--results-dir", str(directory)]) == 0
    assert "no matching results" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (("--label", "nightly"), [1]),
        (("--label", "nightly*"), [2, 1]),
        (("--chains", "1", "--path", "pvp", "--frame-size", "64", "--status", "complete"), [2, 1, 0]),
        (("--since", "1h", "--until", "2999-01-01", "--sut", "vnf*", "--source", "nodrop"), [2, 1, 0]),
        (("--until", "2001-01-01"), []),
        (("--sort", "ndr"), [1, 0, 2]),
        (("--search", "branch"), [2]),
    ],
)
def test_filters_of_a_list(
    flags: tuple[str, ...],
    found: list[int],
    stored_runs: tuple[Path, list[RunResult]],
    directory: Path,
    capsys: Captured,
) -> None:
    rows = json.loads(run_results(directory, capsys, "list", "--format", "json", *flags))
    if "ndr" in flags:
        loads = [row["summary"]["measures"][0]["value"] for row in rows]
        assert loads == sorted(loads, reverse=True)
    else:
        assert [row["summary"]["run_id"] for row in rows] == [stored_runs[1][each].run_id for each in found]


def test_a_date_that_is_none_is_a_sentence(directory: Path, capsys: Captured) -> None:
    assert "--since: '7x' is not a date or an age; write for example 2026-01-31 or 7d" in run_results(
        directory, capsys, "list", "--since", "7x", code=2
    )


def test_tags_are_given_taken_and_told(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    run_id = stored_runs[1][2].run_id
    assert run_results(directory, capsys, "tag", "latest", "+good", "+old") == f"{run_id}: good old\n"
    assert run_results(directory, capsys, "tag", "tag:good", "-old", "+new") == f"{run_id}: good new\n"
    assert run_results(directory, capsys, "tag", "latest") == f"{run_id}: good new\n"
    assert "expected + or - and a tag; use e.g. +good" in run_results(
        directory, capsys, "tag", "latest", "good", code=2
    )


def test_what_was_changed_or_is_missing_is_found(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    first, second, third = stored_runs[1]
    run_results(directory, capsys, "list")
    assert run_results(directory, capsys, "verify") == "3 of 3 results are intact\n"
    assert run_results(directory, capsys, "verify", first.run_id) == "1 of 1 results are intact\n"
    overwrite_result(first.model_copy(update={"wall_s": 1.0}), directory)
    shutil.rmtree(directory / second.run_id)
    (directory / third.run_id / "result.json.sha256").unlink()
    assert main(["results", "verify", "--results-dir", str(directory)]) == 1
    output = capsys.readouterr()
    assert f"{first.run_id}/result.json was altered: hash" in output.err
    assert f"{second.run_id} is missing, but listed in the index" in output.err
    assert f"{third.run_id}/result.json has no checksum" in output.out
    assert "ALTERED" in run_results(directory, capsys, "list")


def test_results_are_removed_only_when_that_is_sure(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    first, second, third = stored_runs[1]
    assert f"would delete: {directory / first.run_id}" in run_results(
        directory, capsys, "rm", first.run_id, "--dry-run"
    )
    assert "without a terminal (1 to delete); use --yes" in run_results(directory, capsys, "rm", first.run_id, code=2)
    assert "give either results or filters" in run_results(directory, capsys, "rm", "--yes", code=2)
    assert "give either results or filters" in run_results(
        directory, capsys, "rm", "latest", "--label", "x", "--yes", code=2
    )
    assert all((directory / result.run_id).exists() for result in stored_runs[1])
    assert run_results(directory, capsys, "rm", "--label", "nightly", "--yes").endswith("1 deleted\n")
    assert not (directory / second.run_id).exists()
    assert (directory / third.run_id).exists()
    assert second.run_id not in run_results(directory, capsys, "list")
    assert run_results(directory, capsys, "verify") == "2 of 2 results are intact\n", "what was removed is not missing"
    elsewhere = directory / "empty"
    elsewhere.mkdir()
    assert " is not in " in run_results(elsewhere, capsys, "rm", str(directory / first.run_id), "--yes", code=2)


def test_a_suite_says_that_a_result_of_it_was_removed(tmp_path: Path, capsys: Captured) -> None:
    plans = [make_plan(tmp_path, frame_bytes=size, latency__enabled=False) for size in (64, 128)]
    outcome = execute_suite(plans, Listener(), make_environment())
    suite_id = outcome.suite.suite_id
    run_results(tmp_path, capsys, "rm", outcome.results[0].run_id, "--yes")
    result = suites.load(suite_id, tmp_path)
    assert result
    assert [run.removed for run in result.suite.runs] == [True, False]
    assert result.results == outcome.results[1:]
    assert "; 1 removed since" in run_results(tmp_path, capsys, "show", suite_id)
    assert run_results(tmp_path, capsys, "verify") == "1 of 1 results are intact\n"
    run_results(tmp_path, capsys, "rm", suite_id, "--yes")
    assert [each.name for each in tmp_path.iterdir()] == ["index.sqlite"], "nothing is left of it"


def test_what_others_measured_is_taken_in_once_and_shown(tmp_path: Path, capsys: Captured) -> None:
    assert "imported as 20210701T102030Z-" in run_results(tmp_path, capsys, "import", str(NFVBENCH))
    again = run_results(tmp_path, capsys, "import", str(NFVBENCH), "--tag", "old")
    assert "already imported as 20210701T102030Z-" in again
    output = run_results(tmp_path, capsys, "show", "tag:old")
    assert "nfvbench 5.0.3, complete" in output
    assert "is unchanged" in output
    assert run_results(tmp_path, capsys, "show", "tag:old", "--json") == NFVBENCH.read_text()
    assert "name a complete result of NFVbench or TRex" in run_results(tmp_path, capsys, "import", __file__, code=2)


def test_results_are_exported_by_what_is_named_or_filtered(
    stored_runs: tuple[Path, list[RunResult]], directory: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "runs.csv"
    run_results(directory, capsys, "export", "--label", "nightly*", "-o", str(file))
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["run_id"] for row in rows] == [result.run_id for result in stored_runs[1][:0:-1]]
    run_results(directory, capsys, "export", "latest", "--table", "trials", "-o", str(file))
    assert len(list(csv.DictReader(file.read_text().splitlines()))) == len(stored_runs[1][2].trials)
    run_results(directory, capsys, "export", "--table", "measures", "-o", str(tmp_path / "m.parquet"))
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "m.parquet").num_rows == 6
    assert "use .csv or .parquet" in run_results(directory, capsys, "export", "-o", str(tmp_path / "x.xls"), code=2)
    assert "no matching results" in run_results(directory, capsys, "export", "--label", "none", code=2)


def test_the_index_is_made_anew(directory: Path, capsys: Captured) -> None:
    assert run_results(directory, capsys, "rebuild").startswith("3 results read in ")
