"""Two setups measured alternately with real packets, and their trend."""

import json
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE

from nodrop.cli import main
from nodrop.model.result import Status
from nodrop.store import suites

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]


def test_two_forwarders_in_turn_leave_a_suite_a_verdict_and_a_trend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "bridge.yaml"
    other.write_text("sut: bridge\n", encoding="utf-8")
    setup = ["--sut", "vnf-l2", "--rate", "2kpps", "--set", "duration=0.5s", *FULL_RATE, "--set", "label=turns"]
    results = ["--results-dir", str(tmp_path)]
    assert main(["run", *setup, *results, "--repeat", "2", "--interleave", str(other), "--alongside"]) == 0
    captured = capsys.readouterr()
    assert "B differs from A in sut: vnf-l2 -> bridge" in captured.err
    assert "4 runs: 2 repeats of A and B alternating" in captured.out
    stored = suites.load("latest", tmp_path)
    assert stored and stored.suite.status is Status.COMPLETE
    assert [f"{run.variant}{run.repeat}" for run in stored.suite.runs] == ["A1", "B1", "B2", "A2"]
    assert [result.facts.stage.sut for result in stored.results if result.facts] == [
        *("vnf-l2", "bridge"),
        *("bridge", "vnf-l2"),
    ]
    assert [result.plan.label for result in stored.results] == ["turns", "turns B", "turns B", "turns"]
    assert main(["trend", "turns", "--metric", "loss", "--format", "json", *results]) == 0
    (trend,) = json.loads(capsys.readouterr().out)["trends"]
    assert [point["run_id"] for point in trend["series"]["points"]] == [
        result.run_id for result in stored.results if result.plan.variant == "A"
    ]
