"""The reference of the command line, generated from the click commands (`scripts/docs`)."""

import html
import re
from collections.abc import Iterator

import click

from nodrop.cli import COMMANDS, nodrop

MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "|*_`[]"}
"""Characters with a meaning in Markdown or its tables, as entities."""


def make_pages() -> dict[str, str]:
    """Return a page for each command, with its subcommands."""
    top = click.Context(nodrop, info_name="nodrop", **nodrop.context_settings)
    pages = {}
    for name in COMMANDS:
        command = nodrop.get_command(top, name)
        assert command is not None
        pages[name] = "\n".join(describe(command, click.Context(command, top, info_name=name), "#"))
    return pages


def describe(command: click.Command, context: click.Context, mark: str) -> Iterator[str]:
    """Yield the lines about a command, then those about its subcommands."""
    yield f"{mark} {context.command_path}\n"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    yield from _format_help(command.help or "")
    yield from _format_help(command.epilog or "")
    yield from _format_options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from describe(subcommand, click.Context(subcommand, context, info_name=name), f"{mark}#")


def _format_help(text: str) -> Iterator[str]:
    """Yield paragraphs; those that click must not wrap as blocks of code."""
    for paragraph in re.split(r"\n\s*\n", text):
        verbatim = paragraph.strip().startswith("\b")
        lines = paragraph.replace("\b", "").strip("\n").splitlines()
        if verbatim:
            yield "\n".join(["```console", *(line for line in lines if line.strip()), "```", ""])
        elif lines:
            yield "\n".join(line.strip().replace("<", "&lt;") for line in lines) + "\n"


def _format_options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a table for each heading of the options."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
    for heading, records in groups.items():
        yield f"**{heading}**\n\n| option | meaning |\n|---|---|"
        for names, meaning in records:
            yield f"| <code>{_escape(names)}</code> | {_escape(meaning)} |"
        yield ""


def _escape(text: str) -> str:
    """Return text that neither Markdown nor a table interprets."""
    return html.escape(text, quote=False).translate(MARKS)
