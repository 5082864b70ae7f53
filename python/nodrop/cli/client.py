"""`nodrop client`: a server driven from the shell, with true exit codes."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError, ServerError

if TYPE_CHECKING:
    from nodrop.server.rest.client import Client
    from nodrop.server.rest.schemas import RunView

TOKEN_VARIABLE = "NODROP_TOKEN"
EPILOG = f"""
\b
Examples:
  nodrop client run                               as `nodrop run`, on the server
  nodrop client run -c job.yaml --set rate=10kpps
  ID=$(nodrop client run --detach)                queue it, and go
  nodrop client events $ID                        follow it to its end
  nodrop client result $ID | jq .goals
  nodrop client --url http://tester:7555 --token-file token list

\b
The token is the first line of --token-file, or ${TOKEN_VARIABLE}.
Exit codes: of run and events what the run ended with; else 0, 2 refused as asked, 6 no answer.
"""


@click.group(epilog=EPILOG, short_help="Drive a server: run, follow, cancel, read.")
@click.option("--url", metavar="URL", default="http://127.0.0.1:7555", show_default=True, help="Where the server is.")
@click.option("--token-file", type=FILE, help="File whose first line is the token to show.")
@click.pass_context
def client(context: click.Context, url: str, token_file: str | None) -> None:
    """Drive a `nodrop serve`. A run goes on, whatever becomes of this command."""
    from nodrop.server.rest.client import Client

    context.obj = Client(url, _token(token_file))


@client.command(name="run")
@click.option("--config", "-c", "config", type=FILE, multiple=True, help="Keys to send; a later one wins.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any key, as rate=10kpps.")
@click.option("--detach", is_flag=True, help="Print the run's id and do not follow it.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
@click.pass_obj
def run_(server: "Client", config: tuple[str, ...], settings: tuple[str, ...], detach: bool, quiet: bool) -> int:
    """Queue a run, follow it to its end and print its report."""
    run = server.start(_asked(config, settings))
    if detach:
        click.echo(run.id)
        return 0
    if run.place and run.place > 1:
        click.echo(f"run {run.id} is number {run.place} in the queue")
    return _follow(server, run.id, quiet)


@client.command()
@click.argument("run_id", metavar="ID")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
@click.pass_obj
def events(server: "Client", run_id: str, quiet: bool) -> int:
    """Follow a run from its beginning to its end, and print its report."""
    return _follow(server, run_id, quiet)


@client.command()
@click.argument("run_id", metavar="[ID]", required=False)
@click.pass_obj
def status(server: "Client", run_id: str | None) -> int:
    """Say how far a run is, without an ID the newest."""
    if run_id:
        run = server.run(run_id)
    else:
        newest = server.runs(1)
        if not newest:
            raise ConfigError("the newest run asked, there is none; begin one: nodrop client run")
        run = newest[0]
    click.echo(_line(run))
    return 0


@client.command(name="list")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many at most.")
@click.pass_obj
def list_(server: "Client", limit: int) -> int:
    """List the newest runs."""
    for run in server.runs(limit):
        click.echo(_line(run))
    return 0


@client.command()
@click.argument("run_id", metavar="ID")
@click.pass_obj
def cancel(server: "Client", run_id: str) -> int:
    """Have a run end; what it has measured is stored."""
    click.echo(_line(server.cancel(run_id)))
    return 0


@client.command()
@click.argument("run_id", metavar="ID")
@click.option("--frame-size", metavar="SIZE", help="Which, of a run with several, as 64 or IMIX.")
@click.option("--repeat", type=int, metavar="N", help="Which, of a run with repeats, from 1.")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["json", "nfvbench", "text", "markdown", "csv"]),
    default="json",
    show_default=True,
    help="result.json, NFVbench's form of it, the report, or NFVbench's tables.",
)
@click.pass_obj
def result(server: "Client", run_id: str, frame_size: str | None, repeat: int | None, wanted: str) -> int:
    """Print the result of a run."""
    match wanted:
        case "json":
            text = server.result(run_id, frame_size, repeat)
        case "nfvbench":
            text = server.nfvbench_result(run_id)
        case _:
            text = server.report(run_id, wanted)
    click.echo(text, nl=not text.endswith("\n"))
    return 0


@client.command()
@click.pass_obj
def version(server: "Client") -> int:
    """Print the server's version."""
    click.echo(server.version())
    return 0


def _follow(server: "Client", run_id: str, quiet: bool) -> int:
    """Progress until it is over, then the report; gives the run's exit code."""
    from pydantic import ValidationError

    from nodrop.cli.measure import progress_on
    from nodrop.server.rest.event_codec import NOTE, decode

    try:
        with progress_on(sys.stdout, quiet) as progress:
            for told in server.events(run_id):
                if told.name == NOTE:
                    click.echo(f"nodrop: {told.content['text']}", err=True)
                event = decode(told.name, told.content)
                if event:
                    progress.hear(event)
    except ValidationError:
        raise ServerError(f"the events of run {run_id} asked, they are of another release of nodrop") from None
    except KeyboardInterrupt:
        click.echo(f"nodrop: run {run_id} goes on; nodrop client cancel {run_id} ends it", err=True)
        raise
    run = server.run(run_id)
    if run.run_ids:
        click.echo(f"\n{server.report(run_id)}", nl=False)
    if run.error:
        click.echo(f"nodrop: error: run {run_id} is {run.state}: {run.error}", err=True)
    assert run.exit_code is not None
    return run.exit_code


def _line(run: "RunView") -> str:
    """A run in one line."""
    place = f" at place {run.place}" if run.place else ""
    error = f": {run.error}" if run.error else ""
    return f"{run.id}  {run.created_at[:19]}  {run.state}{place}{error}"


def _token(file: str | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN_VARIABLE)
    from nodrop.server.rest.tokens import read_tokens

    return read_tokens(Path(file))[0]


def _asked(config: tuple[str, ...], settings: tuple[str, ...]) -> dict[str, Any]:
    """The keys to send: of files and flags, merged as `nodrop run` merges them."""
    from nodrop.cli.search_options import key_and_value, value_of
    from nodrop.config.source import document_of

    asked: dict[str, Any] = {}
    for source in config:
        _overlay(asked, document_of(source).content)
    for setting in settings:
        key, text = key_and_value("--set", setting, "rate=10kpps")
        *above, last = key.split(".")
        nested = {last: value_of(text)}
        for part in reversed(above):
            nested = {part: nested}
        _overlay(asked, nested)
    return asked


def _overlay(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    """Put keys over others, section by section."""
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), dict):
            _overlay(below[key], value)
        else:
            below[key] = dict(value) if isinstance(value, Mapping) else value
