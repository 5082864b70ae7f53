"""Command lines of NFVbench's manual, run as printed except for shorter durations."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import FULL_RATE
from tests.nfvbench_manual import CONFIGURATION, LINES, Line
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

SHORTER = ("--duration", "0.5", "--interval", "0.25", *FULL_RATE)
RUN = {
    line.text: line
    for line in LINES
    if "--rate" in line.text
    and any(part in line.text for part in ("10kpps", "100000pps --duration", "PVVP", "-scc 3 -fc", "123,", "no-tag"))
}


def run_line(line: Line, directory: Path, *more: str) -> list[dict[str, Any]]:
    """Run a command line in a separate directory; return its results."""
    (directory / "nfvbench.cfg").write_text(CONFIGURATION)
    command = [sys.executable, "-m", "nodrop", "run", *shlex.split(line.text), *more]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=stretch(120), check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not line.remark or f"{line.remark}: " in " ".join((done.stderr + done.stdout).split())
    return [json.loads(path.read_text()) for path in sorted(directory.glob("results/*/result.json"))]


@pytest.mark.parametrize("written", RUN)
def test_a_command_line_of_the_manual_measures(written: str, tmp_path: Path) -> None:
    line = RUN[written]
    results = run_line(line, tmp_path, *SHORTER)
    assert len(results) == len(line.keys.get("frame_sizes", (64,)))
    for result in results:
        (trial,) = result["trials"]
        chains = {stream["chain"] for stream in result["plan"]["traffic"]["streams"]}
        assert len(chains) == line.keys.get("chains", 1)
        assert all(stream["received_count"] > 0 for stream in trial["streams"])


def test_the_check_without_traffic_checks_both_ways_and_measures_nothing(tmp_path: Path) -> None:
    line = next(line for line in LINES if line.text == "--no-traffic")
    (result,) = run_line(line, tmp_path)
    assert result["trials"] == []
    assert {(check["tx_port"], check["rx_port"]) for check in result["checks"]} == {(0, 1), (1, 0)}
