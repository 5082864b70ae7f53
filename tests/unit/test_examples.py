"""The examples are valid and run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import stretch

from nodrop.config.load import build_config
from nodrop.plan import build_plan

EXAMPLES = Path(__file__).parents[2] / "examples"
CAPACITY_PPS = 1.3e6


def run(*command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=stretch(60), env=environment
    ).stdout


def test_a_search_is_driven_from_python() -> None:
    printed = run(sys.executable, str(EXAMPLES / "search/own_measurer.py"))
    label, lower, upper = printed.splitlines()[0].split()
    assert label == "NDR"
    assert CAPACITY_PPS * 0.99 < float(lower) <= CAPACITY_PPS <= float(upper) < CAPACITY_PPS * 1.01


@pytest.mark.parametrize("options", [(), ("--search", "mlrsearch-01"), ("--goal", "NDR=0", "--width", "1%")])
def test_a_shell_script_is_the_measurer_of_a_search(options: tuple[str, ...]) -> None:
    ended = json.loads(run(str(EXAMPLES / "search/measurer.sh"), *options))
    lower, upper = ended["result"]["0.0"]
    assert CAPACITY_PPS * 0.99 < lower <= CAPACITY_PPS <= upper < CAPACITY_PPS * 1.01
    assert ended["findings"] == []


def test_the_regression_to_be_found_is_one_of_five_percent_and_nothing_else() -> None:
    main, patch = (str(EXAMPLES / "regression" / f"{name}.yaml") for name in ("main", "patch"))
    before, after = build_plan(build_config((main,), {})), build_plan(build_config((main, patch), {}))
    assert before.lab.sut_capacity_pps and after.lab.sut_capacity_pps
    assert after.lab.sut_capacity_pps / before.lab.sut_capacity_pps == pytest.approx(0.95)
    same = {"lab": before.lab, "label": before.label, "asked": before.asked}
    assert after.model_copy(update=same) == before
    assert after.lab.model_copy(update={"sut_capacity_pps": before.lab.sut_capacity_pps}) == before.lab
