"""The other set-up of `nodrop run --interleave`: the same, but for the keys of one more file."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from nodrop.system.yaml_reader import dumped

if TYPE_CHECKING:
    from nodrop.config.schema import Config
    from nodrop.model.plan import Plan


def other_plans(config: "Config", other: "Config", *, asks_trex: bool = False) -> "tuple[Plan, ...]":
    """What B is measured by; says on standard error in what it differs from A, unless TRex is asked, which is the
    second time. Raises ConfigError as plans do.

    A label is one of A's runs. Where B has none of its own it is told apart by a ` B` behind A's.
    """
    from nodrop.run.local_planning import plans_here

    differing = ", ".join(_differing(config.model_dump(mode="json"), other.model_dump(mode="json")))
    nothing = "B is asked to be as A: where they are not called equivalent, it is by chance"
    if not asks_trex:
        click.echo(f"nodrop: {f'B differs from A in {differing}' if differing else nothing}", err=True)
    if other.label and other.label == config.label:
        other = other.model_copy(update={"label": f"{other.label} B"})
    return plans_here(other, asks_trex=asks_trex)


def _differing(a: Mapping[str, Any], b: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Every key that the two have otherwise: `sut: vnf-l2 -> bridge`."""
    for key in dict.fromkeys((*a, *b)):
        here, there = a.get(key), b.get(key)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            yield from _differing(here, there, f"{above}{key}.")
        elif here != there:
            yield f"{above}{key}: {dumped(here)} -> {dumped(there)}"
