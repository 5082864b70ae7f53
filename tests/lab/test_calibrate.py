"""The tester alone: a wire between its two ports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import stretch

from nodrop import store
from nodrop.model.calibration import Calibration
from nodrop.model.result import RunResult

pytestmark = [pytest.mark.truth, pytest.mark.lab]

SHORT = ("--budget", "10s", "--set", "latency.trial_duration=0.2s", "-q")


def run_nodrop(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nodrop", *arguments, "--results-dir", tmp_path / "results", *SHORT],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        check=False,
        capture_output=True,
        text=True,
        timeout=stretch(60),
    )


def calibrate(tmp_path: Path, *arguments: str) -> tuple[Calibration, RunResult]:
    done = run_nodrop(tmp_path, "calibrate", "--max-load", "20kpps", *arguments)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "state/nodrop/calibrations").iterdir()
    assert f"kept: {path}" in done.stdout
    return Calibration.model_validate_json(path.read_text()), store.load("latest", tmp_path / "results")


def test_the_loop_is_measured_kept_and_its_latency_is_the_floor(tmp_path: Path) -> None:
    calibration, result = calibrate(tmp_path)
    assert 0 < calibration.load_pps <= 20_000 and calibration.latency_min_ns and calibration.latency_p50_ns
    assert calibration.latency_min_ns <= calibration.latency_p50_ns
    assert result.facts
    assert result.facts.stage.sut == "wire"
    assert [interface.name for interface in result.facts.stage.interfaces] == ["tester0", "tester1"]


@pytest.mark.usefixtures("require_root")
@pytest.mark.parametrize("backend", ["auto", "af_packet", "af_xdp", "xdp_live"])
def test_it_is_kept_by_the_back_end_taken_and_a_search_above_it_says_so(tmp_path: Path, backend: str) -> None:
    calibration, result = calibrate(tmp_path, "--backend", backend)
    assert result.facts
    backends = {port.backend for port in result.facts.ports}
    assert backends == {calibration.key.backend}
    assert backend in ("auto", calibration.key.backend)
    done = run_nodrop(tmp_path, "run", "--backend", backend, "--max-load", "40kpps", "--no-latency")
    assert "search.max_load: 40.00 kpps exceeds the tester's calibration" in done.stderr
    assert "exceeded the load that the tester sends without loss over a bare wire" in " ".join(done.stdout.split())
