"""`nodrop test migration`: the interruption of the traffic while a VM moves to another server."""

from typing import Any

import click

from nodrop.cli.procedure_run import measure_procedure, procedure_options

EPILOG = """
\b
Examples:
  nodrop test migration                              the stand-in: a pool moves its flows after a pause of 350 ms
  nodrop test migration -c path.yaml --settle 60s \\
      --migrate '0s migrate vnf qemu:///system qemu+ssh://b/system' \\
      --back '0s migrate vnf qemu+ssh://b/system qemu+ssh://a/system'
                                                     a VM of libvirt, there and back
"""
KEYS = {"rate": "migration.rate", "settle": "migration.settle", "repeat": "repeat"}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Interruption by the migration of a VM.")
@click.option(
    "--migrate",
    multiple=True,
    metavar="EVENT",
    help="Event that migrates the VM, the first at 0s.  [default: 0s withdraw 0]",
)
@click.option(
    "--back",
    multiple=True,
    metavar="EVENT",
    help="Event that migrates it back, the first at 0s.  [default: 0s restore 0]",
)
@click.option("--rate", metavar="RATE", help="Load during a migration.  [default: half of NDR; pool: 2kpps]")
@click.option("--settle", metavar="TIME", help="Time for a migration to end, on each way.  [default: 3s]")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Migrations there and back.  [default: 5]")
@procedure_options("pool")
def migration(**flags: Any) -> int:
    """Measure how long the traffic of a VM is interrupted and impaired while it moves to another server.

    Each repeat sends at a steady rate and migrates the VM there and back. The report has the duration of the migration,
    the longest gap of the traffic, the frames lost and the time in which it was impaired, which are different figures.
    A search before and after compares the rates. According to ETSI GS NFV-PER 001, clause C.1.2.3.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values |= {f"migration.{name}": list(flags[name]) or None for name in ("migrate", "back")}
    return measure_procedure("migration", values, flags)
