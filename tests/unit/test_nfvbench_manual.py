"""The command lines of NFVbench's manual, passed to `nodrop run`."""

import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.nfvbench_manual import CONFIGURATION, LINES, Line
from tests.running import Listener, make_environment, make_plan
from tests.unit.test_nfvbench_flags import parse_flags

from nodrop.cli import main
from nodrop.cli.nfvbench_flags import iter_set_flags
from nodrop.cli.run import load_config
from nodrop.plan import build_plan
from nodrop.run import machine_lock
from nodrop.run.execute import execute
from nodrop.stage import persistent_lab
from nodrop.system import runtime_dirs

RUNS = [line for line in LINES if not line.command]
EXPECTED_OUTPUT = {
    "version": "nodrop 0",
    "help": "nodrop run",
    "config": "flow_count",
    "show": "complete",
    "status": "status: idle",
    "cleanup": "no labs on this machine",
}
"""Part of the output of commands that print something instead of a run."""


@pytest.fixture(autouse=True)
def in_a_directory_with_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a private record directory, so that other processes on the machine do not matter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_lock, "LOCK_ADDRESS", f"\0nodrop.test.{secrets.token_hex(8)}")
    monkeypatch.setattr(runtime_dirs, "find_runtime_root", lambda: tmp_path / "records")
    monkeypatch.setattr(persistent_lab, "_find_holders", lambda: iter(()))
    Path("nfvbench.cfg").write_text(CONFIGURATION)


def flags(line: Line) -> dict[str, Any]:
    return parse_flags(*shlex.split(line.text))


def value_at(values: Mapping[str, Any], key: str) -> Any:
    result: Any = values
    for part in key.split("."):
        result = result[part]
    return result


@pytest.mark.parametrize("line", RUNS, ids=lambda line: line.text)
def test_a_command_line_of_the_manual_comes_to_what_the_manual_says(line: Line) -> None:
    config = load_config(flags(line)).model_dump()
    assert {key: value_at(config, key) for key in line.keys} == line.keys


@pytest.mark.parametrize("line", [line for line in RUNS if line.remark], ids=lambda line: line.text)
def test_what_comes_later_is_said(line: Line) -> None:
    plan = build_plan(load_config(flags(line)))
    notes = [flag.name for flag, _ in iter_set_flags(flags(line)) if flag.note]
    assert any(message.startswith(line.remark) for message in (*plan.warnings, *notes))


@pytest.mark.parametrize("line", [line for line in LINES if line.command], ids=lambda line: line.text)
def test_what_is_no_run_is_carried_out_as_the_command_it_is_here(
    line: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.command == "show":
        result = execute(make_plan(Path("results")), Listener(), make_environment())
        Path("results.json").write_text(result.model_dump_json())
    if "-r openrc" in line.text:  # The file does not exist.
        assert main(["run", *shlex.split(line.text)]) == 2
        assert "openrc file openrc: cannot read it" in capsys.readouterr().err
        return
    assert main(["run", *shlex.split(line.text)]) == 0
    assert EXPECTED_OUTPUT[line.command] in capsys.readouterr().out
