"""`nodrop test y1564` on real packets: a forwarder whose policer has a known bandwidth profile."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import stretch

from nodrop.model.procedure import Y1564Plan
from nodrop.model.result import RunResult
from nodrop.procedure.y1564 import Y1564Procedure, build_y1564_report
from nodrop.procedure.y1564_figures import Verdict, Y1564Report

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

FRAME_BYTES, BURST_BYTES = 500, 12_500
RATES = ("--cir", "1Mbps", "--eir", "500kbps")
SERVICE = (*RATES, "--cbs", str(BURST_BYTES), "--ebs", str(BURST_BYTES))
PASS, NO_VERDICT, FAIL = 0, 5, 8
"""Exit codes; without a verdict, other work may be why a limit was missed in every repeat."""
MEASURED = {Verdict.PASS, Verdict.FAIL}


def make_policer(cir: str = "1Mbps", eir: str = "500kbps") -> tuple[str, ...]:
    """Return the flags for a policer of both buckets; of the committed one only if `eir` is `0`."""
    excess = f"eir: {eir}, ebs: {BURST_BYTES}" if eir != "0" else "eir: 0"
    return ("--set", f"vnf.policer={{cir: {cir}, cbs: {BURST_BYTES}, {excess}}}")


def carry_out(tmp_path: Path, *flags: str, codes: tuple[int, ...]) -> tuple[Y1564Report, dict[str, Any]]:
    """Carry out the tests in one direction; return the report, and the JSON document."""
    file = tmp_path / "suite.json"
    command = [sys.executable, "-m", "nodrop", "test", "y1564", "--results-dir", str(tmp_path), "--json", str(file)]
    settings = ["--set", "bidirectional=false", "--set", f"frame_bytes={FRAME_BYTES}", *flags]
    done = subprocess.run([*command, *settings], capture_output=True, text=True, timeout=stretch(300), check=False)
    assert done.returncode in codes, done.stdout + done.stderr
    content = json.loads(file.read_text())
    plan = Y1564Plan.model_validate(content["suite"]["procedure"])
    results = [RunResult.model_validate(each) for each in content["results"]]
    report = build_y1564_report(plan, results)
    assert content["report"] == report.model_dump(mode="json", exclude={"plan"})
    assert Y1564Procedure(plan).request_run(results) is None
    return report, content


def find_verdict(report: Y1564Report, code: str) -> Verdict | None:
    """Return the verdict on the last step of a sub-test, by its code."""
    return [step.verdict for step in report.steps if step.name.startswith(code)][-1]


def test_the_report_is_computed_from_the_trials_of_its_runs(tmp_path: Path) -> None:
    flags = ("--step", "2s", "--duration", "2s", "--set", "y1564.steps=[50%, 100%]", "--continue")
    report, content = carry_out(tmp_path, *SERVICE, *flags, *make_policer(), codes=(PASS, NO_VERDICT, FAIL))
    assert [step.load_pps for step in report.steps] == [125, 250, 375, 406.25, 250]
    trials = {each["run_id"]: each["trials"][0] for each in content["results"] if each["trials"]}
    for step in report.steps:
        if step.verdict not in MEASURED:
            continue
        (figures,), (stream,) = step.directions, trials[step.run_id]["streams"]
        assert figures.offered_count == stream["offered_count"] >= 0.99 * stream["intended_count"]
        assert figures.lost_count == stream["lost_count"] <= figures.offered_count
        duration_s = trials[step.run_id]["duration_s"]
        assert figures.ir_bps == pytest.approx(stream["received_count"] * 8 * FRAME_BYTES / duration_s)
        assert (step.verdict is Verdict.FAIL) == bool(figures.misses)
        if figures.ftd_mean_ns is not None:
            assert figures.ftd_min_ns <= figures.ftd_mean_ns <= figures.ftd_max_ns
    if report.performance and report.performance.directions:
        (minute,) = report.performance.directions[0].minutes
        assert minute.duration_s == 2 and minute.lost_count <= report.performance.directions[0].lost_count


@pytest.mark.truth
def test_the_correct_policer_passes_with_the_counts_of_its_buckets(tmp_path: Path) -> None:
    report, _ = carry_out(tmp_path, *SERVICE, "--duration", "12s", *make_policer(), codes=(PASS,))
    assert report.verdict is Verdict.PASS
    received = [each.offered_count - each.lost_count for step in report.steps for each in step.directions]
    assert received == pytest.approx([625, 1250, 1875, 2500, 3750, 3778, 3000], abs=2)
    policing = next(step for step in report.steps if step.kind == "policing")
    assert policing.directions[0].ir_bps == pytest.approx(1.511e6, abs=2e3)


@pytest.mark.truth
def test_a_path_without_policer_fails_policing(tmp_path: Path) -> None:
    report, _ = carry_out(tmp_path, *SERVICE, "--step", "5s", "--set", "y1564.steps=[100%]", codes=(FAIL,))
    assert [step.verdict for step in report.steps] == ["pass", "pass", "fail", "skipped"]
    assert find_verdict(report, "C2") is Verdict.FAIL


@pytest.mark.truth
def test_a_policer_with_a_lower_committed_rate_fails(tmp_path: Path) -> None:
    """Of 2,500 frames at CIR, 226 are lost where CIR is 10 % lower; with EIR, the sum of both is too low."""
    report, _ = carry_out(
        tmp_path, "--cir", "1Mbps", "--cbs", str(BURST_BYTES), *make_policer("900kbps", "0"), codes=(FAIL,)
    )
    assert find_verdict(report, "A2") is Verdict.FAIL
    missed = next(step for step in report.steps if step.verdict is Verdict.FAIL)
    assert missed.directions[0].lost_count == pytest.approx(226, abs=3)


@pytest.mark.truth
def test_a_shaper_with_a_long_queue_fails_by_its_delay(tmp_path: Path) -> None:
    """A queue of 1,000 frames, emptied at 1.5 Mb/s, loses nothing in a policing step, but delays all frames of it."""
    shaper = ("--set", "vnf.capacity=375", "--set", "vnf.buffer=1000")
    flags = ("--ftd", "20ms", "--step", "5s", "--set", "y1564.steps=[100%]")
    report, _ = carry_out(tmp_path, *SERVICE, *flags, *shaper, codes=(FAIL,))
    policing = next(step for step in report.steps if step.kind == "policing")
    assert policing.verdict is Verdict.FAIL and "mean FTD" in policing.reason


@pytest.mark.truth
def test_bursts_pass_as_far_as_the_committed_bucket_goes(tmp_path: Path) -> None:
    """At 20 kfps, 25 frames of 500 bytes pass, and of 28 no more."""
    flags = ("--set", "link_speed=83.2Mbps", "--step", "2s", "--duration", "1s", "--set", "y1564.steps=[100%]")
    committed = ("--cir", "1Mbps", "--cbs", str(BURST_BYTES), "--set", "y1564.bursts=true")
    report, _ = carry_out(tmp_path, *committed, *flags, *make_policer(eir="0"), codes=(PASS, NO_VERDICT))
    bursts = [step for step in report.steps if step.burst and step.verdict in MEASURED]
    passed = {step.name: each.offered_count - each.lost_count for step in bursts for each in step.directions}
    assert passed in ({"D-a CBS": 25, "D-b CBS + 10 %": 25}, {"D-a CBS": 25}, {})
