"""`nodrop test rfc2544`: the benchmarking tests of RFC 2544."""

from typing import Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.procedure_run import measure_procedure, procedure_options
from nodrop.model.choices import Rfc2544Test

EPILOG = """
\b
Examples:
  nodrop test rfc2544 --quick                        all tests of the private lab in minutes
  nodrop test rfc2544 --sut ext --ports eth1,eth2 --link-speed 10Gbps
                                                     a device of your own, with the durations of the RFC
  nodrop test rfc2544 --only back-to-back --sizes 64,512
                                                     throughput and the buffer, at two frame sizes
"""
KEYS = {"link_speed": "link_speed"}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Throughput, latency, frame loss rate, back-to-back.")
@click.option(
    "--only",
    type=Choice(get_args(Rfc2544Test)),
    multiple=True,
    help="Carry out this test, repeatable.  [default: all]",
)
@click.option("--sizes", metavar="BYTES,...", help="Frame sizes.  [default: 64,128,256,512,1024,1280,1518]")
@click.option("--quick", is_flag=True, help="Trials of 2 s and few repeats: minutes instead of hours.")
@click.option(
    "--link-speed", metavar="RATE", help="Speed of the links, for the line rate.  [default: that of the ports]"
)
@procedure_options("vnf-l2")
def rfc2544(**flags: Any) -> int:
    """Carry out the benchmarking tests of RFC 2544, sections 26.1 to 26.4, at each frame size.

    Throughput comes first, for all sizes; then latency at that rate, the frame loss rate from the line rate down, and
    the longest burst at the line rate that passes without loss, with the buffer time of RFC 9004. The report lists each
    deviation from the RFC. Without --quick, trials and repeats are as the RFC requires, and all sizes take half a day.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values["rfc2544.tests"] = list(flags["only"]) or None
    values["rfc2544.quick"] = flags["quick"] or None
    values["frame_sizes"] = flags["sizes"]
    return measure_procedure("rfc2544", values, flags)
