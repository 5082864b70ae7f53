"""The command lines of NFVbench's manual, as `nodrop run` takes them."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.nfvbench_manual import CONFIGURATION, LINES, Line

from nodrop.cli.nfvbench_flags import given
from nodrop.cli.run import configuration, run
from nodrop.plan import build

RUNS = [line for line in LINES if not line.instead]
COMMANDS = {"config": "Usage: nodrop config", "show": "result", "status": "status: ", "cleanup": "clean"}


@pytest.fixture(autouse=True)
def in_a_directory_with_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nfvbench.cfg").write_text(CONFIGURATION)


def flags(line: Line) -> dict[str, Any]:
    return run.make_context("run", shlex.split(line.written)).params


def value_at(values: Mapping[str, Any], key: str) -> Any:
    found: Any = values
    for part in key.split("."):
        found = found[part]
    return found


@pytest.mark.parametrize("line", RUNS, ids=lambda line: line.written)
def test_a_command_line_of_the_manual_comes_to_what_the_manual_says(line: Line) -> None:
    found = configuration(flags(line)).model_dump()
    assert {key: value_at(found, key) for key in line.keys} == line.keys


@pytest.mark.parametrize("line", [line for line in RUNS if line.later], ids=lambda line: line.written)
def test_what_comes_later_is_said(line: Line) -> None:
    plan = build(configuration(flags(line)))
    notes = [flag.name for flag, _ in given(flags(line)) if flag.note]
    assert any(said.startswith(line.later) for said in (*plan.warnings, *notes))
