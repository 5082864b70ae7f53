"""`nodrop host check`: readiness of a host, check by check."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nodrop.cli.choice import Choice
from nodrop.cli.console import make_console, print_lines
from nodrop.cli.host.host_argument import name_host, read_or_describe_host
from nodrop.errors import ConfigError, HostError, HostUndecidedError

if TYPE_CHECKING:
    from nodrop.model.hostcheck import CheckProfile, HostCheck


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--profile",
    type=Choice(["data-plane", "control-plane"]),
    default="data-plane",
    show_default=True,
    help="Intended use; control planes have fewer requirements.",
)
@click.option("--host", "file", type=click.Path(dir_okay=False), metavar="FILE", help="Descriptor of another host.")
@click.option("--format", "form", type=Choice(["text", "json", "md"]), default="text", show_default=True)
@click.pass_context
def check(context: click.Context, ids: tuple[str, ...], profile: "CheckProfile", file: str | None, form: str) -> None:
    """Check this host against the recommendations of ETSI GS NFV-PER 001 for data planes.

    H1 to H14 concern the hardware (clause 7.1), Y1 to Y9 the hypervisor (clause 7.2), A1 to A12 the configuration
    (clause 6.1, annex D), R1 to R18 the facts to record (RFC 8204 section 3.3). Each check shows its evidence, why it
    matters, how to fix it and how to verify the fix. Unknown never counts as pass. Nothing is changed.

    With IDs, e.g. `nodrop host check A2 A3`, only these checks are shown, in full.

    `nodrop doctor` checks whether `nodrop run` works here; this command checks whether the machine suits a fast data
    plane.

    Exit status: 0 if all required checks pass, 9 if one fails, 10 if none fails but some are unknown.
    """
    from nodrop.host.check import check_host

    host = read_or_describe_host(file)
    checks = _select_checks(check_host(host, profile), ids)
    _print_checks(checks, name_host(host, file), profile, form, in_full=bool(ids))
    if any(each.failed for each in checks):
        context.exit(HostError.exit_code)
    if any(each.open for each in checks):
        context.exit(HostUndecidedError.exit_code)


def _select_checks(checks: "Sequence[HostCheck]", ids: tuple[str, ...]) -> "tuple[HostCheck, ...]":
    by_id = {each.id: each for each in checks}
    for name in ids:
        if name.upper() not in by_id:
            raise ConfigError(f"unknown check {name}; available: {' '.join(by_id)}")
    return tuple(by_id[name.upper()] for name in ids) if ids else tuple(checks)


def _print_checks(
    checks: "Sequence[HostCheck]", host_name: str, profile: "CheckProfile", form: str, in_full: bool
) -> None:
    from nodrop.report.check import dump_checks, format_check_details, format_checks, render_check_markdown

    if form == "json":
        click.echo(dump_checks(checks, host_name, profile))
    elif form == "md":
        click.echo(render_check_markdown(checks, host_name, profile), nl=False)
    else:
        width = make_console(sys.stdout).width
        lines = format_check_details(checks, width) if in_full else format_checks(checks, host_name, profile, width)
        print_lines(lines, sys.stdout)
