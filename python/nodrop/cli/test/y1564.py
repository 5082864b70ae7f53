"""`nodrop test y1564`: Ethernet service activation after ITU-T Y.1564."""

from typing import Any

import click

from nodrop.cli.procedure_run import measure_procedure, procedure_options

EPILOG = """
\b
Examples:
  nodrop test y1564 --cir 1Mbps --eir 500kbps --cbs 12500 --ebs 12500 --duration 60s \\
      --set 'vnf.policer={cir: 1Mbps, cbs: 12500, eir: 500kbps, ebs: 12500}'
                                                     the private lab's forwarder with a policer
  nodrop test y1564 --sut ext --ports eth1,eth2 --cir 100Mbps --cbs 64000 --ftd 10ms --fdv 2ms
                                                     a service of your own
"""
KEYS = {
    "cir": "y1564.cir",
    "cbs": "y1564.cbs",
    "eir": "y1564.eir",
    "ebs": "y1564.ebs",
    "flr": "y1564.flr",
    "ftd": "y1564.ftd",
    "fdv": "y1564.fdv",
    "step": "y1564.step",
    "duration": "y1564.duration",
    "link_speed": "link_speed",
}
"""Argument of the command, and the key it sets."""


@click.command(epilog=EPILOG, short_help="Service activation: does a service keep its profile?")
@click.option("--cir", metavar="RATE", help="Committed information rate of each direction, e.g. 1Mbps.")
@click.option("--cbs", metavar="BYTES", help="Committed burst size.  [default: unknown]")
@click.option("--eir", metavar="RATE", help="Excess information rate.  [default: 0]")
@click.option("--ebs", metavar="BYTES", help="Excess burst size.  [default: unknown]")
@click.option("--flr", metavar="RATIO", help="Largest frame loss ratio.  [default: 0.1%]")
@click.option("--ftd", metavar="TIME", help="Largest mean frame transfer delay.  [default: not judged]")
@click.option("--fdv", metavar="TIME", help="Largest frame delay variation, p99.9 - min.  [default: not judged]")
@click.option("--step", metavar="TIME", help="Duration of a step of the configuration test.  [default: 10s]")
@click.option("--duration", metavar="TIME", help="Duration of the performance test.  [default: 15min]")
@click.option(
    "--link-speed", metavar="RATE", help="Speed of the links, for the line rate.  [default: that of the ports]"
)
@click.option("--continue", "continue_on_fail", is_flag=True, help="Go on after a sub-test that did not pass.")
@procedure_options("vnf-l2")
def y1564(**flags: Any) -> int:
    """Test whether a service keeps its bandwidth profile, after ITU-T Y.1564 and MEF 10.

    The configuration test sends 25, 50, 75 and 100 % of CIR, then CIR + EIR, then more than both, which a policer must
    limit. The performance test sends CIR and reports loss, delay, its variation and availability by the minute. Rates
    count frames from destination MAC address to FCS. The exit code is 8 if the service fails.
    """
    values = {key: flags[flag] for flag, key in KEYS.items()}
    values["y1564.continue_on_fail"] = flags["continue_on_fail"] or None
    return measure_procedure("y1564", values, flags)
