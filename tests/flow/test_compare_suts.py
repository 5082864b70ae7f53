"""`nodrop compare --sut A,B`: both are measured, alternating, and compared."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.running import NullStage
from tests.suts import Step

from nodrop.cli import main
from nodrop.run import execute
from nodrop.run.execute import RunEnvironment
from nodrop.simulation import SimulatedMeasurer

RATES_PPS = {"bridge": 1e6, "router": 0.9e6}
QUICK = ("--set", "search.final_trial_duration=1s", "--max-load", "4Mpps", "--no-latency", "-q")


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Measure simulated SUTs of known rates, in an empty directory."""

    def make(plan: Any, _stage: object) -> SimulatedMeasurer:
        return SimulatedMeasurer(plan.traffic, Step(RATES_PPS[plan.lab.sut] * (1 + 0.001 * plan.repeat)))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "LOCAL", RunEnvironment(lambda _plan, _run_id, _on_progress: NullStage(), make))
    return tmp_path


def test_two_suts_alternate_and_the_comparison_names_the_worse(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["compare", "--sut", "bridge,router", "--repeat", "3", "--fail-on", "worse", *QUICK])
    out, err = capsys.readouterr()
    assert code == 8
    assert "B differs from A in sut: bridge -> router" in err
    assert "B is worse than A: NDR is 10 % lower" in out
    (file,) = Path("results").glob("*/suite.json")
    assert [run["variant"] for run in json.loads(file.read_text())["runs"]] == list("ABBABA")
    assert main(["compare", file.parent.name[-6:], "--margin", "20%", "--metric", "ndr"]) == 0
    assert "equivalent" in capsys.readouterr().out


def test_json_is_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--sut", "bridge,router", "--repeat", "3", "--format", "json", *QUICK[:-1]]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "worse"
    assert "trial 0" in err


def test_missing_software_is_refused_before_any_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_keys: None)
    assert main(["compare", "--sut", "bridge,ovs", *QUICK]) == 3
    assert "install Open vSwitch" in capsys.readouterr().err
    assert not list(Path("results").glob("*/*.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sut", "bridges,ovs"), "did you mean bridge?"),
        (("--sut", "bridge"), "1 SUT to compare; name two"),
        (("--sut", "bridge,ovs", "latest"), "--sut measures both sides; remove the results"),
        (("latest", "other", "--repeat", "3"), "--repeat changes runs"),
        (("latest", "other", "-fs", "64"), "--frame-size changes runs"),
    ],
)
def test_contradicting_arguments_are_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err
