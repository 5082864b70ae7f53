"""`nodrop status`: active processes and labs on this machine, and resources in a cloud."""

import sys
from typing import Any

import click

from nodrop import __version__
from nodrop.cli.cloud_options import cloud_options, list_cloud_if_reachable, select_cloud

IDLE, BUSY = 0, 1
"""Exit codes, like NFVbench's."""


@click.command(short_help="List runs, servers and labs.")
@cloud_options
def status(**cloud_flags: Any) -> int:
    """List the runs, servers and persistent labs of nodrop on this machine.

    If an option, a configuration or the environment (OS_CLOUD, OS_AUTH_URL) names an OpenStack cloud, also list the
    resources of nodrop and of NFVbench in the project. Exits with status 1 during a run, otherwise 0.
    """
    from nodrop.cli.console import print_lines
    from nodrop.run.machine_lock import find_activity

    selection = select_cloud(**cloud_flags)
    activity = find_activity()
    click.echo(f"nodrop {__version__}")
    click.echo("status: busy (run pending)" if activity.runs else "status: idle")
    for process in activity.processes:
        click.echo(process.text())
    for line in list(activity.lab_lines()) or ["no labs"]:
        click.echo(line)
    if inventory := list_cloud_if_reachable(selection):
        print_lines(inventory.lines(), sys.stdout)
    return BUSY if activity.runs else IDLE
