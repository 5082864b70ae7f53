"""The engine's benchmarks work: the smallest rounds there are, nothing timed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_root")]


def run(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_a_round_of_rates_has_a_row_for_each_contestant_that_is_there_and_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "rates.json"
    groups = "veth,zero-loss,cost"
    said = run("benchmarks.engine", "--rounds", "1", "--seconds", "0.1", "--only", groups, "--json", file)
    kept = json.loads(file.read_text())
    measured = {(one["group"], one["contestant"]) for one in kept["measurements"]}
    for group, name in (("veth", "nodrop send"), ("veth", "nodrop send+receive"), ("cost", "in memory, latency")):
        assert (group, name) in measured, said
        assert name in said
    for peer, package in (("trafgen send", "netsniff-ng"), ("testpmd send", "dpdk-dev")):
        assert ("veth", peer) in measured or f"apt-get install {package}" in said or f"{peer} failed" in said
    assert "cost: in memory, a frame sent and received takes" in said
    if ("veth", "trafgen send") in measured:
        assert any(line.startswith(("met ", "NOT MET")) for line in kept["demands"])


def test_memory_is_told_with_a_verdict_for_many_trials_and_for_one(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    said = run("benchmarks.memory", "--minutes", "0.1", "--json", file)
    many, one = json.loads(file.read_text())
    assert (many["trial_count"] > 1, one["trial_count"]) == (True, 1)
    assert min(*many["resident_kib"], *one["resident_kib"]) > 1000
    assert said.count("resident first") == 2
