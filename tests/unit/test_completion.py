"""Completion in real shells, with the script that `nodrop completion` prints."""

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import stretch

from nodrop.cli import COMMANDS

RequireTool = Callable[[str], Path]
CASES = [
    ("nodrop sta", ["status"]),
    ("nodrop run --sut bri", ["bridge"]),
    ("nodrop run --search mlrsearch-0", ["mlrsearch-01", "mlrsearch-03"]),
    ("nodrop run --service-chain-c", ["--service-chain-count"]),
    ("nodrop run -sc PV", ["PVP", "PVVP"]),
    ("nodrop run --set search.wid", ["search.width="]),
    ("nodrop lab exec --name none tes", ["tester"]),
]
A_RESULT = ("nodrop show 2026", ["20260131T120000Z-3f9a2c"])
AT_A_TERMINAL = [A_RESULT, CASES[1]]
SET_UP = {
    "bash": 'eval "$(nodrop completion bash)"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(nodrop completion zsh)"',
}
QUIET = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f"]}


@pytest.fixture(autouse=True)
def result_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = tmp_path / "results/20260131T120000Z-3f9a2c/result.json"
    stored.parent.mkdir(parents=True)
    stored.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))


def command_output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_bash_completes(text: str, expected: list[str], require_tool: RequireTool) -> None:
    words = text.split()
    program = f"""
        eval "$(nodrop completion bash)"
        COMP_WORDS=({text}) COMP_CWORD={len(words) - 1}
        _nodrop_completion nodrop
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = command_output(require_tool("bash"), "--norc", "-c", program).split()
    assert [name for name in result if name] == expected


def test_bash_is_offered_every_command(require_tool: RequireTool) -> None:
    program = 'eval "$(nodrop completion bash)"; COMP_WORDS=(nodrop "") COMP_CWORD=1; _nodrop_completion nodrop; '
    assert command_output(require_tool("bash"), "--norc", "-c", program + 'echo "${COMPREPLY[@]}"').split() == list(
        COMMANDS
    )


@pytest.mark.parametrize(("text", "expected"), [*CASES, A_RESULT])
def test_fish_completes(text: str, expected: list[str], require_tool: RequireTool) -> None:
    program = f"nodrop completion fish | source; complete -C '{text}'"
    result = command_output(require_tool("fish"), "--no-config", "-c", program).splitlines()
    assert [line.split("\t")[0] for line in result] == expected


@pytest.mark.parametrize(("text", "expected"), AT_A_TERMINAL)
@pytest.mark.parametrize("shell", SET_UP)
def test_tab_completes_at_a_terminal(shell: str, text: str, expected: list[str], require_tool: RequireTool) -> None:
    set_up = f'{SET_UP[shell]}; PS1=; echo ready-"now"\n'
    assert expected[0] in type_keys([str(require_tool(shell)), *QUIET[shell]], set_up, f"{text}\t", expected[0])


def type_keys(shell: list[str], set_up: str, keys: str, awaited: str) -> str:
    """Return the terminal's content after these keys, of which the last is TAB."""
    pid, terminal = pty.fork()
    if not pid:
        os.execve(shell[0], shell, {**os.environ, "TERM": "dumb"})
    try:
        os.write(terminal, set_up.encode())
        read_until(terminal, "ready-now")
        os.write(terminal, keys.encode())
        return read_until(terminal, awaited)
    finally:
        os.close(terminal)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def read_until(terminal: int, awaited: str) -> str:
    output = ""
    deadline = time.monotonic() + 30
    while awaited not in output and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1.0)[0]:
            output += os.read(terminal, 4096).decode(errors="replace")
    return output


def test_completing_a_flag_waits_for_nothing_slow() -> None:
    asking = {"_NODROP_COMPLETE": "bash_complete", "COMP_WORDS": "nodrop run --se", "COMP_CWORD": "2"}
    output = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from nodrop.cli import main; main()"],
        env=os.environ | asking,
        capture_output=True,
        text=True,
        timeout=stretch(60),
        check=False,
    )
    assert {"plain,--search", "plain,--set", "plain,--service-chain"} <= set(output.stdout.split())
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in output.stderr.splitlines()}
    assert loaded.isdisjoint({"pydantic", "rich", "yaml", "pyroute2"})
