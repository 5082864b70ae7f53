"""Commands of tutorials, how-tos and the example workflow, run as written except for shorter searches."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege", "require_root")]

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
SHORTER = (
    *("search.max_load=4kpps", "search.budget=8s", "search.final_trial_duration=0.3s"),
    *("latency.trial_duration=0.2s", "search.disturbed_time=count"),
)
NODROP = f"""#!/bin/bash
if [[ $1 == run || " $* " == *" --sut "* ]]; then
    set -- "$@" {" ".join(f"--set {key}" for key in SHORTER)}
    [[ " $* " != *" --repeat "* && $1 != compare ]] || set -- "$@" --repeat 2
    [[ " $* " != *" --wait-idle "* ]] || set -- "$@" --wait-idle 1s
fi
exec {sys.executable} -m nodrop "$@"
"""
"""`nodrop`, whose searches are short."""
SUDO = '#!/bin/sh\nexec "$@"\n'
FORWARDER = f"#!/bin/sh\nsleep infinity | {PROGRAMS}/nodrop-vnf l2 --port $1 --port $2\n"
CONTAINER = f"""
until ip link show up sut-right 2>/dev/null | grep -q sut-right; do sleep 0.05; done
sleep infinity | {PROGRAMS}/nodrop-vnf l2 --port sut-left --port sut-right
"""
"""A container's forwarder, which starts when its interfaces are up."""


class Part(NamedTuple):
    """A part of a page with the commands to run."""

    page: str
    heading: str = ""
    """The section, or the whole page."""
    before: str = ""
    """What the page assumes to be done."""
    after: str = ""
    """What the page refers back to."""
    exit_codes: tuple[int, ...] = (0,)
    blocks: int = 99
    """The number of blocks to run."""


class Done(NamedTuple):
    """A script that ended."""

    returncode: int
    output: str


MEASURE_EXTERNAL = "nodrop run --sut ext --ports left,right"
PARTS = (
    Part("tutorial/first-ndr.md"),
    Part("tutorial/doubtful-result.md", before="nodrop run", exit_codes=(0, 3)),  # 3: the machine does not become idle
    Part("tutorial/own-forwarder.md"),
    Part("tutorial/gate-in-ci.md", "Absolute", exit_codes=(8,)),  # at most 4 kpps are tried
    Part("tutorial/gate-in-ci.md", "Relative", exit_codes=(0, 8)),  # two repeats need not decide
    Part("how-to/measure-own-forwarder.md", "A process between two interfaces"),
    Part("how-to/measure-own-forwarder.md", "A container", after=MEASURE_EXTERNAL),
    Part("how-to/frame-sizes.md"),
    Part("how-to/latency-at-half-load.md"),
    Part("how-to/gate.md", exit_codes=(8,), blocks=1),
    Part("how-to/report.md", before="nodrop run", blocks=1),
)


def read_blocks(part: Part) -> list[str]:
    """Return the blocks of commands: those marked `sh`, and indented ones that start with nodrop."""
    text = (ROOT / "docs" / part.page).read_text(encoding="utf-8")
    if part.heading:
        text = re.split(r"^## ", text.partition(f"## {part.heading}\n")[2], flags=re.MULTILINE)[0]
    found = re.findall(r"^```sh\n(.*?)^```|((?:^ {4}nodrop [^\n]*\n)+)", text, flags=re.MULTILINE | re.DOTALL)
    assert found, f"{part.page}, {part.heading}: no commands"
    return [fenced or indented for fenced, indented in found][: part.blocks]


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[[str], Done]:
    """Run a script with bash in a network namespace of its own, in an empty directory."""
    (tmp_path / "bin").mkdir()
    for name, text in {"nodrop": NODROP, "sudo": SUDO}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)

    def run(script: str) -> Done:
        path = f"{tmp_path / 'bin'}:{PROGRAMS}:{os.environ['PATH']}:/usr/sbin:/sbin"
        command = ["unshare", "--net", "bash", "-euo", "pipefail", "-c", f"ip link set lo up\n{script}"]
        environment = os.environ | {"PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}
        log = tmp_path / "log"  # not a pipe, which a forwarder in the background would keep open
        with (
            log.open("w") as output,
            subprocess.Popen(
                command, env=environment, cwd=tmp_path, stdout=output, stderr=output, start_new_session=True
            ) as process,
        ):
            try:
                return Done(process.wait(timeout=stretch(180)), log.read_text())
            finally:
                end_session(process)

    return run


@pytest.fixture
def container(tmp_path: Path) -> Iterator[None]:
    """Stand for a container with a forwarder; `docker inspect` prints its process id."""
    with subprocess.Popen(["unshare", "--net", "bash", "-c", CONTAINER], start_new_session=True) as process:
        (tmp_path / "bin" / "docker").write_text(f"#!/bin/sh\necho {process.pid}\n")
        (tmp_path / "bin" / "docker").chmod(0o755)
        yield
        end_session(process)


def end_session(process: subprocess.Popen) -> None:
    """Kill a process and all that it started, if any is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("run_script", "container")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.page} {part.heading}".strip())
def test_documented_commands_run_as_written(part: Part, run_script: Callable, tmp_path: Path) -> None:
    done = run_script("\n".join((part.before, *read_blocks(part), part.after)))
    assert done.returncode in part.exit_codes, done.output
    assert list(tmp_path.glob("results/*/result.json"))


def test_two_switches_are_compared_by_the_documented_command(
    run_script: Callable, require_tool: Callable, tmp_path: Path
) -> None:
    require_tool("ovs-vswitchd")
    done = run_script(read_blocks(Part("how-to/compare.md"))[0])
    assert done.returncode == 0, done.output
    assert len(list(tmp_path.glob("results/*/result.json"))) == 4


def test_the_example_workflow_measures_and_compares(run_script: Callable, tmp_path: Path) -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "github-actions.yml").read_text(encoding="utf-8"))
    steps = {step.get("name"): step.get("run") for step in workflow["jobs"]["measure"]["steps"]}
    for version in ("base", "head"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "forwarder").write_text(FORWARDER)
        (tmp_path / version / "forwarder").chmod(0o755)
    start = steps["Start both versions, each between two links"]
    done = run_script("\n".join((start, steps["Measure"], steps["Compare"])))
    assert done.returncode in {0, 8}, done.output  # two repeats need not decide
    assert "NDR" in (tmp_path / "summary.md").read_text()
    threshold = run_script(f"{start}\n{steps['Check the threshold']}")
    assert threshold.returncode == 8, threshold.output  # at most 4 kpps are tried
