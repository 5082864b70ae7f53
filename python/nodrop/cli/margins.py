"""The option for the margins of a comparison."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.analysis import Margins

margin_option = click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="[KIND=]SHARE",
    help="Smallest relevant difference, of rate, latency or loss.  [default: rate=1%, latency=10%, loss=0.1%]",
)


def parse_margins(values: Sequence[str]) -> "Margins":
    """Parse margins such as `1%` (of rates) or `latency=20%`; the others keep their defaults.

    Raises: ConfigError for an invalid ratio.
    """
    from nodrop.analysis import Margins
    from nodrop.units import parse_ratio

    kinds = {"rate": "pps", "latency": "ns", "loss": "ratio"}
    margins: dict[str, float] = {}
    for each in (part for text in values for part in text.split(",")):
        kind, equals, ratio = each.strip().rpartition("=")
        try:
            value = parse_ratio(ratio)
        except ValueError:
            value = 0.0
        if (equals and kind not in kinds) or not 0 < value < 1:
            raise ConfigError(f"--margin: {each!r} is not a ratio; use e.g. 1%, rate=1%, latency=10% or loss=0.1%")
        margins[kinds[kind] if equals else "pps"] = value
    return Margins(**margins)
