"""`nodrop results` from the user's side."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from tests.recorded import recorded, replaced
from tests.running import Listener, make_plan, parts
from tests.suts import SlowTester, Step

from nodrop.cli import main
from nodrop.model.result import RunResult
from nodrop.run.suite import execute_suite
from nodrop.store import suites

NFVBENCH = Path(__file__).parents[1] / "nfvbench/ndr_pdr.json"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RunResult]]:
    """Store three runs, oldest first: without a label, with a label, and one whose tester was the limit."""
    directory = tmp_path_factory.mktemp("results")
    quick = {"latency__enabled": False, "search__width": "5%"}
    first = recorded(directory, Step(1e6), **quick)
    second = recorded(directory, Step(2e6), label="nightly", **quick)
    third = recorded(directory, SlowTester(3e6, 1e6), label="nightly of a branch with a long name", **quick)
    return directory, [first, second, third]


@pytest.fixture
def directory(made: tuple[Path, list[RunResult]], tmp_path: Path) -> Path:
    """Return a copy of the results for changes."""
    return Path(shutil.copytree(made[0], tmp_path / "results"))


def told(directory: Path, capsys: Captured, *words: str, code: int = 0) -> str:
    """Return a command's standard output; for another exit code than 0, its standard error."""
    capsys.readouterr()
    assert main(["results", *words, "--results-dir", str(directory)]) == code
    output = capsys.readouterr()
    return output.err if code else output.out


def test_a_list_has_a_line_for_each_run_in_100_columns(
    made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    main(["results", "import", str(NFVBENCH), "--results-dir", str(directory), "--tag", "old"])
    told(directory, capsys, "tag", made[1][1].run_id, "+good", "+release-1.4")
    lines = told(directory, capsys, "list").splitlines()
    assert len(lines) == 1 + 3 + 3
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["run", "label", "SUT", "size", "NDR", "PDR", "0.5", "%", "notes"]
    assert lines[1].startswith(made[1][2].run_id)
    assert "≥ " in lines[1], "the tester was the limit"
    assert "≥ " not in lines[3]
    assert "+good" in lines[2]
    assert "nfvbench" in lines[4]
    assert "NDR 0.001 %" in lines[4], "what has other figures than most names them"


def test_a_list_as_json_and_as_csv_has_the_same_runs(
    made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    newest_first = [result.run_id for result in reversed(made[1])]
    rows = json.loads(told(directory, capsys, "list", "--format", "json"))
    assert [row["summary"]["run_id"] for row in rows] == newest_first
    table = list(csv.DictReader(io.StringIO(told(directory, capsys, "list", "--format", "csv"))))
    assert [row["run_id"] for row in table] == newest_first
    assert float(table[0]["ndr_pps"]) == rows[0]["summary"]["measures"][0]["value"]
    assert json.loads(told(directory, capsys, "list", "--format", "json", "--label", "none")) == []


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
    flags: tuple[str, ...], found: list[int], made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    rows = json.loads(told(directory, capsys, "list", "--format", "json", *flags))
    if "ndr" in flags:
        loads = [row["summary"]["measures"][0]["value"] for row in rows]
        assert loads == sorted(loads, reverse=True)
    else:
        assert [row["summary"]["run_id"] for row in rows] == [made[1][each].run_id for each in found]


def test_a_date_that_is_none_is_a_sentence(directory: Path, capsys: Captured) -> None:
    assert "--since: '7x' is not a date or an age; write for example 2026-01-31 or 7d" in told(
        directory, capsys, "list", "--since", "7x", code=2
    )


def test_tags_are_given_taken_and_told(made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured) -> None:
    run_id = made[1][2].run_id
    assert told(directory, capsys, "tag", "latest", "+good", "+old") == f"{run_id}: good old\n"
    assert told(directory, capsys, "tag", "tag:good", "-old", "+new") == f"{run_id}: good new\n"
    assert told(directory, capsys, "tag", "latest") == f"{run_id}: good new\n"
    assert "expected + or - and a tag; use e.g. +good" in told(directory, capsys, "tag", "latest", "good", code=2)


def test_what_was_changed_or_is_missing_is_found(
    made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    first, second, third = made[1]
    told(directory, capsys, "list")
    assert told(directory, capsys, "verify") == "3 of 3 results are intact\n"
    assert told(directory, capsys, "verify", first.run_id) == "1 of 1 results are intact\n"
    replaced(first.model_copy(update={"wall_s": 1.0}), directory)
    shutil.rmtree(directory / second.run_id)
    (directory / third.run_id / "result.json.sha256").unlink()
    assert main(["results", "verify", "--results-dir", str(directory)]) == 1
    output = capsys.readouterr()
    assert f"{first.run_id}/result.json was altered: hash" in output.err
    assert f"{second.run_id} is missing, but listed in the index" in output.err
    assert f"{third.run_id}/result.json has no checksum" in output.out
    assert "ALTERED" in told(directory, capsys, "list")


def test_results_are_removed_only_when_that_is_sure(
    made: tuple[Path, list[RunResult]], directory: Path, capsys: Captured
) -> None:
    first, second, third = made[1]
    assert f"would delete: {directory / first.run_id}" in told(directory, capsys, "rm", first.run_id, "--dry-run")
    assert "without a terminal (1 to delete); use --yes" in told(directory, capsys, "rm", first.run_id, code=2)
    assert "give either results or filters" in told(directory, capsys, "rm", "--yes", code=2)
    assert "give either results or filters" in told(directory, capsys, "rm", "latest", "--label", "x", "--yes", code=2)
    assert all((directory / result.run_id).exists() for result in made[1])
    assert told(directory, capsys, "rm", "--label", "nightly", "--yes").endswith("1 deleted\n")
    assert not (directory / second.run_id).exists()
    assert (directory / third.run_id).exists()
    assert second.run_id not in told(directory, capsys, "list")
    assert told(directory, capsys, "verify") == "2 of 2 results are intact\n", "what was removed is not missing"
    elsewhere = directory / "empty"
    elsewhere.mkdir()
    assert " is not in " in told(elsewhere, capsys, "rm", str(directory / first.run_id), "--yes", code=2)


def test_a_suite_says_that_a_result_of_it_was_removed(tmp_path: Path, capsys: Captured) -> None:
    plans = [make_plan(tmp_path, frame_bytes=size, latency__enabled=False) for size in (64, 128)]
    outcome = execute_suite(plans, Listener(), parts())
    suite_id = outcome.suite.suite_id
    told(tmp_path, capsys, "rm", outcome.results[0].run_id, "--yes")
    result = suites.load(suite_id, tmp_path)
    assert result
    assert [run.removed for run in result.suite.runs] == [True, False]
    assert result.results == outcome.results[1:]
    assert "; 1 removed since" in told(tmp_path, capsys, "show", suite_id)
    assert told(tmp_path, capsys, "verify") == "1 of 1 results are intact\n"
    told(tmp_path, capsys, "rm", suite_id, "--yes")
    assert [each.name for each in tmp_path.iterdir()] == ["index.sqlite"], "nothing is left of it"


def test_what_others_measured_is_taken_in_once_and_shown(tmp_path: Path, capsys: Captured) -> None:
    assert "imported as 20210701T102030Z-" in told(tmp_path, capsys, "import", str(NFVBENCH))
    again = told(tmp_path, capsys, "import", str(NFVBENCH), "--tag", "old")
    assert "already imported as 20210701T102030Z-" in again
    output = told(tmp_path, capsys, "show", "tag:old")
    assert "nfvbench 5.0.3, complete" in output
    assert "is unchanged" in output
    assert told(tmp_path, capsys, "show", "tag:old", "--json") == NFVBENCH.read_text()
    assert "name a complete result of NFVbench or TRex" in told(tmp_path, capsys, "import", __file__, code=2)


def test_results_are_exported_by_what_is_named_or_filtered(
    made: tuple[Path, list[RunResult]], directory: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "runs.csv"
    told(directory, capsys, "export", "--label", "nightly*", "-o", str(file))
    assert [row["run_id"] for row in csv.DictReader(file.open())] == [result.run_id for result in made[1][:0:-1]]
    told(directory, capsys, "export", "latest", "--table", "trials", "-o", str(file))
    assert len(list(csv.DictReader(file.open()))) == len(made[1][2].trials)
    told(directory, capsys, "export", "--table", "measures", "-o", str(tmp_path / "m.parquet"))
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "m.parquet").num_rows == 6
    assert "use .csv or .parquet" in told(directory, capsys, "export", "-o", str(tmp_path / "x.xls"), code=2)
    assert "no matching results" in told(directory, capsys, "export", "--label", "none", code=2)


def test_the_index_is_made_anew(directory: Path, capsys: Captured) -> None:
    assert told(directory, capsys, "rebuild").startswith("3 results read in ")
