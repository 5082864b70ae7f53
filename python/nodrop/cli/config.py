"""`nodrop config`: what may be configured, what is, and what NFVbench's keys become."""

import json
from collections.abc import Callable
from typing import Any

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.search_options import key_and_value

SOURCE = "Who wrote a key is said as file and line, plugin or command line."


def _sources(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what the configuration is made of."""
    for option in (
        click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any key, as search.width=1%."),
        click.option(
            "-c", "--config", "files", type=FILE, multiple=True, help="File, or YAML in its place; a later one wins."
        ),
    ):
        command = option(command)
    return command


@click.group(short_help="Show, explain and convert configurations.")
def config() -> None:
    """Show, explain and convert configurations.

    A configuration may be written in nodrop's keys, in NFVbench's, or in both.
    """


@config.command(short_help="The configuration in force.")
@_sources
@click.option("--sources", is_flag=True, help=f"Beside each key, who wrote it. {SOURCE}")
@click.option("--changed", is_flag=True, help="Only keys that somebody wrote.")
@click.option("--nfvbench", is_flag=True, help="In NFVbench's keys, those that were written and its defaults.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(files: tuple[str, ...], settings: tuple[str, ...], sources: bool, changed: bool, **forms: bool) -> None:
    """Print the configuration that files, plugins and settings add up to."""
    from nodrop.config.effective import show_nfvbench, show_own
    from nodrop.config.load import trace

    loaded = trace(files, dict(_setting(text) for text in settings))
    view = show_nfvbench if forms["nfvbench"] else show_own
    shown = view(loaded, sources=sources, changed=changed)
    if forms["as_json"]:
        click.echo(json.dumps(shown.values, indent=4, sort_keys=True, ensure_ascii=False))
    else:
        click.echo(shown.text, nl=False)


@config.command(short_help="Every key with its default.")
@click.option("--nfvbench", is_flag=True, help="NFVbench's keys instead.")
def default(nfvbench: bool) -> None:
    """Print all keys as YAML, each with what it means and its default: a file to start from."""
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.config.schema import Config
    from nodrop.config.yaml_writer import commented

    click.echo(commented(NfvbenchConfig() if nfvbench else Config()).lstrip("\n"), nl=False)


@config.command(short_help="JSON Schema of a configuration.")
@click.option("--nfvbench", is_flag=True, help="Of NFVbench's keys instead.")
def schema(nfvbench: bool) -> None:
    """Print what may be written as JSON Schema, for editors and other programs."""
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.config.schema import Config

    root = NfvbenchConfig if nfvbench else Config
    click.echo(json.dumps(root.model_json_schema(mode="validation"), indent=2, ensure_ascii=False))


@config.command(short_help="What a key means.")
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
def explain(keys: tuple[str, ...]) -> None:
    """Say what keys mean, what they may be, and what they are called in the other form.

    Keys below others are written with a point, as search.width or measurement.NDR.
    """
    from nodrop.config.key_help import explain as explained

    click.echo("\n\n".join([explained(key) for key in keys]))


@config.command(short_help="NFVbench's configuration in nodrop's keys.")
@click.argument("file", metavar="FILE", type=FILE)
@click.option("-o", "--output", metavar="FILE", help="Write it there instead of to standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Do not list what changed.")
def convert(file: str, output: str | None, quiet: bool) -> None:
    """Print a configuration of NFVbench's in nodrop's keys, and on standard error what became of each key."""
    from nodrop.config.convert import convert as converted

    done = converted(file)
    if output is None:
        click.echo(done.text, nl=False)
    else:
        _write(output, done.text)
    for change in () if quiet else done.changes:
        click.echo(f"nodrop: {change}", err=True)


def _setting(text: str) -> tuple[str, Any]:
    from nodrop.system.yaml_reader import value_of

    key, value = key_and_value("--set", text, "search.width=1%")
    return key, value_of(value)


def _write(output: str, text: str) -> None:
    from pathlib import Path

    from nodrop.errors import ConfigError

    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"--output: {output} asked, it is there already; name another file") from None
    except OSError as error:
        raise ConfigError(f"--output: {output} asked, {error.strerror}; name a file that can be written") from None
