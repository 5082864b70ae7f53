"""`nodrop test`: test procedures. One file per procedure."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("failover", "instances", "migration", "patterns", "rfc2544", "scale-out", "y1564")


@click.group(cls=LazyGroup, names=COMMANDS, package="nodrop.cli.test", short_help="Carry out a test procedure.")
def test() -> None:
    """Carry out a test procedure: runs that results choose, with one report.

    Each run is stored like that of 'nodrop run', and all of them are a suite: `nodrop show`, `nodrop report` and the
    pages of `nodrop serve` show it again.
    """
