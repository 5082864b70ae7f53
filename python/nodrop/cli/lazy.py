"""Groups of commands with one file per command."""

import difflib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click


class LazyGroup(click.Group):
    """Imports a command on first use, so that `nodrop --version` does not wait for the others."""

    def __init__(
        self, *args: Any, names: Sequence[str] | Mapping[str, Sequence[str]], package: str, **attributes: Any
    ) -> None:
        """Take the names of the commands, in the order of the help and by heading if any, and the package with them."""
        super().__init__(*args, **attributes)
        self.sections = names if isinstance(names, Mapping) else {"Commands": names}
        self.names = [name for section in self.sections.values() for name in section]
        self.package = package

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; the error for an unknown one names the nearest."""
        if args and not args[0].startswith("-") and args[0] not in self.names:
            nearest = difflib.get_close_matches(args[0], self.names, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"name one of {', '.join(self.names)}"
            raise click.UsageError(f"No such command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.names))
        for heading, names in self.sections.items():
            with formatter.section(heading):
                commands = ((name, self.get_command(ctx, name)) for name in names)
                rows = [(name.ljust(width), command.get_short_help_str(100)) for name, command in commands if command]
                formatter.write_dl(rows)
