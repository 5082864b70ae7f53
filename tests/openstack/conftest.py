"""Clouds that tests stage in, each started once for all of them.

NODROP_OPENSTACK names the directory of a set-up that stands already (`python -m tests.openstack.services up`), which is
then taken instead, and left standing.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import lacking
from tests.openstack.services import environment, running
from tests.openstack.services.layout import STATE, Layout
from tests.openstack.staging import contents, more

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
    """Keystone, Glance, Placement, Nova and Neutron; servers have no guest."""
    if place := os.environ.get("NODROP_OPENSTACK"):
        yield Layout(Path(place))
        return
    _require(SERVICE_PROGRAMS)
    with running.services(Layout(STATE / "api", first_port=running.free_ports())) as layout:
        yield layout


@pytest.fixture(scope="session")
def services_with_guests() -> Iterator[Layout]:
    """The same with Open vSwitch, libvirt and QEMU: servers have guests; in a network namespace of its own."""
    if place := os.environ.get("NODROP_OPENSTACK_REAL"):
        yield Layout(Path(place), real=True)
        return
    _require(SERVICE_PROGRAMS | GUEST_PROGRAMS)
    with running.services(Layout(STATE / "real", real=True)) as layout:
        yield layout


def _require(programs: dict[str, str]) -> None:
    if os.geteuid():
        lacking("only root may do this")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    for program, package in programs.items():
        if not shutil.which(program, path=path):
            lacking(f"program {program} is not installed (package {package})")
    environment.install(Layout(STATE).venv)


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk for servers without a guest."""
    file = tmp_path_factory.mktemp("image") / "disk.raw"
    file.write_bytes(random.Random(8).randbytes(2**20))
    return file


@pytest.fixture
def nothing_left(services: Layout) -> Iterator[None]:
    """Make sure that the test leaves nothing in the cloud, and takes nothing away that was there."""
    before = contents(services)
    yield
    assert more(contents(services), before) == {}


FIGURES: list[str] = []
"""What tests measured, told at the end."""


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Keep a line for the end of the session."""
    return FIGURES.append


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Times and counts, which no test judges."""
    if FIGURES:
        terminalreporter.section("OpenStack: figures")
        for line in FIGURES:
            terminalreporter.write_line(line)
