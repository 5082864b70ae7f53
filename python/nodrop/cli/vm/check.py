"""`nodrop vm check`: a VM's requirements, and whether its descriptor is valid."""

import sys

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.cli.console import print_renderable

EPILOG = """
\b
Examples:
  nodrop vm check examples/vm/bng.yaml
  nodrop vm check examples/vm/etsi-8.2.2.4.txt --format yaml > vm.yaml     convert the standard's sample
  ssh orchestrator cat vm.json | nodrop vm check -
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=FILE)
@click.option(
    "--format",
    "form",
    type=Choice(["text", "yaml", "json"]),
    default="text",
    show_default=True,
    help="Summary, or the descriptor in canonical form.",
)
def check(file: str, form: str) -> None:
    """Show the requirements of a VM, and ambiguities in its descriptor.

    FILE is a VM Descriptor (ETSI GS NFV-PER 001 clause 8.2): YAML or JSON, or the form printed in clause 8.2.2.4,
    unchanged. `-` is standard input. With --format yaml or json remarks go to standard error.

    Exit status: 0 if it is valid, with or without remarks, and 2 if it is not.
    """
    from nodrop.descriptors import format_descriptor, read_vmd
    from nodrop.report.vmd import render_requirements

    vmd, remarks = read_vmd(file)
    if form == "text":
        print_renderable(render_requirements(vmd, [str(each) for each in remarks]), sys.stdout)
        return
    for each in remarks:
        click.echo(f"nodrop: remark: {file}: {each}", err=True)
    click.echo(format_descriptor(vmd, "json" if form == "json" else "yaml"), nl=False)
