"""Groups of commands that have a file each."""

import importlib
from collections.abc import Sequence
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands that are imported when they are asked for, so that `nodrop --version` does not wait for them."""

    def __init__(self, *args: Any, names: Sequence[str], package: str, **attributes: Any) -> None:
        """Take the commands' names, in the order a newcomer needs them, and the package that has a file for each."""
        super().__init__(*args, **attributes)
        self.names, self.package = names, package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All of them."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, from the file of that name."""
        if cmd_name not in self.names:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"{self.package}.{name}"), name)
        assert isinstance(command, click.Command)
        return command
