"""`nodrop host exposure`: host features exposed by libvirt, OpenStack and Kubernetes."""

import functools
import os
import sys

import click

from nodrop.cli.choice import Choice
from nodrop.cli.console import make_console, print_lines

PROGRAM_TIMEOUT_S = 3.0


@click.command()
@click.option("--libvirt-uri", metavar="URI", help="libvirt daemon.  [default: LIBVIRT_DEFAULT_URI or the system's]")
@click.option("--node", metavar="NAME", help="Name of this host in the orchestrator.  [default: host name]")
@click.option("--format", "form", type=Choice(["text", "json", "md"]), default="text", show_default=True)
def exposure(libvirt_uri: str | None, node: str | None, form: str) -> None:
    """Show which host features the virtualization stack exposes to VM placement.

    Table A.1 of ETSI GS NFV-PER 001: which features hypervisor and orchestrator have to expose, which were exposed in
    2014, and what libvirt, OpenStack and Kubernetes expose on this host now. Queries are read-only and time-limited;
    an unavailable component is unknown, which is not `no`.

    OpenStack is queried in the cloud selected by OS_CLOUD, OS_AUTH_URL or a clouds.yaml (pip install
    'nodrop[openstack]'), Kubernetes through kubectl and its kubeconfig.
    """
    from nodrop.host.exposure import FEATURES, libvirt, query_exposures
    from nodrop.host.inputs import run_program
    from nodrop.report.exposure import dump_exposure, format_exposure, render_exposure_markdown

    host_name = node or os.uname().nodename
    uri = libvirt_uri or os.environ.get("LIBVIRT_DEFAULT_URI") or libvirt.SYSTEM
    stacks = query_exposures(functools.partial(run_program, within_s=PROGRAM_TIMEOUT_S), host_name, uri)
    if form == "json":
        click.echo(dump_exposure(FEATURES, stacks, host_name))
    elif form == "md":
        click.echo(render_exposure_markdown(FEATURES, stacks, host_name), nl=False)
    else:
        print_lines(format_exposure(FEATURES, stacks, host_name, make_console(sys.stdout).width), sys.stdout)
