"""Clouds for the tests, each started once per worker.

NODROP_OPENSTACK names the directory of a cloud that is already up (`python -m tests.openstack.services up`); the tests
then use that cloud and leave it running.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_or_fail
from tests.openstack.services import environment, running
from tests.openstack.services.layout import STATE, Layout
from tests.openstack.staging import contents, diff_contents

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "only")
SERVICE_PROGRAMS = {"mariadbd": "mariadb-server", "unshare": "util-linux"}
GUEST_PROGRAMS = {
    "rabbitmq-server": "rabbitmq-server",
    "ovs-vswitchd": "openvswitch-switch",
    "libvirtd": "libvirt-daemon",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
}


@pytest.fixture(scope="session")
def services() -> Iterator[Layout]:
    """Start Keystone, Glance, Placement, Nova and Neutron; servers have no guest."""
    if place := os.environ.get("NODROP_OPENSTACK"):
        yield Layout(Path(place))
        return
    _require_programs(SERVICE_PROGRAMS)
    with running.services(Layout(STATE / f"api-{WORKER}", first_port=running.free_ports(WORKER))) as layout:
        yield layout


@pytest.fixture(scope="session")
def services_with_guests() -> Iterator[Layout]:
    """Start the services with Open vSwitch, libvirt and QEMU in a separate network namespace: servers have guests."""
    if place := os.environ.get("NODROP_OPENSTACK_REAL"):
        yield Layout(Path(place), real=True)
        return
    _require_programs(SERVICE_PROGRAMS | GUEST_PROGRAMS)
    with running.services(Layout(STATE / f"real-{WORKER}", real=True)) as layout:
        yield layout


def _require_programs(programs: dict[str, str]) -> None:
    if os.geteuid():
        skip_or_fail("root is required")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    for program, package in programs.items():
        if not shutil.which(program, path=path):
            skip_or_fail(f"program {program} is not installed (package {package})")
    environment.install(Layout(STATE).venv)


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a disk for servers without a guest."""
    file = tmp_path_factory.mktemp("image") / "disk.raw"
    file.write_bytes(random.Random(8).randbytes(2**20))
    return file


@pytest.fixture
def nothing_left(services: Layout) -> Iterator[None]:
    """Assert that the test leaves nothing in the cloud, and removes no existing resource."""
    before = contents(services)
    yield
    assert diff_contents(contents(services), before) == {}


FIGURES: list[str] = []
"""Measured figures, printed at the end of the session."""


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Return a function that stores a line for the end of the session."""
    return FIGURES.append


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print times and counts, which no test asserts."""
    if FIGURES:
        terminalreporter.section("OpenStack: figures")
        for line in FIGURES:
            terminalreporter.write_line(line)
