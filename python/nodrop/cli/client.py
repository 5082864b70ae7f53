"""`nodrop client`: command-line client of a server, with the exit codes of its runs."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError, ServerError
from nodrop.units import format_count

if TYPE_CHECKING:
    from nodrop.server.rest.client import Client
    from nodrop.server.rest.schemas import RunView

RUNS_MAX = 500
"""Runs that a server lists at once, newest first."""
TOKEN_VARIABLE = "NODROP_TOKEN"
EPILOG = f"""
\b
Examples:
  nodrop client run                               like `nodrop run`, on the server
  nodrop client run -c job.yaml --set rate=10kpps
  ID=$(nodrop client run --detach)                queue a run without following it
  nodrop client events $ID                        follow it to its end
  nodrop client result $ID | jq .goals
  nodrop client result latest~1 | jq .goals       the run before the newest one
  nodrop client --url http://tester:7555 --token-file token list

\b
The token is the first line of --token-file, or ${TOKEN_VARIABLE}.
Exit codes: for run and events that of the run; otherwise 0, 2 invalid request, 6 no response.
"""


@click.group(epilog=EPILOG, short_help="Control a nodrop server.")
@click.option("--url", metavar="URL", default="http://127.0.0.1:7555", show_default=True, help="URL of the server.")
@click.option("--token-file", type=FILE, help="File with the access token in its first line.")
@click.pass_context
def client(context: click.Context, url: str, token_file: str | None) -> None:
    """Control a `nodrop serve`. Runs continue on the server if this command ends."""
    from nodrop.server.rest.client import Client

    context.obj = Client(url, _read_token(token_file))


@client.command(name="run")
@click.option(
    "--config",
    "-c",
    "config",
    type=FILE,
    multiple=True,
    help="Configuration to send; later files override earlier ones.",
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set a configuration key, e.g. rate=10kpps."
)
@click.option("--detach", is_flag=True, help="Print the run id without following the run.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
@click.pass_obj
def run_(server: "Client", config: tuple[str, ...], settings: tuple[str, ...], detach: bool, quiet: bool) -> int:
    """Queue a run, follow it to its end and print its report."""
    run = server.start(_merge_keys(config, settings))
    if detach:
        click.echo(run.id)
        return 0
    if run.place and run.place > 1:
        click.echo(f"run {run.id} is at position {run.place} in the queue")
    return _follow(server, run.id, quiet)


@client.command()
@click.argument("run_id", metavar="ID")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
@click.pass_obj
def events(server: "Client", run_id: str, quiet: bool) -> int:
    """Follow a run to its end and print its report."""
    return _follow(server, _find_id(server, run_id), quiet)


@client.command()
@click.argument("run_id", metavar="[ID]", required=False)
@click.pass_obj
def status(server: "Client", run_id: str | None) -> int:
    """Print the state of a run, by default the newest."""
    if run_id:
        run = server.run(_find_id(server, run_id))
    else:
        newest = server.runs(1)
        if not newest:
            raise ConfigError("the server has no runs; start one with 'nodrop client run'")
        run = newest[0]
    click.echo(_format_line(run))
    return 0


@client.command(name="list")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Number of runs.")
@click.pass_obj
def list_(server: "Client", limit: int) -> int:
    """List the newest runs."""
    for run in server.runs(limit):
        click.echo(_format_line(run))
    return 0


@client.command()
@click.argument("run_id", metavar="ID")
@click.pass_obj
def cancel(server: "Client", run_id: str) -> int:
    """Cancel a run; its measurements are stored."""
    click.echo(_format_line(server.cancel(_find_id(server, run_id))))
    return 0


@client.command()
@click.argument("run_id", metavar="ID")
@click.option("--frame-size", metavar="SIZE", help="Frame size to select, e.g. 64 or IMIX.")
@click.option("--repeat", type=int, metavar="N", help="Repeat to select, from 1.")
@click.option(
    "--format",
    "form",
    type=Choice(["json", "nfvbench", "text", "markdown", "csv"]),
    default="json",
    show_default=True,
    help="Output format; text is nodrop's report, markdown and csv NFVbench's tables.",
)
@click.pass_obj
def result(server: "Client", run_id: str, frame_size: str | None, repeat: int | None, form: str) -> int:
    """Print the result of a run."""
    run_id = _find_id(server, run_id)
    match form:
        case "json":
            text = server.result(run_id, frame_size, repeat)
        case "nfvbench":
            text = server.nfvbench_result(run_id)
        case _:
            text = server.report(run_id, form)
    click.echo(text, nl=not text.endswith("\n"))
    return 0


@client.command()
@click.pass_obj
def version(server: "Client") -> int:
    """Print the server's version."""
    click.echo(server.version())
    return 0


def _find_id(server: "Client", name: str) -> str:
    """Return the id of a run by `latest`, `latest~1` or its last characters; any other name as it is.

    Raises: ConfigError if there is no such run, or several runs end in the characters.
    """
    from nodrop.store import SHORT_ID

    if position := re.fullmatch(r"latest(?:~(\d+))?", name):
        runs = server.runs(RUNS_MAX)
        index = int(position[1] or 0)
        if index >= len(runs):
            raise ConfigError(
                f"run {name}: the server lists {format_count(len(runs), 'run')}; see 'nodrop client list'"
            )
        return runs[index].id
    if not SHORT_ID.fullmatch(name):
        return name
    matches = [run.id for run in server.runs(RUNS_MAX) if run.id.endswith(name)]
    if len(matches) > 1:
        raise ConfigError(f"run {name}: {len(matches)} ids end in it ({', '.join(matches)}); name one")
    return matches[0] if matches else name


def _follow(server: "Client", run_id: str, quiet: bool) -> int:
    """Show the progress of a run, then its report; returns the run's exit code."""
    from pydantic import ValidationError

    from nodrop.cli.measure import open_progress
    from nodrop.server.rest.event_codec import decode
    from nodrop.server.rest.event_names import NOTE

    try:
        with open_progress(sys.stdout, quiet) as progress:
            for received in server.events(run_id):
                if received.name == NOTE:
                    click.echo(f"nodrop: {received.content['text']}", err=True)
                event = decode(received.name, received.content)
                if event:
                    progress.handle(event)
    except ValidationError:
        raise ServerError(
            f"the server sends events of another nodrop release (run {run_id}); use a client of the same release"
        ) from None
    except KeyboardInterrupt:
        click.echo(
            f"nodrop: run {run_id} continues on the server; cancel it with 'nodrop client cancel {run_id}'", err=True
        )
        raise
    run = server.run(run_id)
    if run.run_ids:
        click.echo(f"\n{server.report(run_id)}", nl=False)
    if run.error:
        click.echo(f"nodrop: error: run {run_id} is {run.state}: {run.error}", err=True)
    assert run.exit_code is not None
    return run.exit_code


def _format_line(run: "RunView") -> str:
    """Format a run in one line."""
    place = f" at position {run.place}" if run.place else ""
    error = f": {run.error}" if run.error else ""
    return f"{run.id}  {run.created_at[:19]}  {run.state}{place}{error}"


def _read_token(file: str | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN_VARIABLE)
    from nodrop.server.rest.tokens import read_tokens

    return read_tokens(Path(file))[0]


def _merge_keys(config: tuple[str, ...], settings: tuple[str, ...]) -> dict[str, Any]:
    """Merge the keys of files and flags as `nodrop run` does."""
    from nodrop.cli.search_options import parse_key_value, parse_value
    from nodrop.config.source import read_source

    keys: dict[str, Any] = {}
    for source in config:
        _overlay(keys, read_source(source).content)
    for setting in settings:
        key, text = parse_key_value("--set", setting, "rate=10kpps")
        *above, last = key.split(".")
        nested = {last: parse_value(text)}
        for part in reversed(above):
            nested = {part: nested}
        _overlay(keys, nested)
    return keys


def _overlay(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    """Override keys, section by section."""
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), dict):
            _overlay(below[key], value)
        else:
            below[key] = dict(value) if isinstance(value, Mapping) else value
