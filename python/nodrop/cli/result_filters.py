"""Flags that say which results are meant, for every command that takes a filter."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodrop.cli.completion_types import DIR, SERVICE_CHAIN
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.result_filter import Filter
    from nodrop.store.index import Index

F = TypeVar("F", bound=Callable[..., Any])
STATUSES = ("complete", "interrupted", "timed_out", "failed")
FILTERS = (
    click.option("--label", metavar="TEXT", help="Runs of this label; * stands for any letters, here and below."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Results that have this tag; several: all."),
    click.option("--chains", "chain_count", type=int, metavar="N", help="Parallel chains."),
    click.option("--path", "path", type=SERVICE_CHAIN, help="The path, as NFVbench calls it."),
    click.option("--frame-size", metavar="SIZE", help="As 64 or IMIX."),
    click.option("--since", metavar="WHEN", help="Began then or later: 2026-01-31, or 7d, 12h ago. Times are UTC."),
    click.option("--until", metavar="WHEN", help="Began before then."),
    click.option("--host", metavar="NAME", help="The machine that measured."),
    click.option("--sut", metavar="TEXT", help="What was measured, as lists show it."),
    click.option("--status", type=click.Choice(STATUSES), help="How the run ended."),
    click.option("--source", type=click.Choice(["nodrop", "nfvbench", "trex"]), help="Who measured."),
    click.option("--search", "text", metavar="TEXT", help="Somewhere in id, label, SUT, host or tags."),
)


def filter_options(command: F) -> F:
    """All of them."""
    for option in reversed(FILTERS):
        command = option(command)
    return command


def place_options(command: F) -> F:
    """Where results are, and where they are looked up."""
    index = click.option(
        "--index",
        "index_url",
        envvar="NODROP_RESULTS_INDEX",
        metavar="URL",
        help="Database to look them up in, as postgresql://user@host/nodrop.  [default: a file in the directory]",
    )
    directory = click.option(
        "--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept."
    )
    return directory(index(command))


def make_filter(flags: dict[str, Any], **more: Any) -> "Filter":
    """What the flags ask for. Raises ConfigError for a date that is none."""
    from nodrop.model.result_filter import Filter

    keys = {name: value for name, value in flags.items() if name in Filter.model_fields and value is not None}
    if "path" in keys:
        keys["path"] = keys["path"].upper()
    for key in ("since", "until"):
        if key in keys:
            keys[key] = _moment(key, keys[key])
    return Filter(**keys, **more)


def asks_anything(flags: dict[str, Any]) -> bool:
    """Whether any filter was given."""
    return any(flags.get(str(name)) not in (None, ()) for name in ("label", "tags", *_NAMES))


_NAMES = ("chain_count", "path", "frame_size", "since", "until", "host", "sut", "status", "source", "text")


def say_troubles(index: "Index") -> None:
    """What was wrong with the index, and which results cannot be read, on standard error."""
    for sentence in (*index.warnings, *index.problems):
        click.echo(f"nodrop: {sentence}", err=True)


def _moment(key: str, written: str) -> str:
    from nodrop.units import parse_moment

    try:
        return parse_moment(written, datetime.now(UTC)).isoformat()
    except ValueError as error:
        raise ConfigError(f"--{key}: {error}") from None
