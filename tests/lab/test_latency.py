"""Latency at the bounds, from real packets: trials of the search have it, with percentiles."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]

SEARCH = (
    *("--max-load", "4kpps", "--set", "search.disturbed_time=count"),
    *("--set", "search.final_trial_duration=1s", "--set", "latency.trial_duration=1s"),
)


def test_a_trial_of_the_search_has_the_latency_at_its_bound(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodrop", "run", "--json", tmp_path / "result.json", *SEARCH]
    done = subprocess.run(
        command,
        env=os.environ | {"COLUMNS": "100"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=stretch(100),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    trials = {each["label"]: result["trials"][each["trial_index"]] for each in result["latencies"]}
    assert set(trials) == {"NDR", "PDR", "50 % of PDR"}
    for trial in trials.values():
        assert all(way["latency"]["hdr"] and way["latency"]["p50_ns"] > 0 for way in trial["directions"])
    assert trials["NDR"]["phase"] == "search"
    short = [trial for trial in result["trials"] if trial["duration_s"] < 1]
    assert all(
        way["latency"] is None or way["latency"]["hdr"] is None for trial in short for way in trial["directions"]
    )
