"""Options grouped under headings in the help of a command."""

from typing import Any

import click


class GroupedOption(click.Option):
    """An option under a heading."""

    def __init__(self, *args: Any, group: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists options without a heading first, then the headings in order of appearance."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record:
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)
