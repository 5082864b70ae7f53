"""`nodrop vm`: VM Descriptors and placements, after ETSI GS NFV-PER 001. One file per command."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("check", "place", "config", "verify", "price")


@click.group(
    cls=LazyGroup, names=COMMANDS, package="nodrop.cli.vm", short_help="Check, place, configure and price a VM."
)
def vm() -> None:
    """Say what a VM needs, where it fits, how to configure it there, and what each rule is worth.

    After ETSI GS NFV-PER 001: the VM Descriptor (clause 8.2), its match with Compute Host Descriptors (clause 4), and
    the VM Configuration that follows. Nothing here starts a VM.
    """
