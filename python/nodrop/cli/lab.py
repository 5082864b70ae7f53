"""`nodrop lab`: the private lab left standing, to look into it or to measure in it again and again."""

import os
from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.completion_types import LAB
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind

if TYPE_CHECKING:
    from nodrop.model.facts import StageFacts
    from nodrop.model.lab_plan import LabPlan

NAME = click.option("--name", type=LAB, default="default", show_default=True, help="Name of the lab.")


@click.group()
def lab() -> None:
    """Keep the lab standing: tester ports and SUT in network namespaces of their own.

    `nodrop run` brings up such a lab for itself and takes it down again. One that is left standing can be looked into
    with tcpdump, ip or any other tool, and measured with `nodrop run --lab NAME`. It has no name the system knows:
    nothing outside nodrop sees it, and it is gone when its process is.
    """


@lab.command()
@click.option(
    "--sut",
    type=click.Choice([sut for sut in get_args(SutKind) if sut not in ("ext", "openstack")]),
    default="vnf-l2",
    show_default=True,
    help="What stands between the tester's ports.",
)
@click.option("--chains", type=int, default=1, show_default=True, help="Parallel chains of forwarders.")
@click.option("--hops", type=int, default=1, show_default=True, help="Forwarders in line in each chain, 1 or 2.")
@click.option(
    "--networks",
    type=click.Choice(["auto", "ports", "vlan", "shared"]),
    default="auto",
    show_default=True,
    help="How chains reach the tester's ports.",
)
@click.option("--routers", is_flag=True, help="A router of the kernel at both ends of every chain.")
@click.option("--idle-interfaces", type=int, default=0, show_default=True, help="Further, silent ones of every VNF.")
@NAME
def up(name: str, **keys: Any) -> None:
    """Bring a lab up and leave it standing."""
    from nodrop.stage import persistent_lab

    facts = persistent_lab.up(_plan(keys), name).facts
    click.echo(f"lab {name} is up")
    _print_facts(facts)
    click.echo("\nTry:")
    for example in _examples(name, facts):
        click.echo(f"  {example}")


@lab.command()
@NAME
@click.option("--all", "every", is_flag=True, help="Every lab, also one without a record.")
def down(name: str, every: bool) -> None:
    """Take a lab down."""
    from nodrop.cli import cleanup, status
    from nodrop.stage import persistent_lab

    if every:
        cleanup.take_away(status.find())
        return
    stood = persistent_lab.down(name)
    click.echo(f"lab {name} is down" if stood else f"lab {name} did not stand any more; its record is cleared away")


@lab.command()
def status() -> None:
    """Say which labs stand."""
    from nodrop.stage import registry

    records = {name: record for name in registry.names() if (record := registry.read(name))}
    if not records:
        click.echo("no lab stands; bring one up: nodrop lab up")
    for name, record in records.items():
        ending = record.ending()
        click.echo(f"lab {name} has fallen down: {ending}" if ending else f"lab {name} is up")
        if not ending:
            _print_facts(record.facts)


@lab.command("exec", context_settings={"ignore_unknown_options": True})
@NAME
@click.argument("where", type=click.Choice(["tester", "sut", "left", "right"]))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, where: str, command: tuple[str, ...]) -> None:
    """Run COMMAND inside a lab, on the tester's side, the SUT's, or in a router's in the path.

    \b
    nodrop lab exec sut -- tcpdump -ni sut0
    nodrop lab exec tester -- ip -s link
    """
    from nodrop.stage import namespace, persistent_lab, seccomp

    if namespace.join(persistent_lab.entrance(name, where)) == namespace.USER_NAMESPACE:
        seccomp.pretend_setgroups()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise ConfigError(f"command {command[0]} asked: {error.strerror}; name one that is on PATH") from error


def _print_facts(facts: "StageFacts") -> None:
    from nodrop.report.lab import lab_lines

    for line in lab_lines(facts):
        click.echo(f"  {line}")


def _examples(name: str, facts: "StageFacts") -> tuple[str, ...]:
    option = "" if name == "default" else f" --name {name}"
    sut_port = next(interface.name for interface in facts.interfaces if interface.namespace == "sut")
    return (
        f"nodrop lab exec{option} sut -- tcpdump -Z root -ni {sut_port}",
        f"nodrop lab exec{option} tester -- ip -s link",
        f"nodrop run --lab {name}",
        f"nodrop lab down{option}",
    )


def _plan(keys: dict[str, Any]) -> "LabPlan":
    """The lab that `nodrop run` with these keys would bring up for itself."""
    from nodrop import plan
    from nodrop.config.load import load

    return plan.build(load((), keys)).lab
