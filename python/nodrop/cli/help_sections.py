"""Options grouped under headings in the help of a command, the rare ones on request only."""

from collections.abc import Sequence
from typing import Any

import click

HELP_ALL = "nodrop.help_all"
"""Key of the context's metadata: show the options of all headings."""


class GroupedOption(click.Option):
    """An option under a heading."""

    def __init__(self, *args: Any, group: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help shows its examples and common options; `--help-all` shows all, under their headings."""

    def __init__(self, *args: Any, common: Sequence[str], **attributes: Any) -> None:
        """Take the names of the arguments of common options, in the order of the help."""
        super().__init__(*args, **attributes)
        self.common = common
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show all options.",
            )
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage, the examples and the options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: those without a heading first, then the headings in order of appearance."""
        parameters = self.get_params(ctx)
        if not ctx.meta.get(HELP_ALL):
            by_name = {parameter.name: parameter for parameter in parameters}
            parameters = [by_name[name] for name in (*self.common, "help_all", "help") if name in by_name]
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record:
                heading = getattr(parameter, "group", "Options") if ctx.meta.get(HELP_ALL) else "Options"
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _show_all(context: click.Context, _parameter: click.Parameter, is_set: bool) -> None:
    if is_set and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()
