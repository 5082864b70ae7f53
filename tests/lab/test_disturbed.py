"""A trial disturbed by other work on the tester's core names the related check of the host."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodrop.cli import main
from nodrop.formatting.messages import format_message
from nodrop.store import load

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]


@pytest.fixture
def busy_core() -> Iterator[int]:
    """Keep a core busy with other work of the tester's priority; yield its number."""
    core = max(os.sched_getaffinity(0))
    enter = f"import os; from nodrop.stage.sut_process import raise_priority; os.sched_setaffinity(0, {{{core}}})"
    loop = f"{enter}; raise_priority(); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        yield core
        process.kill()


def test_work_on_the_testers_core_names_the_check_that_would_have_shown_it(
    tmp_path: Path, busy_core: int, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--sut", "wire", "--rate", "20kpps", "--set", "duration=1s", "--set", f"engine.cores=[{busy_core}]"]
    main(["run", *flags, "--results-dir", str(tmp_path), "--alongside"])
    output = " ".join(capsys.readouterr().out.split())
    (file,) = tmp_path.glob("*/result.json")
    findings = [format_message(flag) for flag in load(file).findings if flag.code == "host-check"]
    assert any(text.startswith("In trial #0 other work kept the tester off its CPU") for text in findings), findings
    assert "nodrop host check A2 A5" in output
    main(["show", str(file)])
    assert "nodrop host check A2 A5" in " ".join(capsys.readouterr().out.split())
