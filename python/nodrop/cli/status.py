"""`nodrop status`: what of nodrop is on this machine."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from nodrop import __version__

if TYPE_CHECKING:
    from nodrop.presence import Presence
    from nodrop.stage.process import Process
    from nodrop.stage.registry import StandingLab

IDLE, BUSY = 0, 1
"""Exit codes, as NFVbench's."""


class Found(NamedTuple):
    """What of nodrop is here."""

    presences: "tuple[Presence, ...]"
    labs: "dict[str, StandingLab]"
    """Every lab on record, by name."""
    unrecorded: "tuple[Process, ...]"
    """Processes of labs whose record is gone."""

    @property
    def runs(self) -> "list[Presence]":
        """The runs that measure."""
        return [presence for presence in self.presences if presence.role == "run"]

    def lab_lines(self) -> Iterator[str]:
        """Every lab in a line."""
        for name, lab in self.labs.items():
            ending = lab.ending()
            standing = f"is up: {lab.facts.sut}, process {lab.holder.pid}"
            yield f"lab {name} {f'has fallen down: {ending}' if ending else standing}"
        for process in self.unrecorded:
            yield f"lab without a record, process {process.pid}"


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


def find() -> Found:
    """Look for all of it."""
    from nodrop.presence import presences  # noqa: PLC0415
    from nodrop.stage import registry, standing  # noqa: PLC0415

    labs = {name: lab for name in registry.names() if (lab := registry.read(name))}
    return Found(presences(), labs, standing.unrecorded())
