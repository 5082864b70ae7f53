"""`nodrop host describe`: this machine as a Compute Host Descriptor."""

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodrop.cli.choice import Choice
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor

WIDTH = 100
"""Of a table in a file."""


@click.command()
@click.option(
    "--format",
    "form",
    type=Choice(["table", "yaml", "json", "xml"]),
    help="`table` is a summary; the other formats are complete and machine-readable.  [default: table; yaml with -o]",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Output file.")
@click.option("--root", type=click.Path(exists=True), metavar="DIR|TAR", help="Describe a machine from its capture.")
@click.option("--capture", type=click.Path(dir_okay=False), metavar="FILE.tar.gz", help="Also store all files read.")
@click.option("--eligible-cpus", metavar="LIST", help="CPUs that VMs may use, e.g. `2-15,34`.  [default: host policy]")
def describe(
    form: str | None, output: str | None, root: str | None, capture: str | None, eligible_cpus: str | None
) -> None:
    """Describe this machine and its free resources: its Compute Host Descriptor.

    According to ETSI GS NFV-PER 001 clause 8.1. Every value has source and confidence; unknown values have a reason.
    Takes less than two seconds, changes nothing, and needs root only for values that the kernel restricts.

    \b
    nodrop host describe
    nodrop host describe -o this-host.yaml
    nodrop host describe --capture machine.tar.gz     for a bug report; review it first
    nodrop host describe --root machine.tar.gz        describe it on another machine
    """
    from nodrop.descriptors import format_descriptor
    from nodrop.store import write_text

    host = _describe(root, capture, _parse_cpus(eligible_cpus))
    form = form or ("yaml" if output else "table")
    if form == "table" and not output:
        _print_table(host)
        return
    text = _format_table(host) if form == "table" else format_descriptor(host, form)  # type: ignore[arg-type]
    if output:
        write_text(Path(output), text)
    else:
        click.echo(text, nl=False)


def _describe(root: str | None, capture: str | None, cpus: tuple[int, ...] | None) -> "HostDescriptor":
    from nodrop.host import capture as captures
    from nodrop.host.describe import describe_host, open_local_source

    if root and capture:
        raise ConfigError("--root and --capture exclude each other: a capture is of this machine; omit one of them")
    if capture:
        return captures.capture_host(Path(capture), cpus)
    if root:
        with captures.open_capture(Path(root)) as source:
            return describe_host(source, cpus)
    return describe_host(open_local_source(), cpus)


def _parse_cpus(text: str | None) -> tuple[int, ...] | None:
    from nodrop.system.cpu_sets import parse_cpu_list

    if text is None:
        return None
    cpus = parse_cpu_list(text)
    if cpus is None:
        raise ConfigError(f"--eligible-cpus: invalid CPU list {text!r}; write e.g. 2-15,34")
    return cpus


def _print_table(host: "HostDescriptor") -> None:
    from rich.console import Group

    from nodrop.cli.console import print_renderable
    from nodrop.report.host.table import build_host_parts

    print_renderable(Group(*build_host_parts(host)), sys.stdout)


def _format_table(host: "HostDescriptor") -> str:
    from rich.console import Console

    from nodrop.report.host.table import build_host_parts

    out = io.StringIO()
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, emoji=False)
    for part in build_host_parts(host):
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
