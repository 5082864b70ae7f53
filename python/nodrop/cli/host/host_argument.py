"""The host of a command: this machine, or one described in a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor


def read_or_describe_host(file: str | None) -> "HostDescriptor":
    """Return the host of a file, with a warning if it was edited; without a file, this machine."""
    if file:
        from nodrop.descriptors import list_altered, read_chd

        host = read_chd(file)
        for half in list_altered(host):
            click.echo(f"nodrop: warning: {file}: its {half} were changed after they were written", err=True)
        return host
    from nodrop.host.describe import describe_host, open_local_source

    return describe_host(open_local_source())


def name_host(host: "HostDescriptor", file: str | None) -> str:
    """Return the host's name; without one, that of its file."""
    return host.host.hostname.value or (Path(file).stem if file else "this host")
