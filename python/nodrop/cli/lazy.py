"""Groups of commands with one file per command."""

import importlib
from collections.abc import Sequence
from typing import Any

import click


class LazyGroup(click.Group):
    """Imports a command on first use, so that `nodrop --version` does not wait for the others."""

    def __init__(self, *args: Any, names: Sequence[str], package: str, **attributes: Any) -> None:
        """Take the names of the commands, in the order of the help, and the package with their files."""
        super().__init__(*args, **attributes)
        self.names, self.package = names, package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command from its file."""
        if cmd_name not in self.names:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"{self.package}.{name}"), name)
        assert isinstance(command, click.Command)
        return command
