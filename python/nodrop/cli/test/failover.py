"""`nodrop test failover`: failover convergence."""

from typing import Any

import click

from nodrop.cli.procedure_run import measure_procedure, procedure_options

EPILOG = """
\b
Examples:
  nodrop test failover                               kill an instance of a pool, five times
  nodrop test failover --streams 20 --max-streams 100 --sla 152ms
                                                     the most streams that converge within an SLA
  nodrop test failover -c path.yaml --trigger '0s command ip link set dev eth5 down' \\
      --revert '0s command ip link set dev eth5 up'  a failure of an external path
"""
KEYS = {
    "streams": "failover.streams",
    "max_streams": "failover.max_streams",
    "stream_rate": "failover.stream_rate",
    "sla": "failover.sla",
    "repeat": "repeat",
}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Failover convergence.")
@click.option("--streams", type=click.IntRange(min=1), metavar="N", help="Streams of the first round.  [default: 20]")
@click.option(
    "--max-streams", type=click.IntRange(min=1), metavar="N", help="Grow up to N streams while the SLA is met."
)
@click.option("--stream-rate", metavar="RATE", help="Rate of each stream.  [default: 1kpps]")
@click.option("--sla", metavar="TIME", help="Longest convergence time allowed.  [default: 50ms]")
@click.option(
    "--trigger",
    multiple=True,
    metavar="EVENT",
    help="Event that causes the failover, the first at 0s.  [default: 0s kill 0]",
)
@click.option(
    "--revert",
    multiple=True,
    metavar="EVENT",
    help="Event that restores the path, the first at 0s.  [default: 0s start 0]",
)
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Repeats of each round.  [default: 5]")
@procedure_options("pool")
def failover(**flags: Any) -> int:
    """Measure how soon streams arrive again after a failure, and how many do within an SLA.

    Every repeat sends streams at a steady rate, causes a failure and restores the path. t1 is the first event, t3 the
    last, t2 and t4 the recovery of the first and of the last stream: t4 - t1 is the convergence time. With
    --max-streams, the streams grow by 10 % from round to round until a repeat takes longer than the SLA. According to
    ETSI GS NFV-PER 001, clause C.1.2.2, and RFC 6412.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values |= {f"failover.{name}": list(flags[name]) or None for name in ("trigger", "revert")}
    return measure_procedure("failover", values, flags)
