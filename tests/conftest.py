"""What lab tests need of the machine, and what happens when it is not there.

A test that lacks a tool or a privilege is skipped; with NODROP_REQUIRE_LAB=1, as in CI, it fails, and so does a session
in which no lab test passed. Runs do not wait for their turn on the machine: tests may go on beside each other.
"""

import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

os.environ["NODROP_ALONGSIDE"] = "1"
LAB_REQUIRED = os.environ.get("NODROP_REQUIRE_LAB") == "1"
LAB = Path(__file__).parent / "lab"


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive() -> None:
    """SIGINT as a terminal has it, also in every process that tests start; a runner in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def require_tool() -> Callable[[str], Path]:
    """Give the path of a program this test cannot do without: `tshark = require_tool("tshark")`."""

    def find(name: str) -> Path:
        found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        return Path(found) if found else lacking(f"program {name} is not installed")

    return find


@pytest.fixture
def require_privilege() -> None:
    """Make sure that network namespaces can be made, as root or in a user namespace."""
    if refusal := _namespace_refusal():
        lacking(refusal)


@pytest.fixture
def require_root() -> None:
    """Make sure that the test runs as root."""
    if os.geteuid():
        lacking("only root may do this")


@functools.cache
def _namespace_refusal() -> str:
    """Tried in a process of its own, so that this one stays where it is."""
    attempt = "from nodrop.stage import namespace; namespace.unshare_lab()"
    tried = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=False)
    return tried.stderr.strip().rpartition("\n")[2]


def lacking(reason: str) -> NoReturn:
    if LAB_REQUIRED:
        pytest.fail(f"{reason}, and NODROP_REQUIRE_LAB=1 forbids to skip")
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever is in tests/lab is a lab test."""
    for item in items:
        if item.path.is_relative_to(LAB):
            item.add_marker(pytest.mark.lab)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Do not let a session pass that was to prove the lab and never ran it."""
    option = session.config.option
    if not LAB_REQUIRED or exitstatus or option.collectonly or option.markexpr == "not lab":
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = reporter.stats.get("passed", []) if reporter else []
    if not any("lab" in report.keywords for report in passed):
        print("\nNODROP_REQUIRE_LAB=1, and no lab test passed", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
