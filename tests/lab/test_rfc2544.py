"""`nodrop test rfc2544` on real packets: an ideal queue, whose loss rates and longest burst are known."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import stretch

from nodrop.model.procedure import Rfc2544Plan
from nodrop.model.result import RunResult
from nodrop.procedure.rfc2544 import Rfc2544Procedure, build_rfc2544_report
from nodrop.procedure.rfc2544_figures import Rfc2544Report

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

CAPACITY_PPS, BUFFER_COUNT = 2000, 256
QUEUE = ("--set", f"vnf.capacity={CAPACITY_PPS}", "--set", f"vnf.buffer={BUFFER_COUNT}")
LINK = ("--link-speed", "13.44Mbps")
"""20 kfps of 64 bytes, 1.609 kfps of 1024."""
SLOWER_LINK = ("--link-speed", "1.68Mbps")
"""2.5 kfps of 64 bytes."""
NO_VALUE = 5
"""Exit code: other work kept the tester from sending any burst at its rate."""


def carry_out(tmp_path: Path, *flags: str, codes: tuple[int, ...] = (0,)) -> tuple[Rfc2544Report, dict[str, Any]]:
    """Carry out tests in one direction; return the report, and the JSON document."""
    file = tmp_path / "suite.json"
    command = [sys.executable, "-m", "nodrop", "test", "rfc2544", "--quick", "--results-dir", str(tmp_path)]
    settings = ["--json", str(file), "--set", "bidirectional=false", *flags]
    done = subprocess.run([*command, *settings], capture_output=True, text=True, timeout=stretch(300), check=False)
    assert done.returncode in codes, done.stdout + done.stderr
    content = json.loads(file.read_text())
    plan = Rfc2544Plan.model_validate(content["suite"]["procedure"])
    results = [RunResult.model_validate(each) for each in content["results"]]
    report = build_rfc2544_report(plan, results)
    assert content["report"] == json.loads(report.model_dump_json(exclude={"plan"}))
    if done.returncode == 0:
        assert Rfc2544Procedure(plan).request_run(results) is None
    return report, content


def test_the_report_is_computed_from_the_trials_of_its_runs(tmp_path: Path) -> None:
    flags = ("--sizes", "64", "--set", "rfc2544.bursts=1", "--set", "rfc2544.trial=0.5s")
    report, content = carry_out(tmp_path, *flags, *LINK, *QUEUE, codes=(0, NO_VALUE))
    bursts = [each for each in content["results"] if each["plan"]["variant"] == "back-to-back"]
    trials = [trial for each in bursts for trial in each["trials"]]
    for trial in trials:
        (stream,) = trial["streams"]
        assert stream["offered_count"] <= stream["intended_count"] == round(trial["trial"]["duration_s"] * 20_000)
        assert trial["senders"][0]["burst"]["ahead_max_count"] <= max(3, 0.011 * stream["intended_count"])
    for each in report.bursts:
        # Not even a burst that is slower by 1 % passes with more frames.
        assert each.frame_counts[0] <= 290
        passed = [trial for trial in trials if trial["trial"]["duration_s"] * 20_000 == pytest.approx(each.mean_count)]
        assert any(trial["streams"][0]["lost_count"] == 0 for trial in passed)
    for loss in report.losses:
        assert all(point.received_count <= point.offered_count for point in loss.points)


@pytest.mark.truth
def test_the_longest_burst_is_that_of_the_queue(tmp_path: Path) -> None:
    """A frame of 64, 128, 256 and 512 bytes finds the queue full after 285, 311, 382 and 699 frames."""
    report, _ = carry_out(tmp_path, "--only", "back-to-back", "--sizes", "64,512,1024", *LINK, *QUEUE)
    small, large = report.bursts
    assert all(283 <= count <= 289 for count in small.frame_counts)
    assert all(695 <= count <= 705 for count in large.frame_counts)
    assert small.corrected_buffer_s == pytest.approx(12.8e-3, abs=0.3e-3)
    omission = report.find_omission(1024, "back-to-back")
    assert omission and not omission.is_failure


@pytest.mark.truth
def test_loss_rates_are_those_of_the_queue(tmp_path: Path) -> None:
    """At 2,500 and 2,250 frames per second for 10 s, 2,100 and 256 of the queue pass; below, all frames do."""
    queue = ("--set", "vnf.capacity=2100", "--set", f"vnf.buffer={BUFFER_COUNT}", "--set", "rfc2544.trial=10s")
    report, _ = carry_out(tmp_path, "--only", "frame-loss-rate", "--sizes", "64", *SLOWER_LINK, *queue)
    (loss,) = report.losses
    assert [round(point.share_ratio, 3) for point in loss.points] == [1.0, 0.9, 0.8, 0.7]
    assert [point.offered_count - point.received_count for point in loss.points] == pytest.approx(
        [3744, 1244, 0, 0], abs=10
    )


@pytest.mark.truth
def test_a_wire_has_no_longest_burst(tmp_path: Path) -> None:
    report, _ = carry_out(tmp_path, "--sut", "wire", "--sizes", "64", "--link-speed", "13.44Mbps")
    assert report.throughputs[0].is_line_rate
    omission = report.find_omission(64, "back-to-back")
    assert omission and not omission.is_failure
    assert [point.loss_ratio for point in report.losses[0].points] == [0.0, 0.0]


@pytest.mark.truth
def test_a_line_rate_that_the_tester_does_not_reach_has_no_longest_burst(tmp_path: Path) -> None:
    report, _ = carry_out(tmp_path, "--only", "back-to-back", "--sizes", "64", codes=(NO_VALUE,))
    omission = report.find_omission(64, "back-to-back")
    assert omission and "the tester does not reach the line rate; set the speed of the links" in omission.reason
