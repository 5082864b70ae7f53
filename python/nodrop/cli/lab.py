"""`nodrop lab`: persistent labs, to inspect them or to measure in them repeatedly."""

import contextlib
import os
from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE, LAB
from nodrop.cli.search_options import parse_settings
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind

if TYPE_CHECKING:
    from nodrop.model.facts import StageFacts
    from nodrop.model.lab_plan import LabPlan

SUTS = tuple(sut for sut in get_args(SutKind) if sut not in ("ext", "openstack"))
NAME = click.option("--name", type=LAB, default="default", show_default=True, help="Name of the lab.")


@click.group(short_help="Manage persistent labs.")
def lab() -> None:
    """Manage persistent labs: tester ports and SUT in private network namespaces.

    `nodrop run` creates a lab and removes it at the end. A persistent lab can be inspected with tcpdump, ip or any
    other tool, and measured with `nodrop run --lab NAME`. Its namespaces have no name: they are invisible to the rest
    of the system and vanish with the lab's process.
    """


@lab.command()
@click.option(
    "--sut",
    type=Choice(SUTS),
    help="SUT between the tester ports. [default: vnf-l2]",
)
@click.option("--chains", type=int, help="Parallel chains of forwarders. [default: 1]")
@click.option("--hops", type=int, help="Forwarders per chain, 1 or 2. [default: 1]")
@click.option(
    "--networks",
    type=Choice(["auto", "ports", "vlan", "shared"]),
    help="Connection of the chains to the tester ports. [default: auto]",
)
@click.option("--routers", is_flag=True, default=None, help="Add a kernel router at both ends of every chain.")
@click.option("--idle-interfaces", type=int, help="Additional idle interfaces per VNF. [default: 0]")
@click.option("-c", "--config", "files", type=FILE, multiple=True, help="Configuration of `nodrop run`.")
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a configuration key, e.g. vnf.capacity=20kpps."
)
@NAME
def up(name: str, files: tuple[str, ...], settings: tuple[str, ...], **flags: Any) -> None:
    """Create a lab, the one of `nodrop run` with this configuration; flags take precedence."""
    from nodrop.stage import persistent_lab

    keys = parse_settings(settings, "vnf.capacity=20kpps")
    keys |= {key: value for key, value in flags.items() if value is not None}
    facts = persistent_lab.bring_up(_make_plan(files, keys), name).facts
    click.echo(f"lab {name} is up")
    _print_facts(facts)
    click.echo("\nTry:")
    for example in _list_examples(name, facts):
        click.echo(f"  {example}")


@lab.command()
@NAME
@click.option("--all", "every", is_flag=True, help="Remove all labs, also those without a record.")
def down(name: str, every: bool) -> None:
    """Remove a lab."""
    from nodrop.cli.cleanup import remove_labs
    from nodrop.run.machine_lock import find_activity
    from nodrop.stage import persistent_lab

    if every:
        remove_labs(find_activity())
        return
    was_up = persistent_lab.take_down(name)
    click.echo(f"lab {name} is down" if was_up else f"lab {name} was already down; its record is removed")


@lab.command()
def status() -> None:
    """List the labs."""
    from nodrop.stage import registry

    records = {name: record for name in registry.list_names() if (record := registry.read_record(name))}
    if not records:
        click.echo("no labs; create one with 'nodrop lab up'")
    for name, record in records.items():
        failure = record.describe_failure()
        click.echo(f"lab {name} has failed: {failure}" if failure else f"lab {name} is up")
        if not failure:
            _print_facts(record.facts)


@lab.command("exec", context_settings={"ignore_unknown_options": True})
@NAME
@click.argument("where", type=Choice(["tester", "sut", "left", "right"]))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, where: str, command: tuple[str, ...]) -> None:
    """Run COMMAND in a namespace of a lab: of the tester, the SUT or a router.

    \b
    nodrop lab exec sut -- tcpdump -ni sut0
    nodrop lab exec tester -- ip -s link
    """
    from nodrop.stage import namespace, persistent_lab, seccomp

    if namespace.join_namespaces(persistent_lab.find_namespace_pid(name, where)) == namespace.USER_NAMESPACE:
        seccomp.pretend_setgroups()
    # sysfs shows the interfaces of the namespace that it was mounted in; where a container forbids it, the host's stay.
    with contextlib.suppress(OSError):
        namespace.unshare_mounts()
        namespace.mount_sysfs("/sys")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise ConfigError(f"cannot execute {command[0]}: {error.strerror}") from error


def _print_facts(facts: "StageFacts") -> None:
    from nodrop.report.lab import format_lab

    for line in format_lab(facts):
        click.echo(f"  {line}")


def _list_examples(name: str, facts: "StageFacts") -> tuple[str, ...]:
    option = "" if name == "default" else f" --name {name}"
    sut_port = next(interface.name for interface in facts.interfaces if interface.namespace == "sut")
    return (
        f"nodrop lab exec{option} sut -- tcpdump -Z root -ni {sut_port}",
        f"nodrop lab exec{option} tester -- ip -s link",
        f"nodrop run --lab {name}",
        f"nodrop lab down{option}",
    )


def _make_plan(files: tuple[str, ...], keys: dict[str, Any]) -> "LabPlan":
    """Plan the lab that `nodrop run` would create with these files and keys. Raises ConfigError."""
    from nodrop import plan
    from nodrop.config.load import build_config

    config = build_config(files, keys)
    if config.sut not in SUTS:
        raise ConfigError(f"sut: a lab cannot contain {config.sut!r}; choose one of {', '.join(SUTS)}")
    return plan.build_plan(config).lab
