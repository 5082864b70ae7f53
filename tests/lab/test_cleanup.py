"""`nodrop status` and `nodrop cleanup` with real labs, in a PID namespace that hides other processes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_root")]

PROGRAM = """
mount -t tmpfs none /run
nodrop() {{ {python} -m nodrop "$@"; }}
{commands}
"""
UP = "nodrop lab up --sut bridge --name {name} >/dev/null"
HOLDER = """$(sed 's/.*"holder":{{"pid":\\([0-9]*\\),.*/\\1/' /run/nodrop/labs/{name}.json)"""


@pytest.fixture
def run_isolated(require_tool: Callable[[str], Path], tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs shell commands in namespaces with only their own processes and records."""
    unshare = [require_tool("unshare"), "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]

    def run(*commands: str) -> str:
        program = PROGRAM.format(python=sys.executable, commands="\n".join(commands))
        done = subprocess.run(
            [*unshare, "sh", "-c", program],
            cwd=tmp_path,
            stdout=PIPE,
            stderr=STDOUT,
            text=True,
            timeout=stretch(100),
            check=False,
        )
        return done.stdout

    return run


def up(name: str) -> str:
    return UP.format(name=name)


def holder(name: str) -> str:
    return HOLDER.format(name=name)


def test_all_that_was_left_is_found_and_taken_away(run_isolated: Callable[..., str]) -> None:
    output = run_isolated(
        *(up("stands"), up("fell"), f"kill -9 {holder('fell')}", up("lost"), "rm /run/nodrop/labs/lost.json"),
        "nodrop run --status; echo status $?",
        "nodrop cleanup </dev/null; echo unconfirmed $?",
        "nodrop run --force-cleanup; echo forced $?",
        "nodrop status; echo status $?",
        "grep -lzx nodrop.stage.holder /proc/[0-9]*/cmdline || echo no process is left",
    )
    assert "lab stands is up: bridge, process" in output
    assert "lab fell is down: the lab's process" in output
    assert "lab without a record, process" in output
    assert "use --force\nunconfirmed 2\n" in output
    assert "forced 0\n" in output
    assert output.endswith("status: idle\nno labs\nstatus 0\nno process is left\n"), output


def test_all_labs_go_down_at_once(run_isolated: Callable[..., str]) -> None:
    output = run_isolated(up("one"), up("two"), "nodrop lab down --all", "nodrop lab status")
    assert output == "lab one is down\nlab two is down\nno labs; create one with 'nodrop lab up'\n"


def test_a_clean_up_asks_and_takes_no_for_an_answer(
    run_isolated: Callable[..., str], require_tool: Callable[[str], Path]
) -> None:
    answer_prompt = f"""{require_tool("script")} -qec '{sys.executable} -m nodrop cleanup' /dev/null"""
    output = run_isolated(
        up("stays"), f"echo n | {answer_prompt}", "nodrop lab status", f"echo y | {answer_prompt}", "nodrop lab status"
    )
    assert "Remove all of this? [y/N]: n" in output
    assert "nothing was removed" in output
    assert "lab stays is up" in output.partition("nothing was removed")[2]
    assert output.endswith("no labs; create one with 'nodrop lab up'\n")


def test_a_process_that_stands_in_no_lab_is_left_alone(run_isolated: Callable[..., str]) -> None:
    waiting = f"sleep 60 | {sys.executable} -P -m nodrop.stage.holder --standing & sleep 1"
    output = run_isolated(waiting, "nodrop cleanup --force", "grep -lzx nodrop.stage.holder /proc/[0-9]*/cmdline")
    assert output.startswith("no labs on this machine\n/proc/")
