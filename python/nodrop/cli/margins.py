"""Differences that do not matter, as they are written on the command line."""

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
    help="Difference that does not matter: 1%, or rate=, latency=, loss=.  [default: rate=1%, latency=10%, loss=0.1%]",
)


def margins_of(written: Sequence[str]) -> "Margins":
    """Of `1%`, `latency=20%`: what is not named keeps its default, and what has no name is a rate's.

    Raises: ConfigError for what is no share.
    """
    from nodrop.analysis import Margins
    from nodrop.units import parse_ratio

    kinds = {"rate": "pps", "latency": "ns", "loss": "ratio"}
    asked: dict[str, float] = {}
    for each in (part for one in written for part in one.split(",")):
        kind, equals, share = each.strip().rpartition("=")
        try:
            value = parse_ratio(share)
        except ValueError:
            value = 0.0
        if (equals and kind not in kinds) or not 0 < value < 1:
            raise ConfigError(
                f"--margin: {each!r} asked, a share expected; write 1%, or rate=, latency=, loss= and one"
            )
        asked[kinds[kind] if equals else "pps"] = value
    return Margins(**asked)
