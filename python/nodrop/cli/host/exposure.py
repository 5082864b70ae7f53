"""`nodrop host exposure`: what libvirt, OpenStack and Kubernetes show of this host."""

import functools
import os
import sys

import click

from nodrop.cli.console import console, show_lines

PROGRAM_TIMEOUT_S = 3.0


@click.command()
@click.option("--libvirt-uri", metavar="URI", help="The libvirt daemon, if not the system's. [LIBVIRT_DEFAULT_URI]")
@click.option("--node", metavar="NAME", help="This host's name at the orchestrator, if not its host name.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
def exposure(libvirt_uri: str | None, node: str | None, form: str) -> None:
    """Say what the stack shows of this host to those who place VMs on it.

    Table A.1 of ETSI GS NFV-PER 001: which features have to be shown at the hypervisor and at the orchestrator, what
    was in 2014, and what libvirt, OpenStack and Kubernetes show here and now. They are asked as a client would, read
    only and in bounded time; who cannot be asked is unknown, which is no `no`.

    OpenStack is asked with the cloud that OS_CLOUD, OS_AUTH_URL or a clouds.yaml names (pip install
    'nodrop[openstack]'), Kubernetes through kubectl and its kubeconfig.
    """
    from nodrop.host.exposure import FEATURES, libvirt, query_exposures
    from nodrop.host.inputs import run_program
    from nodrop.report.exposure import exposure_json, exposure_lines, exposure_markdown

    who = node or os.uname().nodename
    uri = libvirt_uri or os.environ.get("LIBVIRT_DEFAULT_URI") or libvirt.SYSTEM
    stacks = query_exposures(functools.partial(run_program, within_s=PROGRAM_TIMEOUT_S), who, uri)
    if form == "json":
        click.echo(exposure_json(FEATURES, stacks, who))
    elif form == "md":
        click.echo(exposure_markdown(FEATURES, stacks, who), nl=False)
    else:
        show_lines(exposure_lines(FEATURES, stacks, who, console(sys.stdout).width), sys.stdout)
