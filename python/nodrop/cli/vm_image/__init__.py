"""`nodrop vm-image`: the image of the loopback VM. One file per command."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("build",)


@click.group(
    cls=LazyGroup, names=COMMANDS, package="nodrop.cli.vm_image", short_help="Build the image of the loopback VM."
)
def vm_image() -> None:
    """Build the image of the loopback VM, which replaces a VNF in a cloud."""
