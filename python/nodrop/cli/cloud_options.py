"""Options that select a cloud, and tables of its resources, for `nodrop status` and `nodrop cleanup`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.search_options import parse_settings
from nodrop.errors import NodropError, StageError
from nodrop.units import format_count

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.config.schema import Config
    from nodrop.model.cloud import CloudLogin, CloudResource
    from nodrop.stage.openstack.cleanup import Leftover, NfvbenchNames
    from nodrop.stage.openstack.login import Cloud

Command = TypeVar("Command", bound=Callable[..., Any])
OPTIONS = (
    click.option("--cloud", metavar="NAME", help="Cloud in clouds.yaml."),
    click.option("--openrc", metavar="FILE", help="openrc file of a cloud."),
    click.option("-c", "--config", "files", type=FILE, multiple=True, help="Configuration that names a cloud."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a configuration key."),
    click.option("--label", metavar="LABEL", help="Only resources with this openstack.label."),
)


def cloud_options(command: Command) -> Command:
    """Add the options that select a cloud."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


class CloudSelection(NamedTuple):
    """A selected cloud."""

    login: "CloudLogin"
    is_explicit: bool
    """Whether an option or a file names the cloud, not only the environment."""
    label: str | None
    names: "NfvbenchNames"


class CloudInventory(NamedTuple):
    """Resources of nodrop and NFVbench in a cloud."""

    cloud: "Cloud"
    tagged: "tuple[Leftover, ...]"
    """Created by nodrop."""
    nfvbench: "tuple[Leftover, ...]"
    """With names that NFVbench uses."""

    @property
    def place(self) -> str:
        """The cloud and the project."""
        return f"cloud {self.cloud.name}, project {self.cloud.project_name}"

    def lines(self) -> Iterator["RenderableType"]:
        """Yield the tables of all resources."""
        from rich.text import Text

        if not self.tagged:
            yield Text(f"{self.place}: no nodrop resources")
        else:
            yield Text(f"{self.place}: {_format_counts(self.tagged)} created by nodrop")
            yield _build_table(self.tagged)
        if self.nfvbench:
            yield Text(f"{self.place}: {_format_counts(self.nfvbench)} with NFVbench's names")
            yield _build_table(self.nfvbench)


def select_cloud(
    cloud: str | None, openrc: str | None, files: Sequence[str], settings: Sequence[str], label: str | None
) -> CloudSelection | None:
    """Return the cloud of the options, the configuration or the environment, in this order of precedence, if any."""
    from nodrop.stage.openstack.login import is_named

    if not (cloud or openrc or files or settings or is_named()):
        return None
    from nodrop.model.cloud import CloudLogin
    from nodrop.stage.openstack.cleanup import NfvbenchNames

    names, login, is_sut = NfvbenchNames(), CloudLogin(), False
    if files or settings:
        config = _load_config(files, settings)
        names = _derive_nfvbench_names(config)
        login = CloudLogin(cloud=config.openstack.cloud, openrc=config.openstack.openrc)
        is_sut = config.sut == "openstack"
    if cloud or openrc:
        login = CloudLogin(cloud=cloud, openrc=openrc)
    is_explicit = bool(login.cloud or login.openrc or is_sut)
    return CloudSelection(login, is_explicit, label, names) if is_explicit or is_named() else None


def _load_config(files: Sequence[str], settings: Sequence[str]) -> "Config":
    from nodrop.config.load import build_config

    return build_config(files, parse_settings(settings, "openstack.cloud=NAME"))


def list_cloud(selection: CloudSelection) -> CloudInventory:
    """Log in and list the resources. Raises ConfigError and StageError."""
    from nodrop.stage.openstack import cleanup
    from nodrop.stage.openstack.cleanup import find_nfvbench_leftovers
    from nodrop.stage.openstack.login import connect_cloud

    cloud = connect_cloud(selection.login, lambda text: click.echo(f"nodrop: {text}", err=True))
    listed = cleanup.list_project(cloud)
    tagged = cleanup.select_tagged(listed, selection.label)
    return CloudInventory(cloud, tagged, find_nfvbench_leftovers(listed, selection.names))


def list_cloud_if_reachable(selection: CloudSelection | None) -> CloudInventory | None:
    """List the resources; skip, with a warning, a cloud of the environment that does not respond."""
    if selection is None:
        return None
    try:
        return list_cloud(selection)
    except NodropError as error:
        if selection.is_explicit:
            raise
        click.echo(f"nodrop: skipping the cloud of the environment (OS_...): {error}", err=True)
        return None


def delete_resources(cloud: "Cloud", leftovers: "Iterable[Leftover]") -> None:
    """Delete resources and print the progress. Raises StageError with the remaining ones."""
    from nodrop.stage.openstack import rollback

    try:
        remaining = rollback.delete_resources(cloud, [each.resource for each in leftovers], _print_progress)
    except KeyboardInterrupt:
        click.echo("\nincomplete; run 'nodrop cleanup' again", err=True)
        raise
    if remaining:
        lines = "".join(f"\n  {_format_name(each.resource)} {each.resource.id}: {each.reason}" for each in remaining)
        raise StageError(f"cloud {cloud.name}: {_format_counts(remaining)} could not be deleted:{lines}")


def _print_progress(text: str, done_count: int, count: int) -> None:
    click.echo(f"[{done_count:>{len(str(count))}}/{count}] {text}")


def _format_name(resource: "CloudResource") -> str:
    return f"{resource.kind.replace('_', ' ')} {resource.name}"


def _format_counts(resources: "Sequence[Any]") -> str:
    return format_count(len(resources), "resource")


def _build_table(leftovers: "Sequence[Leftover]") -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("type", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("id", no_wrap=True)
    table.add_column("chain", justify="right", no_wrap=True)
    table.add_column("since (UTC)", no_wrap=True)
    for each in leftovers:
        kind = "floating IP" if each.resource.kind == "floating_ip" else each.resource.kind.replace("_", " ")
        table.add_row(kind, each.resource.name, each.resource.id, each.chain, each.created_at)
    return table


def _derive_nfvbench_names(config: "Config") -> "NfvbenchNames":
    """Return the names that NFVbench uses with this configuration."""
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.stage.openstack.cleanup import NfvbenchNames

    nfvbench = NfvbenchConfig.model_validate(config.nfvbench)
    inner, edge = nfvbench.internal_networks, nfvbench.edge_networks
    networks = (inner.left.name, inner.right.name, inner.middle.name, nfvbench.idle_networks.name)
    routers = (edge.left.router_name, edge.right.router_name)
    return NfvbenchNames(
        nfvbench.loop_vm_name, tuple(filter(None, networks)), tuple(filter(None, routers)), nfvbench.flavor_type
    )
