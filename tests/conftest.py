"""Requirements of lab tests, and the behavior without them.

A test that lacks a tool or a privilege is skipped; with NODROP_REQUIRE_LAB=1, as in CI, it fails, and so does a session
in which no lab test passed. Runs ignore the measurement lock, as tests may run side by side.
"""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from tests.suites import GATE, load_suites
from tests.waiting import stretch

os.environ["NODROP_ALONGSIDE"] = "1"
os.environ.setdefault("PYTEST_TIMEOUT", f"{stretch(300):g}")  # pytest-timeout: for each test, with its fixtures
LAB_REQUIRED = os.environ.get("NODROP_REQUIRE_LAB") == "1"


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive() -> None:
    """Handle SIGINT as in a terminal, also in child processes; a background runner may ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def require_tool() -> Callable[[str], Path]:
    """Return the path of a required program: `tshark = require_tool("tshark")`."""

    def find(name: str) -> Path:
        result = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        return Path(result) if result else skip_or_fail(f"program {name} is not installed")

    return find


@pytest.fixture
def require_privilege() -> None:
    """Require network namespaces, as root or in a user namespace."""
    if refusal := _namespace_refusal():
        skip_or_fail(refusal)


@pytest.fixture
def require_root() -> None:
    """Require root."""
    if os.geteuid():
        skip_or_fail("root is required")


@functools.cache
def _namespace_refusal() -> str:
    """Return why namespaces are refused, tried in a child process so that this one stays in its namespace."""
    attempt = "from nodrop.stage import namespace; namespace.unshare_lab()"
    tried = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=False)
    return tried.stderr.strip().rpartition("\n")[2]


def skip_or_fail(reason: str) -> NoReturn:
    if LAB_REQUIRED:
        pytest.fail(f"{reason}, and NODROP_REQUIRE_LAB=1 forbids skipping")
    pytest.skip(reason)


def pytest_configure(config: pytest.Config) -> None:
    for suite in load_suites().values():
        config.addinivalue_line("markers", f"{suite.name}: if it fails, {suite.failure}")


@pytest.hookimpl(tryfirst=True)  # before fixtures start programs
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give testers and SUTs priority only in tests of measured figures, which run alone.

    Beside others, a process that polls with priority keeps tests and kernel threads off their CPUs for seconds.
    """
    os.environ["NODROP_PRIORITY"] = "raised" if "truth" in item.keywords else "normal"


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests without a suite with `gate`; let those of measured figures run once more if they fail."""
    suites = set(load_suites())
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if not marks & suites:
            item.add_marker(GATE)
        if "truth" in marks:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append time and outcome to the file that scripts/test names; with pytest-xdist its controller does."""
    file = os.environ.get("NODROP_TEST_LOG")
    if not file or "PYTEST_XDIST_WORKER" in os.environ or (report.when != "call" and report.passed):
        return
    row = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "wall_s": report.duration,
        "reason": describe_reason(report),
    }
    with Path(file).open("a") as log:
        log.write(f"{json.dumps(row)}\n")


def describe_reason(report: pytest.TestReport) -> str:
    """Return in one line why a test failed, and where, or why it was skipped; "" if it passed."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    if crash := getattr(report.longrepr, "reprcrash", None):
        return f"{crash.message.partition(chr(10))[0]} ({Path(crash.path).name}:{crash.lineno})"
    return str(report.longrepr or "").strip().rpartition("\n")[2]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the suite `gate` if the lab is required and no lab test passed."""
    option = session.config.option
    is_complete = LAB_REQUIRED and not exitstatus and not option.collectonly and GATE in option.markexpr.split()
    if not is_complete or hasattr(session.config, "workerinput"):  # the controller of pytest-xdist sees all reports
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = reporter.stats.get("passed", []) if reporter else []
    if not any("lab" in report.keywords for report in passed):
        print("\nNODROP_REQUIRE_LAB=1, and no lab test passed", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
