"""`nodrop status`: what of nodrop is on this machine."""

from typing import TYPE_CHECKING

import click

from nodrop import __version__

if TYPE_CHECKING:
    from nodrop.presence import Found

IDLE, BUSY = 0, 1
"""Exit codes, as NFVbench's."""


@click.command()
def status() -> int:
    """Say what of nodrop is on this machine: runs that measure, servers, and labs left standing.

    Ends with status 0 when no run measures, 1 when one does.
    """
    found = find()
    click.echo(f"nodrop {__version__}")
    click.echo("status: busy (run pending)" if found.runs else "status: idle")
    for presence in found.presences:
        click.echo(presence.text())
    for line in list(found.lab_lines()) or ["no lab stands"]:
        click.echo(line)
    return BUSY if found.runs else IDLE


def find() -> "Found":
    """Look for all of it."""
    from nodrop.presence import look_around  # noqa: PLC0415

    return look_around()
