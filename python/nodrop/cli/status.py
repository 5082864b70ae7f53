"""`nodrop status`: what of nodrop is on this machine, and in a cloud."""

import sys
from typing import TYPE_CHECKING, Any

import click

from nodrop import __version__
from nodrop.cli.cloud_options import cloud_options, look_if_it_answers, wanted_cloud

if TYPE_CHECKING:
    from nodrop.run.machine_lock import Found

IDLE, BUSY = 0, 1
"""Exit codes, as NFVbench's."""


@click.command()
@cloud_options
def status(**asked: Any) -> int:
    """Say what of nodrop is on this machine: runs that measure, servers, and labs left standing.

    Where an option, a configuration or the environment (OS_CLOUD, OS_AUTH_URL) names an OpenStack cloud, also what
    nodrop made in its project there and, apart, what NFVbench did. Ends with status 0 when no run measures here, 1 when
    one does.
    """
    from nodrop.cli.console import show_lines

    wanted = wanted_cloud(**asked)
    found = find()
    click.echo(f"nodrop {__version__}")
    click.echo("status: busy (run pending)" if found.runs else "status: idle")
    for presence in found.presences:
        click.echo(presence.text())
    for line in list(found.lab_lines()) or ["no lab stands"]:
        click.echo(line)
    if in_cloud := look_if_it_answers(wanted):
        show_lines(in_cloud.lines(), sys.stdout)
    return BUSY if found.runs else IDLE


def find() -> "Found":
    """Look for all of it."""
    from nodrop.run.machine_lock import look_around

    return look_around()
