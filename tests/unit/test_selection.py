"""Results selected by words."""

import shutil
from pathlib import Path

import pytest
from tests.recorded import record_run
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import Step

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.run.suite import execute_suite
from nodrop.store.imported import import_file
from nodrop.store.index import open_index
from nodrop.store.selection import SelectedResult, select_results

NFVBENCH = sorted((Path(__file__).parents[1] / "nfvbench").glob("*.json"))


@pytest.fixture(scope="module")
def stored_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[RunResult, ...]]:
    """Return a directory with three runs, the later two with a label, and these runs."""
    directory = tmp_path_factory.mktemp("results")
    labels: tuple[dict[str, str], ...] = ({}, {"label": "nightly"}, {"label": "nightly"})
    return directory, tuple(record_run(directory, Step(1e6 + index), **keys) for index, keys in enumerate(labels))


@pytest.fixture
def directory(stored_runs: tuple[Path, tuple[RunResult, ...]], tmp_path: Path) -> Path:
    """Return a copy of it for changes."""
    return Path(shutil.copytree(stored_runs[0], tmp_path / "results"))


def ids(selected: tuple[SelectedResult, ...]) -> list[str]:
    return [each.summary.run_id for each in selected]


def test_files_directories_ids_and_commas_mean_each_result_once(
    stored_runs: tuple[Path, tuple[RunResult, ...]], directory: Path
) -> None:
    first, second, third = (result.run_id for result in stored_runs[1])
    words = (str(directory / first), f"{second},{third}", f"{directory}/{third}/result.json")
    results = select_results(words, directory)
    assert ids(results) == [first, second, third]
    assert results[1].path == directory / second / "result.json"
    assert results[1].result() == stored_runs[1][1]


def test_a_label_means_all_that_have_it_and_a_tag_as_well(
    stored_runs: tuple[Path, tuple[RunResult, ...]], directory: Path
) -> None:
    first, second, third = (result.run_id for result in stored_runs[1])
    assert ids(select_results(["label:nightly"], directory)) == [second, third]
    assert ids(select_results(["label:night*"], directory)) == [second, third]
    with open_index(directory) as index:
        index.tag(first, add=["good"])
    assert ids(select_results(["tag:good"], directory)) == [first]
    with pytest.raises(ConfigError, match=r"tag:bad: no such results"):
        select_results(["tag:bad"], directory)


def test_the_latest_is_the_last_run_or_all_of_its_suite(tmp_path: Path) -> None:
    alone = record_run(tmp_path, MILLION)
    assert ids(select_results(["latest"], tmp_path)) == [alone.run_id]
    plans = [make_plan(tmp_path, frame_bytes=size, latency__enabled=False) for size in (64, 128)]
    outcome = execute_suite(plans, Listener(), make_environment())
    suite_id, run_ids = outcome.suite.suite_id, [result.run_id for result in outcome.results]
    (directory := tmp_path / "elsewhere").mkdir()
    for expected in (suite_id, str(tmp_path / suite_id), str(tmp_path / suite_id / "suite.json")):
        assert ids(select_results([expected], tmp_path)) == run_ids
    with pytest.raises(ConfigError, match="contains no result; run 'nodrop run' first"):
        select_results(["latest"], directory)


def test_a_result_of_another_tester_is_known_by_its_figures_alone(tmp_path: Path) -> None:
    imported = import_file(NFVBENCH[0], tmp_path)
    for expected in (imported.run_id, str(NFVBENCH[0])):
        results = select_results([expected], tmp_path)
        assert [each.summary.measures for each in results] == [each.measures for each in imported.summaries]
        assert results[0].summary.source == "nfvbench"
    with pytest.raises(ConfigError, match=r"a result of nfvbench, which has only measures"):
        select_results([imported.run_id], tmp_path)[0].result()
    with pytest.raises(ConfigError, match=r"#9999: .* has .*; name one of these"):
        select_results([f"{imported.run_id}#9999"], tmp_path)


def test_a_word_that_means_nothing_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="result gone: no such file, and no such run id"):
        select_results(["gone"], tmp_path)
    file = tmp_path / "letter.json"
    file.write_text("{}")
    with pytest.raises(ConfigError, match="not a result of nodrop or NFVbench"):
        select_results([str(file)], tmp_path)
    assert store.find(file) == file
