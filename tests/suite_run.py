"""Suites run side by side as `scripts/test` does: their packages, their steps, and a summary of their tests."""

import concurrent.futures
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.suites import ROOT, Suite

PYTHON = ".venv/bin/python"
LOGS = ROOT / "target" / "tests"
BASE_AGE_S = 12 * 3600
SLOWEST_COUNT = 25
STEPS_AT_A_TIME = 2
LAST_LINES = 15


class Step(NamedTuple):
    """A command of a suite."""

    suite: str
    name: str
    command: str
    log: Path


class Ended(NamedTuple):
    """A step that ran."""

    step: Step
    code: int
    wall_s: float


def find_base() -> str:
    """Return the newest commit that is 12 hours older than the last one, or "" without one."""
    head_s = int(run_git("log", "-1", "--format=%ct") or 0)
    return run_git("rev-list", "-1", f"--before={head_s - BASE_AGE_S}", "HEAD")


def list_changes(base: str) -> list[str]:
    """Return the files that differ from a commit, untracked ones included."""
    changed, untracked = run_git("diff", "--name-only", base), run_git("ls-files", "--others", "--exclude-standard")
    return [*changed.splitlines(), *untracked.splitlines()]


def run_git(*words: str) -> str:
    """Return the output of git, "" if it fails, as without a repository."""
    return subprocess.run(["git", *words], check=False, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.strip()


def list_missing_packages(suites: Iterable[Suite]) -> set[str]:
    """Return the Debian packages whose programs or files are not there."""
    needed = {place: package for suite in suites for place, package in suite.packages.items()}
    return {name for place, package in needed.items() if not is_installed(place) for name in package.split()}


def is_installed(place: str) -> bool:
    """Return whether a program is on the PATH, or a file matches a glob that begins with a slash."""
    if place.startswith("/"):
        return any(Path("/").glob(place[1:]))
    return shutil.which(place, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is not None


def prepare_suites(suites: Iterable[Suite]) -> int:
    """Run what prepares the suites; return the exit code of the first command that failed, or 0."""
    commands = [command for each in suites for command in each.prepare]
    codes = [subprocess.run(command, shell=True, check=False, cwd=ROOT).returncode for command in commands]
    return next(filter(None, codes), 0)


def run_suites(suites: list[Suite]) -> int:
    """Run suites, some steps at a time, then those that need the machine for themselves; return the first bad code."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    steps = [step for each in suites if not each.alone for step in list_steps(each)]
    ended = []
    with concurrent.futures.ThreadPoolExecutor(STEPS_AT_A_TIME) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run_step, step) for step in steps]):
            ended.append(show(future.result()))
    ended += [show(run_step(step)) for each in suites if each.alone for step in list_steps(each)]
    summarize(ended)
    return next((each.code for each in ended if each.code), 0)


def list_steps(suite: Suite) -> list[Step]:
    marks = suite.name if suite.name == "truth" else f"'{suite.name} and not truth'"
    pytest = [PYTHON, "-m", "pytest", "--quiet", "-m", marks]
    if suite.workers > 1:
        pytest += ["--numprocesses", str(suite.workers), "--dist", suite.distribution]
    commands = {"pytest": " ".join([*pytest, *files])} if (files := suite.list_test_files()) else {}
    commands |= {command: command for command in suite.steps}
    return [
        Step(suite.name, name, command, LOGS / f"{suite.name}-{number}.log")
        for number, (name, command) in enumerate(commands.items())
    ]


def run_step(step: Step) -> Ended:
    begin_s = time.monotonic()
    print(f"== {step.suite}: {step.name}", flush=True)
    environment = os.environ | {"NODROP_TEST_LOG": str(step.log.with_suffix(".jsonl"))}
    with step.log.open("wb") as log:
        code = subprocess.run(
            step.command, shell=True, check=False, cwd=ROOT, env=environment, stdout=log, stderr=log
        ).returncode
    return Ended(step, code, time.monotonic() - begin_s)


def show(ended: Ended) -> Ended:
    """Print the output of a step."""
    verdict = f"FAILED with exit code {ended.code}" if ended.code else "passed"
    print(f"== {ended.step.suite}: {ended.step.name} {verdict} after {ended.wall_s:.0f} s", flush=True)
    print(ended.step.log.read_text(errors="replace"), flush=True)
    return ended


def summarize(ended: list[Ended]) -> None:
    """Print the slowest tests, those skipped or run once more, the seconds by suite and step, and last the failures.

    A step that failed without a failed test, such as an internal error of pytest, is there with its last lines.
    """
    reports = [report for each in ended for report in read_reports(each.step.log.with_suffix(".jsonl"))]
    print(f"slowest {SLOWEST_COUNT} tests:")
    for report in sorted(reports, key=lambda each: -each["wall_s"])[:SLOWEST_COUNT]:
        print(f"  {report['wall_s']:5.1f} s  {report['test']}")
    list_tests(reports, "skipped", "skipped:")
    list_tests(reports, "rerun", "failed, and ran once more:")
    print("seconds by suite and step:")
    for step, code, wall_s in ended:
        print(f"  {wall_s:5.0f} s  {step.suite}: {step.name}{f', exit code {code}' if code else ''}")
    list_tests(reports, "failed", "failed:")
    for step in (each.step for each in ended if each.code):
        if not any(each["outcome"] == "failed" for each in read_reports(step.log.with_suffix(".jsonl"))):
            last = step.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            print(f"end of {step.suite}: {step.name}", *last, sep="\n  ")


def list_tests(reports: Iterable[dict[str, Any]], outcome: str, title: str) -> None:
    """Print the tests that had an outcome, with its reason; nothing if there are none."""
    if those := [f"  {each['test']}: {each['reason']}" for each in reports if each["outcome"] == outcome]:
        print(title, *those, sep="\n")


def read_reports(file: Path) -> list[dict[str, Any]]:
    """Return the outcomes that tests/conftest.py wrote."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
