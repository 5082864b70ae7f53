"""The table of suites: it covers the product, and selects by the paths of a change."""

import subprocess

import pytest
from tests import suite_run
from tests.suites import GATE, ROOT, load_suites, matches, select_suites

SUITES = load_suites()


def list_files() -> list[str]:
    """Return the files under version control, or those of an unpacked archive."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return listed.splitlines() or [str(file.relative_to(ROOT)) for file in ROOT.glob("[a-z]*/**/*.*")]


FILES = list_files()


def test_every_path_is_covered_by_a_suite() -> None:
    assert [path for path in FILES if not any(suite.covers_path(path) for suite in SUITES.values())] == []


@pytest.mark.parametrize(("name", "pattern"), [(each.name, glob) for each in SUITES.values() for glob in each.covers])
def test_every_glob_matches_a_path(name: str, pattern: str) -> None:
    assert any(matches(path, pattern) for path in FILES), f"{name} covers nothing by {pattern}"


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_suite_has_tests_or_steps(suite) -> None:
    assert suite.list_test_files() or suite.steps


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("python/nodrop/search/run.py", []),
        ("README.md", []),
        ("python/nodrop/stage/openstack/rest.py", ["openstack"]),
        ("python/nodrop/server/pages/live.py", ["web"]),
        ("python/nodrop/charts/axis.py", ["web"]),
        ("python/nodrop/generator/trex/rpc.py", ["trex"]),
        ("crates/nodrop-vnf/src/main.rs", ["vm"]),
        ("pyproject.toml", ["lowest"]),
    ],
)
def test_a_change_selects_the_gate_and_the_suites_that_cover_it(path: str, names: list[str]) -> None:
    assert [suite.name for suite in select_suites([path])] == [GATE, *names]


def test_a_step_that_failed_without_a_failed_test_is_shown_with_its_last_lines(capsys, tmp_path) -> None:
    step = suite_run.Step("gate", "pytest", "echo INTERNALERROR; exit 3", tmp_path / "gate-0.log")
    suite_run.summarize([suite_run.run_step(step)])
    assert capsys.readouterr().out.endswith("end of gate: pytest\n  INTERNALERROR\n")
