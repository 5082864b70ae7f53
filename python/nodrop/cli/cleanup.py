"""`nodrop cleanup`: take away what nodrop left on this machine, and in a cloud."""

import sys
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.cloud_options import InCloud, cloud_options, look_if_it_answers, wanted_cloud
from nodrop.cli.cloud_options import take_away as take_away_in_cloud
from nodrop.cli.status import BUSY, IDLE, find
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.run.machine_lock import Found


@click.command()
@click.option("--force", is_flag=True, help="Do not ask.")
@cloud_options
@click.option("--nfvbench", is_flag=True, help="In a cloud, also what NFVbench left there, by its names.")
def cleanup(force: bool, nfvbench: bool, **asked: Any) -> int:
    """Take away what nodrop left on this machine: labs left standing, and what is on record of fallen ones.

    Only what nodrop is known to have made for this user is touched: by pid and start time on record, or by the command
    line of a lab's process. A run takes away what it made by itself, whatever ends it. While a run measures, nothing is
    changed, and it ends with status 1.

    Where an option or a configuration names an OpenStack cloud, instead what carries nodrop's mark in its project
    there: floating addresses, VMs, routers, ports, networks, flavors and images; where the environment does (OS_CLOUD,
    OS_AUTH_URL), both. If it is ended halfway, the next clean-up does the rest.
    """
    wanted = wanted_cloud(**asked)
    found = find()
    if found.runs:
        runs = "\n".join(f"  {run.text()}" for run in found.runs)
        click.echo(f"nodrop: a run is measuring, nothing is cleaned up:\n{runs}", err=True)
        return BUSY
    in_cloud = look_if_it_answers(wanted)
    here = None if wanted and wanted.is_written else found
    if not _shown(here, in_cloud, nfvbench):
        return IDLE
    if force or _agreed():
        if here:
            take_away(here)
        if in_cloud:
            take_away_in_cloud(in_cloud.cloud, in_cloud.own + (in_cloud.nfvbench if nfvbench else ()))
    else:
        click.echo("nothing is changed")
    return IDLE


def take_away(found: "Found") -> None:
    """Take down every lab found, and forget it."""
    from nodrop.stage import persistent_lab

    for name in found.labs:
        persistent_lab.down(name)
        click.echo(f"lab {name} is down")
    for process in found.unrecorded:
        persistent_lab.end_unrecorded(process)
        click.echo(f"lab of process {process.pid} is down")


def _shown(here: "Found | None", in_cloud: InCloud | None, nfvbench: bool) -> bool:
    """Print what there is; whether any of it is to go."""
    from nodrop.cli.console import show_lines

    lines = list(here.lab_lines()) if here else []
    if here:
        click.echo("\n".join(lines) if lines else "nothing of nodrop is here to clean up")
    if in_cloud is None:
        return bool(lines)
    show_lines(in_cloud.lines(), sys.stdout)
    if in_cloud.nfvbench and not nfvbench:
        click.echo("NFVbench's stays, without --nfvbench")
    return bool(lines or in_cloud.own or (nfvbench and in_cloud.nfvbench))


def _agreed() -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise ConfigError("a clean-up asked, there is no terminal to ask whether it is meant; say so: --force")
    return click.confirm("Take all of this away?", default=False)
