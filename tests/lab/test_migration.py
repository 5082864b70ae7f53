"""`nodrop test migration` on real packets: the stand-in of a migration, there and back."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.model.procedure import MigrationPlan
from nodrop.model.result import RunResult
from nodrop.procedure.migration import build_migration_report

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


def run_migration(tmp_path: Path, *flags: str) -> dict[str, Any]:
    file = tmp_path / "migration.json"
    command = [sys.executable, "-m", "nodrop", "test", "migration", "--results-dir", str(tmp_path), "--json", str(file)]
    subprocess.run([*command, *FULL_RATE, *flags], capture_output=True, timeout=stretch(180), check=True)
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def test_the_report_has_every_lost_frame_of_a_migration(tmp_path: Path) -> None:
    settings = ("--set", "migration.steady=0.5s", "--settle", "1s", "--repeat", "2")
    content = run_migration(tmp_path, *settings)
    plan = MigrationPlan.model_validate(content["suite"]["procedure"])
    results = [RunResult.model_validate(each) for each in content["results"]]
    report = build_migration_report(plan, results)
    assert report.text == content["report"]["text"]
    assert [leg.is_back for leg in report.legs] == [False, True] * 2
    for number, result in enumerate(results):
        trial = result.fixed_trial
        assert trial is not None
        assert [event.name for event in trial.events] == ["withdraw 0", "restore 0"]
        lost_count = sum(leg.lost_count for leg in report.legs[2 * number : 2 * number + 2])
        assert lost_count <= sum(stream.lost_count for stream in trial.streams)


@pytest.mark.truth
def test_a_pause_of_350_ms_loses_the_frames_of_that_time(tmp_path: Path) -> None:
    """2,000 frames per second of both ways together: 700 in 350 ms."""
    for leg in run_migration(tmp_path)["report"]["legs"]:
        assert leg["lost_count"] == pytest.approx(0 if leg["is_back"] else 700, abs=2)
