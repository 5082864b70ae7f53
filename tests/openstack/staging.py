"""Chains staged in a cloud that tests started, and everything that is in it, asked of its services by another way."""

import contextlib
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.openstack.services.layout import ROOT, Layout
from tests.openstack.services.register import connection

from nodrop.config.load import load
from nodrop.model.cloud import CloudPlan
from nodrop.model.plan import Plan
from nodrop.plan import build
from nodrop.plan.resolvers import Resolvers
from nodrop.stage.openstack.stage import OpenStackStage

MACS = ("02:aa:00:00:00:08", "02:aa:00:00:00:09")
HERE = Resolvers(inspect_ports=lambda _: MACS)
BASE = {
    "sut": "openstack",
    "ports": ["eth8", "eth9"],
    "openstack.flavor.name": "t-flavor",
    "openstack.flavor.ram": 64,
    "openstack.image.name": "t-image",
    "openstack.poll": "0.2s",
    "openstack.networks.left.physical_network": "physnet1",
    "openstack.networks.right.physical_network": "physnet2",
}
"""What is asked for where a test says nothing else; the tester's ports are not looked at."""

APART = (
    *("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"),
    *("sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"),
)
"""What else is on this machine is not to be cleaned up by tests."""


class Staged(NamedTuple):
    """A stage that stands, and how it went."""

    stage: OpenStackStage
    plan: Plan
    steps: list[str]
    """What it told on the way."""


def plan(layout: Layout, image: Path | str, **keys: Any) -> Plan:
    """Keys with `__` for the dot, as openstack__sriov; None leaves out one of BASE."""
    asked = BASE | {"openstack.cloud": "admin", "openstack.image.file": str(image)}
    asked |= {key.replace("__", "."): value for key, value in keys.items()}
    with environment(layout):
        return build(load((), {key: value for key, value in asked.items() if value is not None}), HERE, (0, 1))


@contextlib.contextmanager
def environment(layout: Layout, clouds: Path | None = None) -> Iterator[None]:
    """The cloud's clouds.yaml is the one that is found."""
    before = {key: value for key, value in os.environ.items() if key.startswith("OS_")}
    for key in before:
        del os.environ[key]
    os.environ["OS_CLIENT_CONFIG_FILE"] = str(clouds or layout.clouds)
    try:
        yield
    finally:
        del os.environ["OS_CLIENT_CONFIG_FILE"]
        os.environ |= before


@contextlib.contextmanager
def staged(layout: Layout, asked: Plan, clouds: Path | None = None) -> Iterator[Staged]:
    """What is planned, as it stands; taken away at the end. Raises StageError."""
    steps: list[str] = []
    with environment(layout, clouds):
        assert asked.cloud
        stage = OpenStackStage(asked.lab, asked.cloud, lambda text, *_: steps.append(text), tester_is_here=False)
        with stage:
            yield Staged(stage, asked, steps)


def cloud_of(asked: Plan) -> CloudPlan:
    """What is to stand."""
    assert asked.cloud
    return asked.cloud


def contents(layout: Layout, who: str = "admin") -> dict[str, set[tuple[str, str]]]:
    """Everything a user's project has, by kind: names and ids, from openstacksdk's own lists."""
    cloud = _asking(layout, who)
    project = cloud.current_project_id
    every = {"all_tenants": True} if who == "admin" else {}
    kinds: Mapping[str, Any] = {
        "servers": cloud.compute.servers(details=True, **every),
        "server groups": cloud.compute.server_groups(),
        "flavors": cloud.compute.flavors(),
        "images": cloud.image.images(),
        "networks": cloud.network.networks(project_id=project),
        "subnets": cloud.network.subnets(project_id=project),
        "ports": cloud.network.ports(project_id=project),
        "routers": cloud.network.routers(project_id=project),
        "floating IPs": cloud.network.ips(project_id=project),
    }
    return {kind: {(each.name or "", each.id) for each in listed} for kind, listed in kinds.items()}


@functools.cache
def _asking(layout: Layout, who: str) -> Any:
    """One connection for all that is asked."""
    return connection(layout, who)


def counted(inventory: Mapping[str, set[tuple[str, str]]]) -> str:
    """`nothing`, or `2 networks, 1 servers`."""
    return ", ".join(f"{len(there)} {kind}" for kind, there in inventory.items() if there) or "nothing"


def more(after: Mapping[str, set[tuple[str, str]]], before: Mapping[str, set[tuple[str, str]]]) -> dict[str, Any]:
    """What is in one and not in the other, either way."""
    return {kind: sorted(after[kind] ^ before[kind]) for kind in after if after[kind] ^ before[kind]}


def nodrop(layout: Layout, *words: str, clouds: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """What the command says, where it sees no runs and labs but its own."""
    return subprocess.run(
        [*APART, str(Path(sys.executable).with_name("nodrop")), *words],
        capture_output=True,
        text=True,
        env=command_environment(layout, clouds),
        stdin=subprocess.DEVNULL,
        timeout=180,
        check=False,
    )


def command_environment(layout: Layout, clouds: Path | None = None) -> dict[str, str]:
    """For a process that asks the cloud."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    return own | {"OS_CLIENT_CONFIG_FILE": str(clouds or layout.clouds), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}


def killed_at(layout: Layout, asked: Plan, moment: str, clouds: Path | None = None) -> list[str]:
    """Stage in a process of its own and kill that, with SIGKILL, as it says a step that has `moment` in it.

    Returns: what it had said.
    """
    assert asked.cloud
    told = json.dumps({"lab": asked.lab.model_dump(mode="json"), "cloud": asked.cloud.model_dump(mode="json")})
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.openstack.staging"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=command_environment(layout, clouds),
        cwd=ROOT,
    )
    assert process.stdin and process.stdout
    process.stdin.write(told)
    process.stdin.close()
    said = []
    for line in process.stdout:
        said.append(line.rstrip())
        if moment in line:
            break
    process.kill()
    process.wait()
    process.stdout.close()
    assert said and moment in said[-1], f"{moment!r} was not said: {said}"
    return said


def _stage_from_stdin() -> None:
    from nodrop.model.lab_plan import LabPlan

    told = json.load(sys.stdin)
    lab, cloud = LabPlan.model_validate(told["lab"]), CloudPlan.model_validate(told["cloud"])
    with OpenStackStage(lab, cloud, lambda text, *_: print(text, flush=True), tester_is_here=False):
        print("stands", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    _stage_from_stdin()
