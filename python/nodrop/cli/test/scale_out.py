"""`nodrop test scale-out`: users join a system that adds instances by itself."""

from typing import Any

import click

from nodrop.cli.procedure_run import measure_procedure, procedure_options

EPILOG = """
\b
Examples:
  nodrop test scale-out                              5, 10, 15 and 20 % of users join a pool at its limit
  nodrop test scale-out --users 100 --growth 5% --hold 10min
                                                     one growth with the times of the standard
  nodrop test scale-out --sut ext --ports eth1,eth2 --user-rate 1kpps
                                                     a system of your own with automatic scaling
"""
KEYS = {
    "users": "scale_out.users",
    "user_rate": "scale_out.user_rate",
    "loss": "scale_out.loss",
    "settle": "scale_out.settle",
    "hold": "scale_out.hold",
}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Scale-out under load.")
@click.option("--users", type=click.IntRange(min=1), metavar="N", help="Existing users.  [default: 20]")
@click.option("--user-rate", metavar="RATE", help="Rate of a user.  [default: found by a search]")
@click.option(
    "--growth",
    multiple=True,
    metavar="RATIO",
    help="Users that join, as a share of the existing ones, repeatable.  [default: 5, 10, 15, 20 %]",
)
@click.option("--loss", metavar="RATIO", help="Largest loss of a second within the SLA.  [default: 0.1%]")
@click.option("--settle", metavar="TIME", help="Time before users join.  [default: 5s]")
@click.option("--hold", metavar="TIME", help="Time that the system has to scale out.  [default: 20s]")
@procedure_options("pool")
def scale_out(**flags: Any) -> int:
    """Let users join a system at its limit, and measure when it serves all of them.

    A search finds the load of the existing users without scaling. Then each run adds users, each a stream of its own,
    and removes them again. It reports the time until the SLA is restored, the frames lost until then, the service of
    existing and of new users, instances, and the way back. According to ETSI GS NFV-PER 001, clause C.1.2.1.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values["scale_out.growth"] = list(flags["growth"]) or None
    return measure_procedure("scale-out", values, flags)
