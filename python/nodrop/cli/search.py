"""`nodrop search`: a search whose measurer is somebody else's program."""

import io
import os
import sys
from typing import Any, get_args

import click

from nodrop.cli.search_options import key_and_value
from nodrop.errors import ConfigError, GeneratorError
from nodrop.model.choices import AlgorithmName

EPILOG = """
\b
The conversation, one JSON object a line (docs/reference/stdio.md):
  <- {"params": {"max_load": 10e6, "ratios": [0.0, 0.005]}}
  -> {"measure": {"load": 10000000.0, "duration": 1.0}}
  <- {"trial": {"sent": 10000000, "lost": 123}}
  -> {"result": {"0.0": [lower, upper], "0.005": [lower, upper]}}

\b
Exit codes: 0 a result was sent, 2 failed was sent, 4 the other side ended the conversation.
"""


@click.command(epilog=EPILOG, short_help="Search with a measurer of your own.")
@click.option("--stdio", is_flag=True, help="Ask for trials on standard output, read what came of them from input.")
@click.option(
    "--search",
    "algorithm",
    type=click.Choice(get_args(AlgorithmName)),
    metavar="NAME",
    default="nodrop",
    show_default=True,
    help=f"How to search: {', '.join(get_args(AlgorithmName))}.",
)
@click.option("--goal", "goals", metavar="LABEL=RATIO", multiple=True, help="Loss to look for, as PDR=0.5%.")
@click.option("--exceed-ratio", metavar="SHARE", help="Share of trials that may lose more at a load met, as 50%.")
@click.option("--duration-sum", metavar="TIME", help="Trial time that decides a load, as 21s.")
@click.option("--width", metavar="SHARE", help="How close the bounds have to be, as 0.5%.")
@click.option("--initial-trial-duration", metavar="TIME", help="Duration of the shortest trials, as 1s.")
@click.option("--final-trial-duration", metavar="TIME", help="Duration of the trials that decide, as 30s.")
@click.option("--min-load", metavar="LOAD", help="Lowest load to try, as 10kpps.")
@click.option("--max-load", metavar="LOAD", help="Highest load to try, as 2Mpps.")
@click.option("--budget", metavar="TIME", help="Search for so long, then give the best answer, as 60s.")
def search(stdio: bool, algorithm: AlgorithmName, goals: tuple[str, ...], **flags: Any) -> None:
    """Find the loads that meet loss ratios with a measurer of your own, which answers lines of JSON.

    What is written on the command line goes before what the other side asks for with its params.
    """
    if not stdio:
        raise ConfigError(
            "a measurer asked, `nodrop search` has none of its own; add --stdio and answer its lines of JSON "
            "(see --help), or measure with `nodrop run`"
        )
    from nodrop.stdio import converse
    from nodrop.stdio.jsonl import Lines

    if sys.stdin is None or sys.stdout is None:
        raise GeneratorError(
            "a measurer on standard input and output asked, one of them is closed; connect both to your program"
        )
    for stream in (sys.stdin, sys.stdout):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        converse(Lines(sys.stdin, sys.stdout), algorithm, flags | {"goals": _listed(goals)})
    except GeneratorError:
        # What could not be written is not to be tried again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _listed(goals: tuple[str, ...]) -> list[dict[str, str]] | None:
    """Label and ratio of each `--goal`. Raises ConfigError."""
    written = dict(key_and_value("--goal", goal, "PDR=0.5%") for goal in goals)
    return [{"label": label, "loss_ratio": ratio} for label, ratio in written.items()] or None
