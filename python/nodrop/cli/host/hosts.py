"""The host that a command is about: this machine, or one described in a file."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor


def the_host(file: str | None) -> "HostDescriptor":
    """What a file describes; without one, this machine as it is now."""
    if file:
        from nodrop.descriptors import read_chd  # noqa: PLC0415

        return read_chd(Path(file))
    from nodrop.host.describe import describe, this_machine  # noqa: PLC0415

    return describe(this_machine())


def named(host: "HostDescriptor") -> str:
    """The host by its name."""
    return host.host.hostname.value or host.host.id.value or "this host"
