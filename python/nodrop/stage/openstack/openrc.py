"""An openrc file read as what it says, without a shell: assignments to OS_... variables."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nodrop.errors import ConfigError

ASSIGNMENT = re.compile(
    r"(?:^|(?<=\s))(?P<name>OS_[A-Z0-9_]+)=(?P<value>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s'\";&|])*)"
)
"""A word of a shell that sets a variable."""
STATEMENT = re.compile(r"^\s*(?:export\s|OS_[A-Z0-9_]+=)")
EXPANDED = re.compile(r"[$`]")
"""What a shell would put something else in the place of, where it stands in no single quotes."""


class Openrc(NamedTuple):
    """What a file sets."""

    values: Mapping[str, str]
    unresolved: tuple[str, ...]
    """Variables set to what only a shell can tell, as `$OTHER` or what a command prints."""


def read_openrc(path: str) -> Openrc:
    """What a file sets. Raises ConfigError where it cannot be read, or sets nothing of OpenStack."""
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"openrc file {path}: asked to be read, {why}; name the file that sets OS_AUTH_URL") from None
    found = parse_openrc(text)
    if not found.values:
        raise ConfigError(
            f"openrc file {path}: it sets no OS_... variable to a plain value; lines like "
            "`export OS_AUTH_URL=https://cloud.example:5000/v3` are expected"
        )
    return found


def parse_openrc(text: str) -> Openrc:
    """What a text of shell assignments sets; of several of a name the last, as in a shell."""
    values: dict[str, str] = {}
    unresolved: dict[str, None] = {}
    for line in filter(STATEMENT.match, text.splitlines()):
        for found in ASSIGNMENT.finditer(line):
            name, value = found["name"], _value(found["value"])
            values.pop(name, None)
            unresolved.pop(name, None)
            if value is None:
                unresolved[name] = None
            elif value:
                values[name] = value
    return Openrc(values, tuple(unresolved))


def _value(written: str) -> str | None:
    """Without quotes; None: a shell would have to say."""
    if EXPANDED.search(re.sub(r"'[^']*'|\\.", "", written)):
        return None
    return "".join(shlex.split(written))
