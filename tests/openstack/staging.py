"""Chains staged in a cloud of the tests, and the contents of that cloud, read independently of nodrop."""

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

from nodrop.config.load import build_config
from nodrop.model.cloud import CloudPlan
from nodrop.model.plan import Plan
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.stage.openstack.stage import OpenStackStage

MACS = ("02:aa:00:00:00:08", "02:aa:00:00:00:09")
RESOLVERS = Resolvers(inspect_ports=lambda _: MACS)
DEFAULT_KEYS = {
    "sut": "openstack",
    "ports": ["eth8", "eth9"],
    "openstack.flavor.name": "t-flavor",
    "openstack.flavor.ram": 64,
    "openstack.image.name": "t-image",
    "openstack.poll": "0.2s",
    "openstack.networks.left.physical_network": "physnet1",
    "openstack.networks.right.physical_network": "physnet2",
}
"""Default configuration keys; the tester's ports are not inspected."""

ISOLATED = (
    *("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"),
    *("sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"),
)
"""Command prefix that hides other labs and runs of this machine from cleanup."""


class Staged(NamedTuple):
    """A stage that is up, with its plan and steps."""

    stage: OpenStackStage
    plan: Plan
    steps: list[str]
    """Progress messages."""


def plan(layout: Layout, image: Path | str, **keys: Any) -> Plan:
    """Return a plan from keys with `__` for the dot, e.g. openstack__sriov; None omits a key of DEFAULT_KEYS."""
    values = DEFAULT_KEYS | {"openstack.cloud": "admin", "openstack.image.file": str(image)}
    values |= {key.replace("__", "."): value for key, value in keys.items()}
    keys = {key: value for key, value in values.items() if value is not None}
    with environment(layout):
        return build_plan(build_config((), keys), RESOLVERS, (0, 1))


@contextlib.contextmanager
def environment(layout: Layout, clouds: Path | None = None) -> Iterator[None]:
    """Make openstacksdk read the cloud's clouds.yaml."""
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
def staged(layout: Layout, run_plan: Plan, clouds: Path | None = None) -> Iterator[Staged]:
    """Bring the planned stage up, and remove it at the end. Raises StageError."""
    steps: list[str] = []
    with environment(layout, clouds):
        assert run_plan.cloud
        stage = OpenStackStage(run_plan.lab, run_plan.cloud, lambda text, *_: steps.append(text), tester_is_here=False)
        with stage:
            yield Staged(stage, run_plan, steps)


def cloud_of(run_plan: Plan) -> CloudPlan:
    """Return the cloud part of a plan."""
    assert run_plan.cloud
    return run_plan.cloud


def contents(layout: Layout, who: str = "admin") -> dict[str, set[tuple[str, str]]]:
    """Return names and ids of all resources of a user's project by kind, as openstacksdk lists them."""
    cloud = _cached_connection(layout, who)
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
def _cached_connection(layout: Layout, who: str) -> Any:
    """Return a cached connection."""
    return connection(layout, who)


def format_contents(inventory: Mapping[str, set[tuple[str, str]]]) -> str:
    """Format counts by kind: `2 networks, 1 servers`, or `nothing`."""
    return ", ".join(f"{len(there)} {kind}" for kind, there in inventory.items() if there) or "nothing"


def diff_contents(
    after: Mapping[str, set[tuple[str, str]]], before: Mapping[str, set[tuple[str, str]]]
) -> dict[str, Any]:
    """Return the resources in only one of the two, by kind."""
    return {kind: sorted(after[kind] ^ before[kind]) for kind in after if after[kind] ^ before[kind]}


def run_nodrop(layout: Layout, *words: str, clouds: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run nodrop with other runs and labs hidden; return the completed process."""
    return subprocess.run(
        [*ISOLATED, str(Path(sys.executable).with_name("nodrop")), *words],
        capture_output=True,
        text=True,
        env=command_environment(layout, clouds),
        stdin=subprocess.DEVNULL,
        timeout=180,
        check=False,
    )


def command_environment(layout: Layout, clouds: Path | None = None) -> dict[str, str]:
    """Return the environment of a process that connects to the cloud."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    return own | {"OS_CLIENT_CONFIG_FILE": str(clouds or layout.clouds), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}


def stage_until_killed(layout: Layout, run_plan: Plan, moment: str, clouds: Path | None = None) -> list[str]:
    """Stage in a separate process, and kill that with SIGKILL when it reports a step that contains `moment`.

    Returns: the reported steps.
    """
    assert run_plan.cloud
    plans = json.dumps({"lab": run_plan.lab.model_dump(mode="json"), "cloud": run_plan.cloud.model_dump(mode="json")})
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.openstack.staging"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=command_environment(layout, clouds),
        cwd=ROOT,
    )
    assert process.stdin and process.stdout
    process.stdin.write(plans)
    process.stdin.close()
    steps = []
    for line in process.stdout:
        steps.append(line.rstrip())
        if moment in line:
            break
    process.kill()
    process.wait()
    process.stdout.close()
    assert steps and moment in steps[-1], f"no step contains {moment!r}: {steps}"
    return steps


def _stage_from_stdin() -> None:
    from nodrop.model.lab_plan import LabPlan

    plans = json.load(sys.stdin)
    lab, cloud = LabPlan.model_validate(plans["lab"]), CloudPlan.model_validate(plans["cloud"])
    with OpenStackStage(lab, cloud, lambda text, *_: print(text, flush=True), tester_is_here=False):
        print("stage is up", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    _stage_from_stdin()
