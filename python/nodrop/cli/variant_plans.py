"""The second setup of `nodrop run --interleave`: the first one with the keys of another file."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from nodrop.system.yaml_reader import to_yaml_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodrop.config.schema import Config
    from nodrop.model.plan import Plan


def make_variant_plans(
    config: "Config", other: "Config", cpus: "Sequence[int] | None" = None, *, query_trex: bool = False
) -> "tuple[Plan, ...]":
    """Make the plans of B; print its differences from A on standard error, unless CPUs or `query_trex` are given, as
    in further calls.

    Without its own label, B gets A's with ` B` appended.

    Raises: ConfigError for an invalid configuration.
    """
    from nodrop.run.local_planning import make_plans

    differences = ", ".join(_list_differences(config.model_dump(mode="json"), other.model_dump(mode="json")))
    identical = "B is configured like A: any difference between them is due to chance"
    if not query_trex and cpus is None:
        click.echo(f"nodrop: {f'B differs from A in {differences}' if differences else identical}", err=True)
    if other.label and other.label == config.label:
        other = other.replace(label=f"{other.label} B")
    return make_plans(other, cpus, query_trex=query_trex)


def _list_differences(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield every key with different values: `sut: vnf-l2 -> bridge`."""
    for key in dict.fromkeys((*a, *b)):
        value_a, value_b = a.get(key), b.get(key)
        if isinstance(value_a, Mapping) and isinstance(value_b, Mapping):
            yield from _list_differences(value_a, value_b, f"{prefix}{key}.")
        elif value_a != value_b:
            yield f"{prefix}{key}: {to_yaml_line(value_a)} -> {to_yaml_line(value_b)}"
