"""`nodrop vm place`: the host that a VM fits on, and the exact resources there."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError, PlacementError
from nodrop.model.placement import Policy

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor
    from nodrop.model.placement import PlacementResult
    from nodrop.vm.place import HostReserve, PlacementOptions

FORMS = ("text", "json", "yaml")
SUFFIXES = (".yaml", ".yml", ".json", ".xml")
EPILOG = """
\b
Examples:
  nodrop vm place --vmd bng.yaml                          check whether it fits on this machine
  nodrop vm place --vmd bng.yaml --host hosts/            on the best of all descriptors in a directory
  nodrop vm place --vmd bng.yaml --vmd bng.yaml --vmd dpi.yaml --host hosts/ -o placed/
  nodrop vm place --vmd bng.yaml --host hosts/ --ranking scores.yaml --policy spread
"""


@click.command(epilog=EPILOG, short_help="Find a host and its resources for a VM.")
@click.option(
    "--vmd", "vmds", type=FILE, required=True, multiple=True, help="VM Descriptor; repeat for several VMs, in order."
)
@click.option(
    "--host",
    "hosts",
    type=FILE,
    multiple=True,
    metavar="CHD",
    help="Host descriptor, or a directory of them.  [default: this machine]",
)
@click.option(
    "--policy",
    type=Choice(get_args(Policy)),
    default="best-fit",
    show_default=True,
    help="How to choose among hosts that fit.",
)
@click.option(
    "--ranking",
    default="worst-case",
    show_default=True,
    metavar="NAME|FILE",
    help="How processors compare: worst-case, like:CHD, results[:LABEL], or a table.",
)
@click.option(
    "--reserve",
    default="",
    metavar="KEY=N,...",
    help="Resources reserved for each host.  [default: cores=1,memory=1GiB]",
)
@click.option(
    "--min-guarantee", default="100%", show_default=True, metavar="SHARE", help="Share of the KPIs to guarantee."
)
@click.option("--accept-unknown", is_flag=True, help="Warn about unknown host facts instead of rejecting the host.")
@click.option("--all-or-nothing", is_flag=True, help="Write nothing unless every VM fits.")
@click.option("--results-dir", default="results", metavar="DIR", help="Directory of runs for --ranking results.")
@click.option("--format", "form", type=Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("-o", "--output", type=FILE, metavar="DIR", help="Write placements, and the changed host descriptors.")
def place(vmds: tuple[str, ...], hosts: tuple[str, ...], form: str, output: str | None, **flags: Any) -> None:
    """Find the host that a VM fits on, and its cores, pages and ports there.

    A host has to meet every requirement of the descriptor; for each rejected host all reasons are listed. Several VMs
    are placed one after another. Nothing is started, and no host is changed. Policies and the treatment of unknown
    facts are explained in docs/concepts/placement.md.

    Exit status: 5 if a VM fits on no host.
    """
    options = _parse_policy(flags)
    descriptors = _read_hosts(hosts)
    results, after = _place_all(vmds, descriptors, options, in_full=form != "text")
    _print_results(results, descriptors, form)
    missing = [each.vm for each in results if each.placement is None]
    if output and not (missing and flags["all_or_nothing"]):
        _write(Path(output), results, descriptors, after)
    if missing:
        outcome = "; nothing was written" if output and flags["all_or_nothing"] else ""
        raise PlacementError(
            f"no host fits {', '.join(missing)} ({len(descriptors)} checked){outcome}; see the reasons above"
        )


def _parse_policy(flags: dict[str, Any]) -> "PlacementOptions":
    from nodrop.cli.vm.ranking_argument import parse_ranking
    from nodrop.units import parse_percent
    from nodrop.vm.place import PlacementOptions

    try:
        share = parse_percent(flags["min_guarantee"]) / 100
    except ValueError as error:
        raise ConfigError(f"--min-guarantee: {error}") from None
    if not 0 <= share <= 1:
        raise ConfigError(f"--min-guarantee: {flags['min_guarantee']} is not from 0 % to 100 %; write e.g. 75%")
    return PlacementOptions(
        policy=flags["policy"],
        ranking=parse_ranking(flags["ranking"], flags["results_dir"]),
        reserve=_parse_reserve(flags["reserve"]),
        guarantee_min_ratio=share,
        unknown_passes=flags["accept_unknown"],
    )


def _parse_reserve(text: str) -> "HostReserve":
    """Parse `cores=1,memory=2GiB`. Raises ConfigError."""
    from nodrop.units import parse_bytes, parse_count
    from nodrop.vm.place import HostReserve

    reserve = HostReserve()
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, _, value = part.partition("=")
        try:
            if key == "cores":
                reserve = reserve._replace(core_count=parse_count(value))
            elif key == "memory":
                reserve = reserve._replace(memory_bytes=parse_bytes(value))
            else:
                raise ConfigError(f"--reserve: unknown key in {part}; write e.g. cores=1,memory=2GiB")
        except ValueError as error:
            raise ConfigError(f"--reserve: {key}: {error}") from None
    if min(reserve) < 0:
        raise ConfigError(f"--reserve: {text} contains a negative value; write 0 or more")
    return reserve


def _read_hosts(requested: tuple[str, ...]) -> "dict[str, HostDescriptor]":
    """Read the hosts by unique name. Raises ConfigError for duplicates."""
    from nodrop.cli.host.host_argument import read_or_describe_host
    from nodrop.vm.place.inventory import identify_host

    descriptors: dict[str, HostDescriptor] = {}
    files: dict[str, str] = {}
    for file in _list_files(requested) if requested else [None]:
        host = read_or_describe_host(file)
        name = identify_host(host)
        if name in descriptors:
            raise ConfigError(f"--host: {file} and {files[name]} both describe host {name}; omit the older one")
        descriptors[name], files[name] = host, file or "this machine"
    return descriptors


def _list_files(requested: tuple[str, ...]) -> Iterator[str]:
    for each in requested:
        if not Path(each).is_dir():
            yield each
            continue
        inside = sorted(str(path) for path in Path(each).iterdir() if path.suffix in SUFFIXES and path.is_file())
        if not inside:
            raise ConfigError(
                f"--host: directory {each} has no descriptor (file ending in {' '.join(SUFFIXES)}); name another one"
            )
        yield from inside


def _place_all(
    files: tuple[str, ...], hosts: "dict[str, HostDescriptor]", options: "PlacementOptions", in_full: bool
) -> "tuple[list[PlacementResult], dict[str, HostDescriptor]]":
    """Place VMs one after another; return results and changed hosts. `in_full`: all violations of every host."""
    from nodrop.descriptors import add_fingerprints, read_vmd
    from nodrop.vm.place import build_inventory, choose_host, explain_decision, subtract_placement

    rooms = {name: build_inventory(host) for name, host in hosts.items()}
    results: list[PlacementResult] = []
    names: dict[str, int] = {}
    after: dict[str, HostDescriptor] = {}
    for file in files:
        vmd, remarks = read_vmd(file)
        for remark in remarks:
            click.echo(f"nodrop: {file}: {remark}", err=True)
        names[vmd.name] = names.get(vmd.name, 0) + 1
        name = vmd.name if names[vmd.name] == 1 else f"{vmd.name}#{names[vmd.name]}"
        result = explain_decision(choose_host(vmd, tuple(rooms.values()), options, name), in_full=in_full)
        if result.placement:
            host = result.placement.host_id
            after[host] = add_fingerprints(subtract_placement(rooms[host].host, result.placement))
            rooms[host] = build_inventory(after[host])
        results.append(result)
    return results, after


def _print_results(results: "Sequence[PlacementResult]", hosts: "dict[str, HostDescriptor]", form: str) -> None:
    if form != "text":
        from nodrop.descriptors import format_descriptor
        from nodrop.model.placement import PlacementBatch

        click.echo(format_descriptor(PlacementBatch(results=tuple(results)), form), nl=False)  # type: ignore[arg-type]
        return
    from rich.console import Group

    from nodrop.cli.console import make_console, print_renderable
    from nodrop.report.placement import format_placement

    for number, each in enumerate(results):
        if number:
            click.echo()
        host = hosts[each.placement.host_id] if each.placement else None
        print_renderable(Group(*format_placement(each, host, make_console(sys.stdout).width)), sys.stdout)


def _write(
    directory: Path,
    results: "Sequence[PlacementResult]",
    hosts: "dict[str, HostDescriptor]",
    after: "dict[str, HostDescriptor]",
) -> None:
    """Write a file for each placed VM and each changed host. Raises ConfigError."""
    from nodrop import store
    from nodrop.descriptors import format_descriptor

    store.require_writable(directory, "-o")
    for each in results:
        if each.placement:
            _write_file(
                directory / f"{_to_file_name(each.vm)}.placement.yaml", format_descriptor(each.placement, "yaml")
            )
    called = [host.host.hostname.value for host in hosts.values()]
    for name, host in after.items():
        hostname = host.host.hostname.value
        unique = hostname if hostname and called.count(hostname) == 1 else name
        _write_file(directory / f"{_to_file_name(unique)}.chd.json", format_descriptor(host, "json"))


def _write_file(file: Path, text: str) -> None:
    from nodrop import store

    store.write_text(file, text)
    click.echo(f"nodrop: wrote {file}", err=True)


def _to_file_name(name: str) -> str:
    """Return a name valid for a file."""
    return "".join(char if char.isalnum() or char in "-._" else "-" for char in name).lstrip(".") or "unnamed"
