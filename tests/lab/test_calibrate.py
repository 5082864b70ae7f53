"""The tester by itself: its two ports joined by a wire."""

import os
import subprocess
import sys
from pathlib import Path

from nodrop import store
from nodrop.model.calibration import Calibration

SHORT = ("--budget", "4s", "--max-load", "20kpps", "--set", "latency.trial_duration=0.2s", "-q")


def test_the_loop_is_measured_kept_and_its_latency_is_the_floor(tmp_path: Path) -> None:
    state, results = tmp_path / "state", tmp_path / "results"
    said = subprocess.run(
        [sys.executable, "-m", "nodrop", "calibrate", "--results-dir", results, *SHORT],
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == 0, said.stderr
    (path,) = (state / "nodrop/calibrations").iterdir()
    kept = Calibration.model_validate_json(path.read_text())
    assert 0 < kept.load_pps <= 20_000 and kept.latency_min_ns and kept.latency_p50_ns
    assert kept.latency_min_ns <= kept.latency_p50_ns
    assert f"kept: {path}" in said.stdout
    result = store.load("latest", results)
    assert result.facts
    assert result.facts.stage.sut == "wire"
    assert [interface.name for interface in result.facts.stage.interfaces] == ["tester0", "tester1"]
