"""`nodrop run --no-traffic`: the run comes up and checks the path without measuring."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.running import plan_lab
from tests.waiting import stretch

from nodrop.stage import persistent_lab, registry

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


@pytest.fixture
def name() -> Iterator[str]:
    name = f"test-no-traffic-{os.getpid()}"
    yield name
    if registry.read_record(name):
        persistent_lab.take_down(name)


def run_nodrop(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodrop", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=stretch(100), check=False)


def test_ports_chains_addresses_and_what_came_through_are_told(tmp_path: Path) -> None:
    done = run_nodrop(tmp_path, "run", "--no-traffic", "-scc", "2", "--sut", "vnf-l3")
    assert done.returncode == 0, done.stderr
    (stored,) = tmp_path.glob("results/*/result.json")
    result = json.loads(stored.read_text())
    assert result["trials"] == []
    assert result["status"] == "complete"
    rows = [line.split() for line in done.stdout.splitlines()]
    for index, port in enumerate(result["facts"]["ports"]):
        facts = next(each for each in result["facts"]["stage"]["interfaces"] if each["name"] == port["interface"])
        expected = {str(index), port["interface"], facts["mac"], str(facts["mtu_bytes"])}
        assert any(row[:1] == [str(index)] and expected <= set(row) for row in rows)
        for hop in port["next_hops"]:
            assert any(row[0] == str(hop["chain"]) and row[4:6] == [hop["mac"], "ARP"] for row in rows if len(row) > 5)
    assert "Frames arrived on 4 of 4 directions of 2 chains; nothing was measured." in done.stdout


def test_a_direction_that_lets_nothing_through_is_named_and_ends_with_exit_code_4(
    name: str, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    persistent_lab.bring_up(plan_lab("bridge"), name)
    ip = str(require_tool("ip"))
    down = run_nodrop(tmp_path, "lab", "exec", "--name", name, "sut", "--", ip, "link", "set", "sut1", "down")
    assert down.returncode == 0, down.stderr
    done = run_nodrop(tmp_path, "run", "--no-traffic", "--lab", name)
    assert done.returncode == 4
    for direction in ("left to right (tester0 to tester1)", "right to left (tester1 to tester0)"):
        assert direction in done.stderr
    (stored,) = tmp_path.glob("results/*/result.json")
    assert json.loads(stored.read_text())["status"] == "failed"
