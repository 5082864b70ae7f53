"""`nodrop vm`: VM Descriptors and placements according to ETSI GS NFV-PER 001. One file per command."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("check", "place", "config", "verify", "price")


@click.group(cls=LazyGroup, names=COMMANDS, package="nodrop.cli.vm", short_help="Check, place and configure VMs.")
def vm() -> None:
    """Check, place and configure VMs, and measure the cost of placement rules.

    According to ETSI GS NFV-PER 001: the VM Descriptor (clause 8.2), its match with Compute Host Descriptors (clause
    4), and the resulting VM Configuration. These commands do not start VMs.
    """
