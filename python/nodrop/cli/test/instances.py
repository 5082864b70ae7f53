"""`nodrop test instances`: the most instances of a VNF that forward at once within an SLA."""

from typing import Any

import click

from nodrop.cli.procedure_run import measure_procedure, procedure_options

EPILOG = """
\b
Examples:
  nodrop test instances                              forwarders that share a CPU, 10 kpps each
  nodrop test instances -c cloud.yaml --rate 200kpps --latency 1ms
                                                     VMs of a hypervisor, created by OpenStack
  nodrop test instances --sut bridge --max 64        Linux bridges
"""
KEYS = {
    "rate": "instances.rate",
    "max": "instances.max",
    "loss": "instances.loss",
    "latency": "instances.latency",
    "duration": "instances.duration",
    "confirmation": "instances.confirmation",
}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Most VNF instances within an SLA.")
@click.option("--rate", metavar="RATE", help="Rate of each instance in each direction.  [default: 10kpps]")
@click.option("--max", type=click.IntRange(min=1), metavar="N", help="Most instances to measure.  [default: 32]")
@click.option("--loss", metavar="RATIO", help="Largest loss of an instance within the SLA.  [default: 0.1%]")
@click.option("--latency", metavar="TIME", help="Largest p99 latency of an instance within the SLA.  [default: 10ms]")
@click.option("--duration", metavar="TIME", help="Duration of a trial.  [default: 5s]")
@click.option("--confirmation", metavar="TIME", help="Duration of the trial that confirms the result.  [default: 20s]")
@procedure_options("vnf-l2")
def instances(**flags: Any) -> int:
    """Find the most instances of a VNF that forward at once, each with the same load, within an SLA.

    The instances double while all of them meet the limits of loss and latency; then the number is bisected, and
    confirmed by a longer trial. Run it on several hypervisors to compare them. According to ETSI GS NFV-PER 001,
    clause C.3.
    """
    return measure_procedure("instances", {key: flags[flag] for flag, key in KEYS.items()}, flags)
