"""`nodrop cleanup`: removal of labs on this machine and of resources in a cloud."""

import sys
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.cloud_options import (
    CloudInventory,
    cloud_options,
    delete_resources,
    list_cloud_if_reachable,
    select_cloud,
)
from nodrop.cli.status import BUSY, IDLE
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.run.machine_lock import MachineActivity


@click.command(short_help="Remove labs and cloud resources.")
@click.option("--force", is_flag=True, help="Do not ask for confirmation.")
@cloud_options
@click.option("--nfvbench", is_flag=True, help="In a cloud, also remove NFVbench's resources, by name.")
def cleanup(force: bool, nfvbench: bool, **cloud_flags: Any) -> int:
    """Remove persistent labs of this user, and the records of labs that failed.

    nodrop removes only its own labs, identified by the recorded pid and start time or by the command line of the lab's
    process. A run removes its own lab in any case. During a run, cleanup changes nothing and exits with status 1.

    If an option or a configuration names an OpenStack cloud, cleanup instead removes the resources in the project that
    carry nodrop's tag: floating IPs, VMs, routers, ports, networks, flavors and images; if only the environment names
    one (OS_CLOUD, OS_AUTH_URL), both. After an interruption, run cleanup again.
    """
    from nodrop.run.machine_lock import find_activity

    selection = select_cloud(**cloud_flags)
    activity = find_activity()
    if activity.runs:
        runs = "\n".join(f"  {run.text()}" for run in activity.runs)
        click.echo(f"nodrop: a run is measuring, nothing was removed:\n{runs}", err=True)
        return BUSY
    inventory = list_cloud_if_reachable(selection)
    local = None if selection and selection.is_explicit else activity
    if not _print_resources(local, inventory, nfvbench):
        return IDLE
    if force or _is_confirmed():
        if local:
            remove_labs(local)
        if inventory:
            delete_resources(inventory.cloud, inventory.tagged + (inventory.nfvbench if nfvbench else ()))
    else:
        click.echo("nothing was removed")
    return IDLE


def remove_labs(activity: "MachineActivity") -> None:
    """Remove all labs and their records."""
    from nodrop.stage import persistent_lab

    for name in activity.labs:
        persistent_lab.take_down(name)
        click.echo(f"lab {name} is down")
    for process in activity.unrecorded:
        persistent_lab.end_unrecorded(process)
        click.echo(f"lab of process {process.pid} is down")


def _print_resources(local: "MachineActivity | None", inventory: CloudInventory | None, nfvbench: bool) -> bool:
    """Print all labs and resources; returns whether any of them is to be removed."""
    from nodrop.cli.console import print_lines

    lines = list(local.lab_lines()) if local else []
    if local:
        click.echo("\n".join(lines) if lines else "no labs on this machine")
    if inventory is None:
        return bool(lines)
    print_lines(inventory.lines(), sys.stdout)
    if inventory.nfvbench and not nfvbench:
        click.echo("NFVbench's resources are not removed without --nfvbench")
    return bool(lines or inventory.tagged or (nfvbench and inventory.nfvbench))


def _is_confirmed() -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise ConfigError("cleanup: cannot ask for confirmation without a terminal; use --force")
    return click.confirm("Remove all of this?", default=False)
