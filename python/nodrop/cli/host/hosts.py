"""The host that a command is about: this machine, or one described in a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.chd import HostDescriptor


def the_host(file: str | None) -> "HostDescriptor":
    """What a file describes; without one, this machine as it is now."""
    from nodrop.host.describe import describe, this_machine  # noqa: PLC0415

    return _read(Path(file)) if file else describe(this_machine())


def named(host: "HostDescriptor") -> str:
    """The host by its name."""
    return host.host.hostname.value or host.host.id.value or "this host"


def _read(file: Path) -> "HostDescriptor":
    from nodrop.model.chd import HostDescriptor  # noqa: PLC0415

    try:
        return HostDescriptor.model_validate(json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        raise ConfigError(f"a host descriptor asked, {file}: {error}") from error
