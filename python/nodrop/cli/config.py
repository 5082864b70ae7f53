"""`nodrop config`: the configuration in force, its keys, and conversion from NFVbench."""

import json
from collections.abc import Callable
from typing import Any

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.search_options import parse_settings


def _sources(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select the sources of the configuration."""
    for option in (
        click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a key, e.g. search.width=1%."),
        click.option(
            "-c", "--config", "files", type=FILE, multiple=True, help="File or inline YAML; later ones take precedence."
        ),
    ):
        command = option(command)
    return command


@click.group(short_help="Show, explain and convert configurations.")
def config() -> None:
    """Show, explain and convert configurations.

    A configuration may be written in nodrop's keys, in NFVbench's, or in both.
    """


@config.command(short_help="Print the configuration in force.")
@_sources
@click.option("--sources", is_flag=True, help="Add the source of each key: file and line, plugin or command line.")
@click.option("--changed", is_flag=True, help="Only keys that are set.")
@click.option("--nfvbench", is_flag=True, help="Use NFVbench's keys, with its defaults.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(files: tuple[str, ...], settings: tuple[str, ...], sources: bool, changed: bool, **forms: bool) -> None:
    """Print the configuration that results from files, plugins and settings."""
    from nodrop.config.effective import render_config, render_nfvbench
    from nodrop.config.load import load_with_sources

    loaded = load_with_sources(files, parse_settings(settings))
    view = render_nfvbench if forms["nfvbench"] else render_config
    result = view(loaded, sources=sources, changed=changed)
    if forms["as_json"]:
        click.echo(json.dumps(result.values, indent=4, sort_keys=True, ensure_ascii=False))
    else:
        click.echo(result.text, nl=False)


@config.command(short_help="Print all keys with their defaults.")
@click.option("--nfvbench", is_flag=True, help="Use NFVbench's keys.")
def default(nfvbench: bool) -> None:
    """Print all keys as commented YAML with their defaults: a template for a configuration file."""
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.config.schema import Config
    from nodrop.config.yaml_writer import dump_commented

    click.echo(dump_commented(NfvbenchConfig() if nfvbench else Config()).lstrip("\n"), nl=False)


@config.command(short_help="Print the JSON Schema.")
@click.option("--nfvbench", is_flag=True, help="Use NFVbench's keys.")
def schema(nfvbench: bool) -> None:
    """Print the JSON Schema of configurations, for editors and other programs."""
    from nodrop.config.json_schema import make_json_schema
    from nodrop.config.nfvbench.schema import NfvbenchConfig
    from nodrop.config.schema import Config

    root = NfvbenchConfig if nfvbench else Config
    click.echo(json.dumps(make_json_schema(root), indent=2, ensure_ascii=False))


@config.command(short_help="Explain keys.")
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
def explain(keys: tuple[str, ...]) -> None:
    """Explain keys: meaning, allowed values, and name in the other form.

    Nested keys are written with a dot, e.g. search.width or measurement.NDR.
    """
    from nodrop.config.key_help import explain_key as explained

    click.echo("\n\n".join([explained(key) for key in keys]))


@config.command(short_help="Convert an NFVbench configuration.")
@click.argument("file", metavar="FILE", type=FILE)
@click.option("-o", "--output", metavar="FILE", help="Output file.  [default: standard output]")
@click.option("-q", "--quiet", is_flag=True, help="Do not list the changes.")
def convert(file: str, output: str | None, quiet: bool) -> None:
    """Print an NFVbench configuration in nodrop's keys, and the change of each key on standard error."""
    from nodrop.config.effective import convert_config as converted

    result = converted(file)
    if output is None:
        click.echo(result.text, nl=False)
    else:
        _write(output, result.text)
    for change in () if quiet else result.changes:
        click.echo(f"nodrop: {change}", err=True)


def _write(output: str, text: str) -> None:
    from pathlib import Path

    from nodrop.errors import ConfigError

    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"--output: {output} already exists; choose another file") from None
    except OSError as error:
        raise ConfigError(f"--output: cannot write {output}: {error.strerror}") from None
