"""`nodrop vm verify`: comparison of a running VM with its placement."""

from typing import TYPE_CHECKING

import click

from nodrop.cli.completion_types import FILE
from nodrop.errors import HostError, HostUndecidedError

if TYPE_CHECKING:
    from nodrop.model.deployment import PlacementAgreement

MARKS = {"as placed": "ok", "differs": "no", "unknown": "?"}


@click.command()
@click.argument("vm")
@click.option("--placement", "placed", type=FILE, required=True, help="Output of `nodrop vm place`.")
@click.pass_context
def verify(context: click.Context, vm: str, placed: str) -> None:
    """Compare a VM running on this machine with its placement.

    VM is a QEMU name or a process id. Threads are compared by their CPU affinity, memory by the nodes of its pages,
    devices by the open files of the process. Root has access to all of them.

    Exit status: 0 if everything is as placed, 9 if something differs, 10 if nothing does but some is unknown.
    """
    from nodrop.descriptors.placement import read_placement
    from nodrop.host.file_tree import FileTree
    from nodrop.host.running_vms import read_running_vm
    from nodrop.vm.config.verify import compare_deployment

    placement = read_placement(placed)
    running = read_running_vm(FileTree(), vm)
    lines = compare_deployment(placement, running)
    click.echo(f"VM {running.name or placement.vm}, process {running.pid}; placement of {placement.vm}\n")
    for line in _format_table(lines):
        click.echo(line)
    states = [each.state for each in lines]
    click.echo(
        f"\n{states.count('as placed')} as placed, {states.count('differs')} differ, {states.count('unknown')} unknown"
    )
    if "differs" in states:
        context.exit(HostError.exit_code)
    if "unknown" in states:
        context.exit(HostUndecidedError.exit_code)


def _format_table(lines: "tuple[PlacementAgreement, ...]") -> list[str]:
    rows = [("", "what", "as requested", "as deployed")]
    rows += [(MARKS[each.state], each.what, each.asked, each.found) for each in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join((*(row[column].ljust(widths[column]) for column in range(3)), row[3])).rstrip() for row in rows]
