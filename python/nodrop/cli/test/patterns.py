"""`nodrop test patterns`: the rate under each load pattern as a share of that under flat load."""

from typing import Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.procedure_run import measure_procedure, procedure_options
from nodrop.model.choices import PatternKind

EPILOG = """
\b
Examples:
  nodrop test patterns                               NDR and PDR under flat load and six patterns
  nodrop test patterns --kind burst --kind poisson --repeat 3
                                                     two of them, in turn, three times
  nodrop test patterns --kind burst --set pattern.period=10ms --set pattern.duty=20%
                                                     short bursts of five times the mean load
"""
KEYS = {"repeat": "repeat", "budget": "search.budget"}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="NDR and PDR by load pattern.")
@click.option(
    "--kind",
    type=Choice(get_args(PatternKind)),
    multiple=True,
    help="Load pattern, repeatable.  [default: all but triangle]",
)
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Runs of each pattern, in turn.  [default: 1]")
@click.option("--budget", metavar="TIME", help="Time limit of each run, e.g. 30s.")
@procedure_options("vnf-l2")
def patterns(**flags: Any) -> int:
    """Search the rate of a path under flat load and under other load patterns of the same mean.

    The report states the rate under each pattern and its share of that under flat load. According to ETSI GS NFV-PER
    001, clause C.5.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values["patterns.kinds"] = list(flags["kind"]) or None
    return measure_procedure("patterns", values, flags)
