"""`nodrop search`: a search whose trials are measured by another program."""

import io
import os
import sys
from typing import Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.search_options import parse_key_value
from nodrop.errors import ConfigError, GeneratorError
from nodrop.model.choices import AlgorithmName
from nodrop.model.profiles import PRESCRIBED_SEARCHES

EPILOG = """
\b
The protocol, one JSON object per line (docs/reference/stdio.md):
  <- {"params": {"max_load": 10e6, "ratios": [0.0, 0.005]}}
  -> {"measure": {"load": 10000000.0, "duration": 1.0}}
  <- {"trial": {"sent": 10000000, "lost": 123}}
  -> {"result": {"0.0": [lower, upper], "0.005": [lower, upper]}}

\b
Exit codes: 0 result sent, 2 failure sent, 4 the other program closed the connection.
"""

LOAD_SEARCHES = tuple(name for name in get_args(AlgorithmName) if name not in PRESCRIBED_SEARCHES)
"""Searches whose result is a load; the others are tests."""


@click.command(epilog=EPILOG, short_help="Search with a custom measurer.")
@click.option("--stdio", is_flag=True, help="Request trials on standard output, read outcomes from standard input.")
@click.option(
    "--search",
    "algorithm",
    type=Choice(LOAD_SEARCHES),
    metavar="NAME",
    default="nodrop",
    show_default=True,
    help=f"Search algorithm: {', '.join(LOAD_SEARCHES)}.",
)
@click.option(
    "--goal", "goals", metavar="LABEL=RATIO", multiple=True, help="Goal: label and loss ratio, e.g. PDR=0.5%."
)
@click.option("--exceed-ratio", metavar="SHARE", help="Share of trials that may exceed the loss ratio, e.g. 50%.")
@click.option("--duration-sum", metavar="TIME", help="Trial time that decides a load, e.g. 21s.")
@click.option("--width", metavar="SHARE", help="Width of the bounds, e.g. 0.5%.")
@click.option("--initial-trial-duration", metavar="TIME", help="Duration of the shortest trials, e.g. 1s.")
@click.option("--final-trial-duration", metavar="TIME", help="Duration of full-length trials, e.g. 30s.")
@click.option("--min-load", metavar="LOAD", help="Lowest load, e.g. 10kpps.")
@click.option("--max-load", metavar="LOAD", help="Highest load, e.g. 2Mpps.")
@click.option("--budget", metavar="TIME", help="Time limit of the search, e.g. 60s.")
def search(stdio: bool, algorithm: AlgorithmName, goals: tuple[str, ...], **flags: Any) -> None:
    """Search for the loads that meet loss ratios, with trials measured by your program over JSON lines.

    Options override the params of the other program.
    """
    if not stdio:
        raise ConfigError(
            "'nodrop search' needs --stdio and a program that measures its trials (see --help); "
            "to measure with nodrop, use 'nodrop run'"
        )
    from nodrop.stdio import serve_search
    from nodrop.stdio.jsonl import MessageStream

    if sys.stdin is None or sys.stdout is None:
        raise GeneratorError("standard input or output is closed; connect both to your program")
    for stream in (sys.stdin, sys.stdout):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        serve_search(MessageStream(sys.stdin, sys.stdout), algorithm, flags | {"goals": _parse_goals(goals)})
    except GeneratorError:
        # Keep the interpreter from writing the rest of the output again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _parse_goals(goals: tuple[str, ...]) -> list[dict[str, str]] | None:
    """Parse label and ratio of each `--goal`. Raises ConfigError."""
    ratios = dict(parse_key_value("--goal", goal, "PDR=0.5%") for goal in goals)
    return [{"label": label, "loss_ratio": ratio} for label, ratio in ratios.items()] or None
