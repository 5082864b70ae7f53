"""The engine's benchmarks run with their smallest arguments; times are not checked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import stretch

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_root")]


def run(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", *map(str, arguments)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=stretch(120), check=False)
    assert "Traceback" not in process.stderr, process.stderr
    return process.stdout


def test_a_round_of_rates_has_a_row_for_each_contestant_that_is_there_and_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "rates.json"
    groups = "veth,zero-loss,cost"
    output = run("benchmarks.engine", "--rounds", "1", "--seconds", "0.1", "--only", groups, "--json", file)
    record = json.loads(file.read_text())
    measured = {(each["group"], each["contestant"]) for each in record["measurements"]}
    for group, name in (("veth", "nodrop send"), ("veth", "nodrop send+receive"), ("cost", "in memory, latency")):
        assert (group, name) in measured, output
        assert name in output
    for peer, package in (("trafgen send", "netsniff-ng"), ("testpmd send", "dpdk-dev")):
        assert ("veth", peer) in measured or f"apt-get install {package}" in output or f"{peer} failed" in output
    assert "cost: in memory, CPU time per frame sent and received:" in output
    if ("veth", "trafgen send") in measured:
        assert any(line.startswith(("met ", "NOT MET")) for line in record["demands"])


def test_memory_is_told_with_a_verdict_for_many_trials_and_for_one(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    output = run("benchmarks.memory", "--minutes", "0.1", "--json", file)
    many, one = json.loads(file.read_text())
    assert (many["trial_count"] > 1, one["trial_count"]) == (True, 1)
    assert min(*many["resident_kib"], *one["resident_kib"]) > 1000
    assert output.count("resident first") == 2
