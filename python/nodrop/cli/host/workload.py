"""`nodrop host workload`: the workloads of a VNF, the relevant features, and their state on this host."""

import sys
from typing import TYPE_CHECKING

import click

from nodrop.cli.choice import Choice
from nodrop.cli.console import make_console, print_lines, print_renderable
from nodrop.cli.host.host_argument import name_host, read_or_describe_host

if TYPE_CHECKING:
    from nodrop.model.workload import NetworkFunction


@click.command()
@click.argument("vnf", required=False)
@click.option("--bare-metal", is_flag=True, help="Without hypervisor: the features of table 2 instead of table 3.")
@click.option("--host", "file", type=click.Path(dir_okay=False), metavar="FILE", help="Descriptor of another host.")
@click.option("--format", "form", type=Choice(["text", "json", "md"]), default="text", show_default=True)
def workload(vnf: str | None, bare_metal: bool, file: str | None, form: str) -> None:
    """Show the workloads of a VNF, and the features relevant to it.

    According to tables 1 to 3 of ETSI GS NFV-PER 001, with the layer responsible for each feature (hardware,
    hypervisor, guest, software, I/O device) and the results of this host's checks. Without a VNF, lists all VNFs.

    \b
    nodrop host workload BNG
    nodrop host workload s-gw --host other.json
    """
    from nodrop.host.workload import find_function

    if vnf:
        _print_workload(find_function(vnf), bare_metal, file, form)
    else:
        _print_functions(form)


def _print_workload(vnf: "NetworkFunction", bare_metal: bool, file: str | None, form: str) -> None:
    from nodrop.host.check import check_host
    from nodrop.host.workload import list_standings
    from nodrop.report.workload import FunctionOnHost, dump_workload, format_workload, render_workload_markdown

    host = read_or_describe_host(file)
    requested = FunctionOnHost(
        vnf, list_standings(vnf), {each.id: each for each in check_host(host)}, name_host(host, file), bare_metal
    )
    if form == "json":
        click.echo(dump_workload(requested))
    elif form == "md":
        click.echo(render_workload_markdown(requested), nl=False)
    else:
        print_lines(format_workload(requested, make_console(sys.stdout).width), sys.stdout)


def _print_functions(form: str) -> None:
    from nodrop.host.workload import list_functions
    from nodrop.report.workload import build_function_table, dump_functions, render_functions_markdown

    if form == "json":
        click.echo(dump_functions(list_functions()))
    elif form == "md":
        click.echo(render_functions_markdown(list_functions()), nl=False)
    else:
        print_renderable(build_function_table(list_functions()), sys.stdout)
        click.echo("\n?: headings of table 1 misaligned. The last five VNFs are mentioned in the text, not in table 1.")
