"""Requirements of lab tests, and the behavior without them.

A test that lacks a tool or a privilege is skipped; with NODROP_REQUIRE_LAB=1, as in CI, it fails, and so does a session
in which no lab test passed. Runs ignore the measurement lock, as tests may run side by side.
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
TESTS = Path(__file__).parent
SLOW = (
    *("openstack", "ship", "dashboards", "web", "lab/test_vm_boot.py", "lab/test_vm_image.py", "lab/test_exposure.py"),
    *("lab/test_price.py", "lab/test_benchmarks.py", "lab/test_repeats.py"),
    *("lab/test_ledger.py", "lab/test_trex.py", "lab/test_trex_start.py"),
    *("lab/test_calibrate.py", "lab/test_chains.py", "lab/test_external.py", "lab/test_killed.py"),
    *("lab/test_neighbors.py", "lab/test_nfvbench_manual.py", "lab/test_truth.py", "lab/test_flows.py"),
    *("lab/test_cleanup.py", "lab/test_capture_and_replay.py", "lab/test_headers.py", "lab/test_rates_and_sizes.py"),
    *("lab/test_host_devices.py", "lab/test_no_traffic.py", "lab/test_path_check.py", "lab/test_standing_lab.py"),
    *("lab/test_documented_commands.py", "lab/test_trex_neighbors.py", "lab/test_tunnels.py"),
    *("api/test_openapi.py", "api/test_server.py"),
    *("unit/test_charts.py", "unit/test_picture.py", "unit/test_report_command.py", "flow/test_repeats.py"),
    *("unit/test_chd_files.py", "unit/test_coverage.py", "unit/test_critical_load.py", "unit/test_own_stops.py"),
    *("unit/test_placement_by_trying_everything.py", "unit/test_plrsearch.py", "unit/test_redecide.py"),
    *("unit/test_trex_frames.py", "unit/test_verdict_rates.py", "unit/test_cloud_cleanup.py"),
    *("unit/test_cloud_staging.py", "unit/test_index.py", "unit/test_trex_measurer.py"),
)
"""Tests that boot VMs, build or start software of other projects, drive a browser, repeat measurements, try hundreds of
random cases, draw many charts, or measure for long."""
ACCOMPANIED = (
    *("api", "web", "openstack/test_chains.py", "openstack/test_injected.py", "lab/test_cleanup.py"),
    *("lab/test_exposure.py", "lab/test_host_devices.py", "lab/test_netns_stage.py", "lab/test_nfvbench_manual.py"),
    *("lab/test_standing_lab.py", "lab/test_trex_neighbors.py", "lab/test_trex_start.py", "lab/test_vm_boot.py"),
)
"""Lab tests that compare no rates, times or losses, so that other tests may run beside them."""


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by location; let those of measured figures run once more."""
    for item in items:
        marks = _marks_of_file(item.path)
        for mark in marks - {"accompanied"}:
            item.add_marker(mark)
        if item.get_closest_marker("lab") and "accompanied" not in marks:
            item.add_marker("quiet")
        if item.get_closest_marker("truth"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@functools.cache
def _marks_of_file(path: Path) -> frozenset[str]:
    places = {"lab": ("lab", "openstack"), "slow": SLOW, "accompanied": ACCOMPANIED}
    return frozenset(
        mark for mark, within in places.items() if any(path.is_relative_to(TESTS / place) for place in within)
    )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a session that requires the lab but passed no lab test."""
    option = session.config.option
    is_worker = hasattr(session.config, "workerinput")  # of pytest-xdist, whose controller sees all reports
    if not LAB_REQUIRED or exitstatus or option.collectonly or option.markexpr.startswith("not lab") or is_worker:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = reporter.stats.get("passed", []) if reporter else []
    if not any("lab" in report.keywords for report in passed):
        print("\nNODROP_REQUIRE_LAB=1, and no lab test passed", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
