"""The index: the results on disk, in SQLite and in PostgreSQL alike, after any damage."""

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.databases import postgresql
from tests.recorded import overwrite_result, record_run
from tests.suts import Step

from nodrop import store
from nodrop.cli import main
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.result_filter import ResultFilter
from nodrop.store.database import INDEX_FILE
from nodrop.store.index import open_index
from nodrop.store.summaries import summarize_result

LONGEST_S = 300
"""For processes that take seconds, on a busy machine."""


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgresql() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The URL of an index; None: the file in the directory."""
    if request.param == "sqlite":
        yield None
        return
    result = str(request.getfixturevalue("server"))
    yield result
    with create_engine(result.replace("postgresql:", "postgresql+psycopg:")).begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return record_run(tmp_path_factory.mktemp("one"), Step(1e6), latency__enabled=False)


def store_results(directory: Path, template: RunResult, count: int, **changes: str) -> list[RunResult]:
    """Store so many results, an hour apart, the oldest first."""
    created = []
    for number in range(count):
        plan = template.plan.model_copy(update=changes)
        more = {"run_id": f"20260101T{number:02}0000Z-00000{number}", "plan": plan}
        result = template.model_copy(update=more | {"started_at": f"2026-01-01T{number:02}:00:00+00:00"})
        store.save(result, directory)
        created.append(result)
    return created


def ids(directory: Path, url: str | None, **expected: object) -> list[str]:
    with open_index(directory, url) as index:
        return [row.summary.run_id for row in index.list(ResultFilter.model_validate(expected))]


def test_a_list_is_what_is_on_disk_newest_first(tmp_path: Path, url: str | None, template: RunResult) -> None:
    first, second, third = store_results(tmp_path, template, 3)
    with open_index(tmp_path, url) as index:
        rows = index.list()
        assert [row.summary for row in rows] == [summarize_result(result) for result in (third, second, first)]
        assert rows[0].file == str(tmp_path / third.run_id / "result.json")
        assert (rows[0].sha256 or "") in (tmp_path / third.run_id / "result.json.sha256").read_text()
        assert not rows[0].altered
        assert index.find(second.run_id) == rows[1]
        assert index.find("gone") is None
    shutil.rmtree(tmp_path / second.run_id)
    assert ids(tmp_path, url) == [third.run_id, first.run_id]
    (later,) = store_results(tmp_path / "other", template.model_copy(update={"wall_s": 7.0}), 1)
    shutil.copytree(tmp_path / "other" / later.run_id, tmp_path / "20270101T000000Z-ffffff")
    assert len(ids(tmp_path, url)) == 3, "a directory's name need not be its id"


def test_what_is_known_already_is_not_read_again(tmp_path: Path, url: str | None, template: RunResult) -> None:
    store_results(tmp_path, template, 2)
    with open_index(tmp_path, url, refresh=False) as index:
        assert index.refresh().read_count == 2
        assert index.refresh().read_count == 0
        assert index.rebuild().read_count == 2
        index.add(template)  # not in this directory
        assert index.count() == 2


def test_a_result_that_was_changed_is_read_again_and_said_to_be_altered(
    tmp_path: Path, url: str | None, template: RunResult
) -> None:
    (result,) = store_results(tmp_path, template, 1)
    with open_index(tmp_path, url) as index:
        overwrite_result(result.model_copy(update={"wall_s": 99.0}), tmp_path)
        assert index.refresh().read_count == 1
        (row,) = index.list()
    assert row.summary.wall_s == 99.0
    assert row.altered


def test_a_result_that_cannot_be_read_is_said_and_hides_no_other(
    tmp_path: Path, url: str | None, template: RunResult
) -> None:
    store_results(tmp_path, template, 1)
    broken = tmp_path / "20260202T000000Z-000000"
    broken.mkdir()
    (broken / "result.json").write_text('{"schema_version": "9"}')
    with open_index(tmp_path, url) as index:
        assert index.count() == 1
        (sentence,) = index.problems
    assert "unsupported schema_version (9, not" in sentence


def test_filters_hold_all_at_once(tmp_path: Path, url: str | None, template: RunResult) -> None:
    a, b, c = store_results(tmp_path, template, 3)
    facts = template.facts
    assert facts
    elsewhere = facts.model_copy(update={"host": facts.host.model_copy(update={"name": "beta_1"})})
    plan = template.plan.model_copy(update={"label": "50%_nightly"})
    overwrite_result(b.model_copy(update={"plan": plan, "facts": elsewhere}), tmp_path)
    with open_index(tmp_path, url) as index:
        index.tag(c.run_id, add=["good", "x"])
        index.tag(b.run_id, add=["good"])
    for expected, item in (
        ({"label": "50%_nightly"}, [b]),
        ({"label": "50%_*"}, [b]),
        ({"label": "50%__ightly*"}, []),
        ({"label": "50*ly"}, [b]),
        ({"host": "beta_1"}, [b]),
        ({"host": "bet*"}, [b]),
        ({"tags": ("good",)}, [c, b]),
        ({"tags": ("good", "x")}, [c]),
        ({"tags": ("good",), "label": "50%_nightly"}, [b]),
        ({"since": "2026-01-01T01:00:00+00:00"}, [c, b]),
        ({"since": "2026-01-01T02:00:00+01:00", "until": "2026-01-01T02:00:00+00:00"}, [b]),
        ({"chain_count": 1, "path": "PVP", "frame_size": "64", "status": "complete", "source": "nodrop"}, [c, b, a]),
        ({"path": "PVVP"}, []),
        ({"sut": "vnf-l2", "limit": 1}, [c]),
        ({"limit": 1, "offset": 1}, [b]),
        ({"offset": 2}, [a]),
        ({"sort": "oldest"}, [a, b, c]),
        ({"sort": "label"}, [b, c, a]),
        ({"text": "NIGHT"}, [b]),
        ({"text": "goo"}, [c, b]),
        ({"text": "%"}, [b]),
        ({"run_ids": (a.run_id, c.run_id)}, [c, a]),
    ):
        assert ids(tmp_path, url, **expected) == [each.run_id for each in item], expected


def test_runs_are_sorted_by_a_figure_the_best_first_and_those_without_last(
    tmp_path: Path, url: str | None, template: RunResult
) -> None:
    a, b, c = store_results(tmp_path, template, 3)
    lower = template.goals[0].lower
    assert lower
    faster = template.goals[0].model_copy(update={"lower": lower.model_copy(update={"load_pps": 9e6})})
    overwrite_result(a.model_copy(update={"goals": (faster,)}), tmp_path)
    overwrite_result(c.model_copy(update={"goals": ()}), tmp_path)
    assert ids(tmp_path, url, sort="ndr") == [a.run_id, b.run_id, c.run_id]
    assert ids(tmp_path, url, sort="nothing_of_that_name") == [c.run_id, b.run_id, a.run_id]


def test_tags_are_kept_beside_the_result_and_survive_the_index(
    tmp_path: Path, url: str | None, template: RunResult
) -> None:
    (result,) = store_results(tmp_path, template, 1)
    with open_index(tmp_path, url) as index:
        assert index.tag(result.run_id, add=["good", "a/b:c"]) == ("a/b:c", "good")
        assert index.tag(result.run_id, add=["x"], remove=["good", "never"]) == ("a/b:c", "x")
        index.rebuild()
        assert index.list()[0].tags == ("a/b:c", "x")
        for odd in ("", "two words", "-x", "+x", "a\nb", "x" * 65):
            with pytest.raises(ConfigError, match=r"invalid tag .*; use up to 64 letters"):
                index.tag(result.run_id, add=[odd])
        with pytest.raises(ConfigError, match="result gone: no such run id"):
            index.tag("gone", add=["x"])
    assert (tmp_path / result.run_id / "tags.txt").read_text() == "a/b:c\nx\n"


def test_several_directories_share_a_database(tmp_path: Path, url: str | None, template: RunResult) -> None:
    here, other = tmp_path / "here", tmp_path / "there"
    url = url or f"sqlite:///{tmp_path}/shared.sqlite"
    store_results(here, template, 1)
    store_results(other, template, 2)
    with open_index(other, url):
        pass
    assert len(ids(here, url)) == 1
    assert len(ids(here, url, everywhere=True)) == 3
    with open_index(here, url) as index:
        index.rebuild()
        assert index.count(ResultFilter(everywhere=True)) == 3, "what others know is theirs"


# Damage to the index


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_index_is_set_aside_and_said(content: bytes, tmp_path: Path, template: RunResult) -> None:
    store_results(tmp_path, template, 2)
    file = tmp_path / INDEX_FILE
    file.write_bytes(content)
    with open_index(tmp_path) as index:
        assert index.count() == 2
        assert bool(index.warnings) is bool(content)
    if content:
        (aside,) = tmp_path.glob("index.sqlite.broken-*")
        assert aside.read_bytes() == content
        assert str(aside.name) in index.warnings[0]
    with open_index(tmp_path) as index:
        assert not index.warnings


def test_an_index_that_breaks_while_it_is_used_is_made_anew(tmp_path: Path, template: RunResult) -> None:
    store_results(tmp_path, template, 3)
    with open_index(tmp_path) as index:
        index.rebuild()
    file = tmp_path / INDEX_FILE
    whole = file.read_bytes()
    page = sqlite3.connect(file).execute("PRAGMA page_size").fetchone()[0]
    file.write_bytes(whole[:page] + random.Random(7).randbytes(len(whole) - page))
    with open_index(tmp_path) as index:
        assert len(index.list()) == 3
        assert "a new one was made" in index.warnings[0]


def test_an_index_of_another_version_is_made_anew(tmp_path: Path, url: str | None, template: RunResult) -> None:
    store_results(tmp_path, template, 2)
    with open_index(tmp_path, url):
        pass
    at = url.replace("postgresql:", "postgresql+psycopg:") if url else f"sqlite:///{tmp_path / INDEX_FILE}"
    with create_engine(at).begin() as connection:
        connection.execute(text("UPDATE nodrop_index SET version = 0"))
        connection.execute(text("DROP TABLE nodrop_measures"))
    with open_index(tmp_path, url) as index:
        assert index.count() == 2
        assert index.list(ResultFilter(sort="ndr"))


def test_results_that_may_only_be_read_are_listed_from_memory(
    tmp_path: Path, template: RunResult, require_tool: Callable[[str], Path]
) -> None:
    store_results(tmp_path, template, 2)
    program = (
        "import sys\n"
        "from nodrop.store.index import open_index\n"
        "index = open_index(sys.argv[1])\n"
        "print(index.count(), index.warnings[0])\n"
    )
    bounded = [str(require_tool("setpriv")), "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    tmp_path.chmod(0o555)
    command = [*bounded, sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    tmp_path.chmod(0o755)
    assert done.stdout.startswith("2 ")
    assert "cannot be written; every result is read again" in done.stdout


def test_a_directory_that_is_not_there_has_no_results_and_is_not_made(tmp_path: Path) -> None:
    with open_index(tmp_path / "none") as index:
        assert index.list() == ()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://u:secret@host/db", r"unsupported kind of database \(mysql\); use postgresql or sqlite"),
        ("nonsense", "not a database URL"),
        ("postgresql://u:secret@127.0.0.1:1/db", r"postgresql://u:\*\*\*@127.0.0.1:1/db \("),
        ("sqlite:////nowhere/at/all.sqlite", r"sqlite:////nowhere/at/all.sqlite \("),
    ],
)
def test_a_database_that_is_not_there_is_a_sentence_without_its_password(
    url: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        open_index(tmp_path, url)
    assert "secret" not in str(refused.value)


# Concurrent writers, and writers killed


def save_many(directory: str, url: str | None, template: str, worker: int, count: int) -> None:
    """Save results as a run does at its end, repeatedly."""
    result = RunResult.model_validate_json(template)
    for number in range(count):
        more = {"run_id": f"2026010{worker}T0000{number:02}Z-00000{worker}"}
        created = result.model_copy(update=more)
        store.save(created, directory)
        with open_index(directory, url, refresh=False) as index:
            index.add(created)
        if number % 3 == 0:
            with open_index(directory, url) as index:
                index.tag(created.run_id, add=[f"w{worker}"])


def test_several_processes_write_at_the_same_time(tmp_path: Path, url: str | None, template: RunResult) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=save_many, args=(str(tmp_path), url, template.model_dump_json(), worker, 5))
        for worker in range(1, 4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONGEST_S)
    assert [worker.exitcode for worker in workers] == [0] * 3
    with open_index(tmp_path, url, refresh=False) as index:
        assert index.count() == 15, "nothing had to be mended"
        assert not index.warnings
        assert [index.count(ResultFilter(tags=(f"w{worker}",))) for worker in range(1, 4)] == [2] * 3


def test_a_process_that_is_killed_loses_no_result_and_not_the_index(tmp_path: Path, url: str | None) -> None:
    """SIGKILL at random times of saving and indexing: every saved result is listed, and no index needs repair."""
    template = record_run(tmp_path / "one", Step(1e6), latency__enabled=False)
    (tmp_path / "one.json").write_text(template.model_dump_json())
    results = tmp_path / "results"
    program = (
        "import pathlib, sys\n"
        "from tests.unit.test_index import save_many\n"
        "directory, url, one, worker = sys.argv[1:]\n"
        "print(flush=True)\n"
        "save_many(directory, url or None, pathlib.Path(one).read_text(), int(worker), 60)\n"
    )
    chance = random.Random(20261121)
    for worker in range(1, 5):
        command = [sys.executable, "-c", program, str(results), url or "", str(tmp_path / "one.json"), str(worker)]
        victim = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert victim.stdout and victim.stdout.readline()
        time.sleep(chance.uniform(0.05, 0.6))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()
        saved = {path.parent.name for path in results.glob("*/result.json")}
        with open_index(results, url) as index:
            assert not index.warnings
            assert not index.problems
            assert {row.summary.run_id for row in index.list()} == saved
            assert not any(row.altered for row in index.list())
            assert all(row.sha256 for row in index.list())


# At the end of a run


def run_simulation(results_dir: Path, *more: str) -> int:
    quick = ("--sut", "hard-limit", "--profile", "quick", "--set", "search.width=10%", "--quiet")
    return main(["simulate", *quick, "--results-dir", str(results_dir), *more])


def test_a_run_is_in_the_index_when_it_is_over(tmp_path: Path, url: str | None) -> None:
    assert run_simulation(tmp_path, *(("--set", f"results_index={url}") if url else ())) == 0
    with open_index(tmp_path, url, refresh=False) as index:
        assert index.count() == 1


def test_an_index_that_cannot_be_reached_ends_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_simulation(tmp_path, "--set", "results_index=postgresql://u@127.0.0.1:1/db") == 0
    error = capsys.readouterr().err
    assert "postgresql://u@127.0.0.1:1/db (" in error
    assert "the run continues without it" in error
    assert len(ids(tmp_path, None)) == 1
