"""`nodrop host`: host inventory and checks according to ETSI GS NFV-PER 001. One file per command."""

import click

from nodrop.cli.lazy import LazyGroup

COMMANDS: tuple[str, ...] = ("describe", "diff", "check", "exposure", "workload")


@click.group(
    cls=LazyGroup,
    names=COMMANDS,
    package="nodrop.cli.host",
    short_help="Describe and check this machine.",
)
def host() -> None:
    """Describe this machine, its free resources, and its readiness for a data plane.

    According to ETSI GS NFV-PER 001: the Compute Host Descriptor (clause 8.1), the recommendations (clause 7), what the
    virtualization stack exposes (annex A), and the workloads of a VNF (tables 1 to 3). These commands change nothing.
    """
