"""`nodrop cleanup`: take away what nodrop left on this machine."""

import sys
from typing import TYPE_CHECKING

import click

from nodrop.cli.status import BUSY, IDLE, find
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.presence import Found


@click.command()
@click.option("--force", is_flag=True, help="Do not ask.")
def cleanup(force: bool) -> int:
    """Take away what nodrop left on this machine: labs left standing, and what is on record of fallen ones.

    Only what nodrop is known to have made for this user is touched: by pid and start time on record, or by the command
    line of a lab's process. A run takes away what it made by itself, whatever ends it. While a run measures, nothing is
    changed, and it ends with status 1.
    """
    found = find()
    if found.runs:
        runs = "\n".join(f"  {run.text()}" for run in found.runs)
        click.echo(f"nodrop: a run is measuring, nothing is cleaned up:\n{runs}", err=True)
        return BUSY
    lines = list(found.lab_lines())
    if not lines:
        click.echo("nothing of nodrop is here to clean up")
        return IDLE
    click.echo("\n".join(lines))
    if force or _agreed():
        take_away(found)
    else:
        click.echo("nothing is changed")
    return IDLE


def take_away(found: "Found") -> None:
    """Take down every lab found, and forget it."""
    from nodrop.stage import standing  # noqa: PLC0415

    for name in found.labs:
        standing.down(name)
        click.echo(f"lab {name} is down")
    for process in found.unrecorded:
        standing.end_unrecorded(process)
        click.echo(f"lab of process {process.pid} is down")


def _agreed() -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise ConfigError("a clean-up asked, there is no terminal to ask whether it is meant; say so: --force")
    return click.confirm("Take all of this away?", default=False)
