"""`nodrop test scale-out` on real packets: a pool that adds an instance and takes it out of service again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

SETTINGS = ("--user-rate", "100pps", "--growth", "25%", "--set", "vnf.capacity=2kpps", "--set", "vnf.buffer=64")
NO_VERDICT = 5
"""Exit code: other work made the existing users alone miss the SLA."""


def run_scale_out(tmp_path: Path, *flags: str) -> dict[str, Any]:
    file = tmp_path / "scale-out.json"
    command = [sys.executable, "-m", "nodrop", "test", "scale-out", "--results-dir", str(tmp_path), "--json", str(file)]
    done = subprocess.run(
        [*command, *SETTINGS, *FULL_RATE, *flags], capture_output=True, text=True, timeout=stretch(180), check=False
    )
    assert done.returncode in (0, NO_VERDICT), done.stderr + done.stdout
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def test_a_pool_adds_an_instance_for_new_users_and_takes_it_out_again(tmp_path: Path) -> None:
    """One instance forwards 2,000 frames per second; 25 % more users are too many for it."""
    flags = (
        "--settle",
        "2s",
        "--hold",
        "6s",
        "--set",
        "pool.scale_out_delay=0.5s",
        "--set",
        "scale_out.return_time=4s",
    )
    content = run_scale_out(tmp_path, *flags)
    assert content["suite"]["procedure"]["name"] == "scale-out"
    for step in content["report"]["steps"]:
        (trial,) = next(each for each in content["results"] if each["run_id"] == step["run_id"])["trials"]
        lost_count = sum(stream["lost_count"] for stream in trial["streams"])
        assert step["before"]["lost_count"] + step["lost_count"] + step["return_lost_count"] == lost_count
        names = [event["name"] for event in trial["events"]]
        assert 0 <= step["added_count"] <= sum(name.startswith("scale-out") for name in names)
        assert step["instance_count"] == 1 + step["added_count"]
        if "scale-in 1" in names:
            assert names.index("scale-out 1") < names.index("scale-in 1")


@pytest.mark.truth
def test_the_service_is_restored_after_the_rule_and_the_delay(tmp_path: Path) -> None:
    """The rule counts whole seconds, and the instance is ready 1 s later: at most 3 s, and one to see it."""
    content = run_scale_out(tmp_path, "--settle", "3s", "--hold", "10s", "--set", "pool.scale_out_delay=1s")
    (step,) = content["report"]["steps"]
    assert step["added_count"] == 1 and step["detected_s"] <= 2.5
    assert 1 <= step["restored_s"] <= 4
    assert step["scale_in_s"] is not None and step["return_lost_count"] == 0
