"""What is in a cloud, for `nodrop status` and `nodrop cleanup`: which cloud is meant, and tables of what is there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.search_options import key_and_value, value_of
from nodrop.errors import NodropError, StageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.config.schema import Config
    from nodrop.model.cloud import CloudLogin, CloudResource
    from nodrop.stage.openstack.cleanup import Left
    from nodrop.stage.openstack.login import Cloud
    from nodrop.stage.openstack.nfvbench import NfvbenchNames

Command = TypeVar("Command", bound=Callable[..., Any])
OPTIONS = (
    click.option("--cloud", metavar="NAME", help="A cloud of clouds.yaml."),
    click.option("--openrc", metavar="FILE", help="A cloud by its openrc file."),
    click.option(
        "-c", "--config", "files", type=FILE, multiple=True, help="The cloud a configuration names, in either form."
    ),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any key of the configuration."),
    click.option("--label", metavar="LABEL", help="Only what was made under this openstack.label."),
)


def cloud_options(command: Command) -> Command:
    """Give a command the options that say which cloud is meant."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


class Wanted(NamedTuple):
    """A cloud that is to be asked."""

    login: "CloudLogin"
    is_written: bool
    """Whether an option or a file names it, and not the environment alone."""
    label: str | None
    names: "NfvbenchNames"


class InCloud(NamedTuple):
    """What is there."""

    cloud: "Cloud"
    own: "tuple[Left, ...]"
    """Made by nodrop."""
    nfvbench: "tuple[Left, ...]"
    """NFVbench's, by its names."""

    @property
    def place(self) -> str:
        """Which cloud, and which project."""
        return f"cloud {self.cloud.name}, project {self.cloud.project_name}"

    def lines(self) -> Iterator["RenderableType"]:
        """All of it."""
        from rich.text import Text

        if not self.own:
            yield Text(f"{self.place}: nothing that nodrop made")
        else:
            yield Text(f"{self.place}: {_count(self.own)} that nodrop made")
            yield _table(self.own)
        if self.nfvbench:
            yield Text(f"{self.place}: {_count(self.nfvbench)} of NFVbench's, by their names")
            yield _table(self.nfvbench)


def wanted_cloud(
    cloud: str | None, openrc: str | None, files: Sequence[str], settings: Sequence[str], label: str | None
) -> Wanted | None:
    """The cloud that options, else a configuration, else the environment name; None where nobody names one."""
    from nodrop.stage.openstack.login import is_named

    if not (cloud or openrc or files or settings or is_named()):
        return None
    from nodrop.model.cloud import CloudLogin
    from nodrop.stage.openstack.nfvbench import NfvbenchNames

    names, asked, is_asked_for = NfvbenchNames(), CloudLogin(), False
    if files or settings:
        config = _config(files, settings)
        names = _names(config)
        asked = CloudLogin(cloud=config.openstack.cloud, openrc=config.openstack.openrc)
        is_asked_for = config.sut == "openstack"
    if cloud or openrc:
        asked = CloudLogin(cloud=cloud, openrc=openrc)
    is_written = bool(asked.cloud or asked.openrc or is_asked_for)
    return Wanted(asked, is_written, label, names) if is_written or is_named() else None


def _config(files: Sequence[str], settings: Sequence[str]) -> "Config":
    from nodrop.config.load import load

    pairs = [key_and_value("--set", text, "openstack.cloud=NAME") for text in settings]
    return load(files, {key: value_of(value) for key, value in pairs})


def look(wanted: Wanted) -> InCloud:
    """Log in and look. Raises ConfigError and StageError."""
    from nodrop.stage.openstack import cleanup
    from nodrop.stage.openstack.login import connect
    from nodrop.stage.openstack.nfvbench import left_by_nfvbench

    cloud = connect(wanted.login, lambda text: click.echo(f"nodrop: {text}", err=True))
    listed = cleanup.everything(cloud)
    return InCloud(cloud, cleanup.marked(listed, wanted.label), left_by_nfvbench(listed, wanted.names))


def look_if_it_answers(wanted: Wanted | None) -> InCloud | None:
    """The same; a cloud that only the environment names and that cannot be asked is told of, and left out."""
    if wanted is None:
        return None
    try:
        return look(wanted)
    except NodropError as error:
        if wanted.is_written:
            raise
        click.echo(f"nodrop: the cloud of the environment (OS_...) is left out: {error}", err=True)
        return None


def take_away(cloud: "Cloud", left: "Iterable[Left]") -> None:
    """Take it away and say how far that is. Raises StageError with all that stays."""
    from nodrop.stage.openstack import cleanup

    try:
        kept = cleanup.take_away(cloud, [each.resource for each in left], _say)
    except KeyboardInterrupt:
        click.echo("\nended halfway; nodrop cleanup again does the rest", err=True)
        raise
    if kept:
        lines = "".join(f"\n  {_said(each.resource)} {each.resource.id}: {each.why}" for each in kept)
        raise StageError(f"cloud {cloud.name}: asked to take all of it away, {len(kept)} stayed:{lines}")


def _say(text: str, done_count: int, count: int) -> None:
    click.echo(f"[{done_count:>{len(str(count))}}/{count}] {text}")


def _said(resource: "CloudResource") -> str:
    return f"{resource.kind.replace('_', ' ')} {resource.name}"


def _count(left: "Sequence[Left]") -> str:
    return f"{len(left)} resource{'' if len(left) == 1 else 's'}"


def _table(left: "Sequence[Left]") -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("type", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("id", no_wrap=True)
    table.add_column("chain", justify="right", no_wrap=True)
    table.add_column("since (UTC)", no_wrap=True)
    for each in left:
        kind = "floating IP" if each.resource.kind == "floating_ip" else each.resource.kind.replace("_", " ")
        table.add_row(kind, each.resource.name, each.resource.id, each.chain, each.since)
    return table


def _names(config: "Config") -> "NfvbenchNames":
    """What NFVbench, with this configuration, calls things."""
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.stage.openstack.nfvbench import NfvbenchNames

    written = NfvbenchConfig.model_validate(config.nfvbench)
    inner, edge = written.internal_networks, written.edge_networks
    networks = (inner.left.name, inner.right.name, inner.middle.name, written.idle_networks.name)
    routers = (edge.left.router_name, edge.right.router_name)
    return NfvbenchNames(
        written.loop_vm_name, tuple(filter(None, networks)), tuple(filter(None, routers)), written.flavor_type
    )
