"""`nodrop host`: what this machine is, after ETSI GS NFV-PER 001. One file per command."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("describe", "diff", "check", "exposure", "workload")


@click.group(
    cls=LazyGroup,
    names=COMMANDS,
    package="nodrop.cli.host",
    short_help="Describe this machine and check whether it is ready.",
)
def host() -> None:
    """Say what this machine is, what of it is free, and whether it is ready for a data plane.

    After ETSI GS NFV-PER 001: the Compute Host Descriptor (clause 8.1), the recommendations (clause 7), what its
    management shows of it (annex A), and which workloads a VNF has (tables 1 to 3). Nothing here changes anything.
    """
