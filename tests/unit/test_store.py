"""Results on disk: stored completely or not at all, and validated when they are read."""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.running import Listener, make_environment, make_plan

from nodrop import __version__, store
from nodrop.cli import main
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.run.execute import execute
from nodrop.store import checksums


@pytest.fixture
def result(tmp_path: Path) -> RunResult:
    return execute(make_plan(tmp_path / "elsewhere", latency__enabled=False), Listener(), make_environment())


def test_a_result_is_read_back_as_it_was_by_file_directory_id_and_as_the_latest(
    result: RunResult, tmp_path: Path
) -> None:
    path = store.save(result, tmp_path)
    assert path == tmp_path / result.run_id / "result.json"
    for expected in (path, path.parent, result.run_id, "latest"):
        assert store.load(expected, tmp_path) == result


def test_the_latest_result_is_the_one_whose_run_began_last(result: RunResult, tmp_path: Path) -> None:
    for run_id in ("20260102T000000Z-000000", "20260103T000000Z-ffffff", "20260101T000000Z-aaaaaa"):
        store.save(result.model_copy(update={"run_id": run_id}), tmp_path)
    assert store.load("latest", tmp_path).run_id == "20260103T000000Z-ffffff"


def test_a_result_has_a_short_name_and_a_place_before_the_latest(result: RunResult, tmp_path: Path) -> None:
    for day, end in enumerate(("aaaaa1", "bbbbb2", "ccbbb2"), start=1):
        store.save(result.model_copy(update={"run_id": f"2026010{day}T000000Z-{end}"}), tmp_path / "runs")
    directory = tmp_path / "runs"
    assert store.load("aaaaa1", directory).run_id == store.load("aaa1", directory).run_id == "20260101T000000Z-aaaaa1"
    assert store.load("latest~0", directory).run_id == "20260103T000000Z-ccbbb2"
    assert store.load("latest~2", directory).run_id == "20260101T000000Z-aaaaa1"
    with pytest.raises(ConfigError, match=r"latest~3: .* contains 3 results; name at most latest~2"):
        store.load("latest~3", directory)
    with pytest.raises(ConfigError, match=r"bbb2: 2 ids in .* end in it .*; name one"):
        store.load("bbb2", directory)
    with pytest.raises(ConfigError, match="result dddd: no such file"):
        store.load("dddd", directory)


def test_the_schema_s_version_is_that_of_results() -> None:
    assert RunResult.model_fields["schema_version"].default == store.SCHEMA_VERSION


def test_run_ids_sort_by_time() -> None:
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 9, 10, 23)]
    within_a_second = [hours[-1] + timedelta(milliseconds=5 * count) for count in range(200)]
    run_ids = [store.make_run_id(moment) for moment in (*hours[:-1], *within_a_second)]
    assert run_ids == sorted(run_ids)
    assert store.make_run_id(hours[0]) != store.make_run_id(hours[0])


def test_nothing_but_the_result_and_its_hash_is_left(result: RunResult, tmp_path: Path) -> None:
    path = store.save(result, tmp_path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["result.json", "result.json.sha256"]


def test_a_result_is_never_rewritten(result: RunResult, tmp_path: Path) -> None:
    path = store.save(result, tmp_path)
    text = path.read_bytes()
    with pytest.raises(ConfigError, match="already exists; results are never overwritten"):
        store.save(result.model_copy(update={"wall_s": 1.0}), tmp_path)
    assert path.read_bytes() == text
    assert checksums.check_file(path).state == "intact"


def test_the_hash_beside_a_result_is_what_sha256sum_reads(result: RunResult, tmp_path: Path) -> None:
    path = store.save(result, tmp_path)
    command = ["sha256sum", "-c", "result.json.sha256"]
    output = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    assert output.stdout == "result.json: OK\n"
    path.write_text(path.read_text().replace('"wall_s": ', '"wall_s": 1'))
    assert subprocess.run(command, cwd=path.parent, capture_output=True, check=False).returncode == 1
    assert checksums.check_file(path).state == "altered"
    checksums.get_checksum_path(path).unlink()
    assert checksums.check_file(path).state == "not hashed"
    path.unlink()
    assert checksums.check_file(path).state == "missing"


def test_what_is_not_a_plain_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    store.write_text(link, "text")
    store.write_text(Path("/dev/null"), "text")
    assert link.is_symlink()
    assert target.read_text() == "text"
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", r"is not JSON \(.* in line 1\); name a complete result.json of nodrop"),
        ("[" * 100_000, "is not JSON"),
        ("[]", r"not a result of nodrop or NFVbench \(no schema_version, no benchmarks\)"),
        ('{"schema_version": "9"}', r"unsupported schema_version \(9, not .\); use the release that wrote it"),
        ('{"schema_version": "1"}', r"not a nodrop result \(run_id: missing"),
    ],
)
def test_what_is_no_result_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        store.load(file)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"wall_s": None}, "wall_s: should be a number (None)"),
        ({"mood": 1}, "mood: unknown key (1)"),
    ],
)
def test_a_result_of_another_shape_is_refused_in_a_sentence_that_names_who_wrote_it(
    change: dict[str, int | None], differs: str, result: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store.save(result, tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for command in ("show", "explain"):
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("nodrop: error: ")
        assert f"but not as written by nodrop {__version__}" in error
        assert f"({differs}); written by nodrop {__version__}, commit" in error


def test_a_result_that_does_not_say_who_wrote_it_is_refused_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text('{"schema_version": "1", "run_id": "x", "facts": {"versions": [1]}}')
    with pytest.raises(ConfigError, match=r"not as written by nodrop .*; written by an unknown build"):
        store.load(file)


def test_a_result_that_is_not_there_is_refused_with_what_could_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="result gone: no such file, and no such run id"):
        store.load("gone", tmp_path)
    with pytest.raises(ConfigError, match="contains no result; run 'nodrop run' first"):
        store.load("latest", tmp_path)
