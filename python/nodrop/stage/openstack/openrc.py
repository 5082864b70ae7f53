"""Parser of openrc files without a shell: assignments to OS_... variables."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nodrop.errors import ConfigError

ASSIGNMENT = re.compile(
    r"(?:^|(?<=\s))(?P<name>OS_[A-Z0-9_]+)=(?P<value>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s'\";&|])*)"
)
"""A shell word that sets a variable."""
STATEMENT = re.compile(r"^\s*(?:export\s|OS_[A-Z0-9_]+=)")
EXPANDED = re.compile(r"[$`]")
"""Characters that a shell expands outside single quotes."""


class Openrc(NamedTuple):
    """The assignments of a file."""

    values: Mapping[str, str]
    unresolved: tuple[str, ...]
    """Variables whose value needs a shell, e.g. `$OTHER` or the output of a command."""


def read_openrc(path: str) -> Openrc:
    """Read an openrc file. Raises ConfigError if it is unreadable, or sets no variable of OpenStack."""
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise ConfigError(
            f"openrc file {path}: cannot read it: {reason}; name the file that sets OS_AUTH_URL"
        ) from None
    settings = parse_openrc(text)
    if not settings.values:
        raise ConfigError(
            f"openrc file {path}: sets no OS_... variable to a plain value; expected lines like `export "
            "OS_AUTH_URL=https://cloud.example:5000/v3`"
        )
    return settings


def parse_openrc(text: str) -> Openrc:
    """Parse shell assignments; the last assignment of a name wins, as in a shell."""
    values: dict[str, str] = {}
    unresolved: dict[str, None] = {}
    for line in filter(STATEMENT.match, text.splitlines()):
        for match in ASSIGNMENT.finditer(line):
            name, value = match["name"], _parse_value(match["value"])
            values.pop(name, None)
            unresolved.pop(name, None)
            if value is None:
                unresolved[name] = None
            elif value:
                values[name] = value
    return Openrc(values, tuple(unresolved))


def _parse_value(text: str) -> str | None:
    """Return a value without quotes; None if it needs a shell."""
    if EXPANDED.search(re.sub(r"'[^']*'|\\.", "", text)):
        return None
    return "".join(shlex.split(text))
