"""Clouds that tests stage in, each started once for all of them.

NODROP_OPENSTACK names the directory of a set-up that stands already (`python -m tests.openstack.services up`), which is
then taken instead, and left standing.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import lacking
from tests.openstack.services import environment, running
from tests.openstack.services.layout import STATE, Layout

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
    with running.services(Layout(STATE / "api", first_port=15000)) as layout:
        yield layout


@pytest.fixture(scope="session")
def services_with_guests() -> Iterator[Layout]:
    """The same with Open vSwitch, libvirt and QEMU: servers have guests; in a network namespace of its own."""
    if place := os.environ.get("NODROP_OPENSTACK_REAL"):
        yield Layout(Path(place), real=True)
        return
    _require(SERVICE_PROGRAMS | GUEST_PROGRAMS)
    with running.services(Layout(STATE / "real", first_port=15100, real=True)) as layout:
        yield layout


def _require(programs: dict[str, str]) -> None:
    if os.geteuid():
        lacking("only root may do this")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    for program, package in programs.items():
        if not shutil.which(program, path=path):
            lacking(f"program {program} is not installed (package {package})")
    environment.install(Layout(STATE).venv)
