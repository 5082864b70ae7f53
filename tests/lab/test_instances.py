"""`nodrop test instances` on real packets: each run is the one that the results before request, and counts add up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.model.procedure import InstancesPlan
from nodrop.model.result import RunResult
from nodrop.procedure.instances import InstancesProcedure, build_instances_report

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

NO_VERDICT = 5
"""Exit code: other work may be why the SLA was missed."""


def test_each_run_is_the_one_that_the_results_before_request(tmp_path: Path) -> None:
    file = tmp_path / "instances.json"
    command = [sys.executable, "-m", "nodrop", "test", "instances", "--results-dir", str(tmp_path), "--json", str(file)]
    settings = ["--max", "2", "--rate", "500pps", "--duration", "0.5s", "--confirmation", "1s", "--latency", "100ms"]
    done = subprocess.run(
        [*command, *settings, *FULL_RATE], capture_output=True, text=True, timeout=stretch(120), check=False
    )
    assert done.returncode in (0, NO_VERDICT), done.stderr + done.stdout
    content = json.loads(file.read_text())
    procedure = InstancesProcedure(InstancesPlan.model_validate(content["suite"]["procedure"]))
    results = [RunResult.model_validate(each) for each in content["results"]]
    for position, result in enumerate(results):
        request = procedure.request_run(results[:position])
        assert request and request.variant == result.plan.variant
        assert request.settings["chains"] == result.plan.lab.chain_count
    assert procedure.request_run(results) is None
    report = build_instances_report(procedure.plan, results)
    assert content["report"]["text"] == report.text
    for step in report.steps:
        trial = next(each for each in results if each.run_id == step.run_id).fixed_trial
        assert trial is not None
        assert step.offered_count == sum(stream.offered_count for stream in trial.streams)
        assert step.lost_count == sum(stream.lost_count for stream in trial.streams)
