"""`nodrop host diff`: differences between two hosts, or one host at two times."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import DIR, RESULT
from nodrop.cli.console import make_console, print_renderable
from nodrop.cli.host.host_argument import read_or_describe_host
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor

EXIT_DIFFERENT = 1
"""As of diff and cmp."""
EPILOG = """
\b
Examples:
  nodrop host diff before.yaml after.yaml
  nodrop host diff before.yaml                 changes of this machine since then
  nodrop host diff 20260131T120000Z-3f9a2c latest --format json
"""


@click.command(epilog=EPILOG)
@click.argument("a", type=RESULT)
@click.argument("b", type=RESULT, required=False)
@click.option("--all", "momentary", is_flag=True, help="Include volatile values: use, free memory, clocks.")
@click.option("--format", "form", type=Choice(["text", "json"]), default="text", show_default=True)
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
@click.pass_context
def diff(context: click.Context, /, a: str, b: str | None, results_dir: str, **flags: Any) -> None:
    """Show the differences between two hosts: identity, capabilities, settings, resources.

    A and B are descriptors (`nodrop host describe -o FILE`; YAML, JSON or XML), or runs, whose results contain the host
    they were measured on: a result.json, a run id, `latest`. B defaults to this machine as it is now.

    Values known for one host only are listed separately and are not differences, nor is the time of capture.

    Exit status: 0 if nothing differs, 1 if something does, 2 if one of them cannot be read.
    """
    from rich.console import Group

    from nodrop.analysis.host_diff import diff_hosts
    from nodrop.report.host.diff import dump_host_diff, format_host_diff

    host_a, host_b = _read_host(a, results_dir), _read_host(b, results_dir) if b else _describe_this_machine()
    changes = diff_hosts(host_a[0], host_b[0], momentary=flags["momentary"])
    names = host_a[1], host_b[1]
    if flags["form"] == "json":
        click.echo(dump_host_diff(*names, changes), nl=False)
    else:
        print_renderable(Group(*format_host_diff(*names, changes, make_console(sys.stdout).width)), sys.stdout)
    if any(each.kind != "known" for each in changes):
        context.exit(EXIT_DIFFERENT)


def _read_host(reference: str, results_dir: str) -> "tuple[HostDescriptor, str]":
    """Return the host of a file or a run, and its title."""
    from nodrop import store

    file = Path(reference)
    if reference == "-" or (file.is_file() and not _is_result(file)):
        host = read_or_describe_host(reference)
        return host, _format_title(host, reference)
    result = store.load(reference, results_dir)
    if result.facts is None or result.facts.chd is None:
        raise ConfigError(
            f"{reference}: run {result.run_id}, of an older release, has no description of its host; "
            "name a later run, or a file of `nodrop host describe`"
        )
    return result.facts.chd, _format_title(result.facts.chd, f"run {result.run_id}")


def _describe_this_machine() -> "tuple[HostDescriptor, str]":
    host = read_or_describe_host(None)
    return host, _format_title(host, "this machine")


def _is_result(file: Path) -> bool:
    """Return whether the file is a run: results start with their version."""
    with file.open("rb") as opened:
        return b'"schema_version"' in opened.read(200)


def _format_title(host: "HostDescriptor", reference: str) -> str:
    name = host.host.hostname.value or host.host.id.value or "a host without a name"
    return f"{name}, as of {host.captured_at} ({reference})"
