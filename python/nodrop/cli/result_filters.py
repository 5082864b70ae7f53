"""Options that filter results, and that select the results store."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import DIR, SERVICE_CHAIN
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.result_filter import ResultFilter
    from nodrop.store.index import Index

F = TypeVar("F", bound=Callable[..., Any])
STATUSES = ("complete", "interrupted", "timed_out", "failed")
FILTERS = (
    click.option("--label", metavar="TEXT", help="Label; * matches any text, here and below."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag; repeatable, all must match."),
    click.option("--chains", "chain_count", type=int, metavar="N", help="Number of chains."),
    click.option("--path", "path", type=SERVICE_CHAIN, help="NFVbench's service chain."),
    click.option("--frame-size", metavar="SIZE", help="Frame size, e.g. 64 or IMIX."),
    click.option("--since", metavar="WHEN", help="Started since: date (UTC), e.g. 2026-01-31, or age, e.g. 7d."),
    click.option("--until", metavar="WHEN", help="Started before: date or age."),
    click.option("--host", metavar="NAME", help="Tester host."),
    click.option("--sut", metavar="TEXT", help="SUT as shown in lists."),
    click.option("--status", type=Choice(STATUSES), help="Status of the run."),
    click.option("--source", type=Choice(["nodrop", "nfvbench", "trex"]), help="Tool that measured."),
    click.option("--search", "text", metavar="TEXT", help="Text in id, label, SUT, host or tags."),
)


def filter_options(command: F) -> F:
    """Add all filter options."""
    for option in reversed(FILTERS):
        command = option(command)
    return command


def store_options(command: F) -> F:
    """Add the options for the results directory and the index."""
    index = click.option(
        "--index",
        "index_url",
        envvar="NODROP_RESULTS_INDEX",
        metavar="URL",
        help="Index database, e.g. postgresql://user@host/nodrop.  [default: a file in the directory]",
    )
    directory = click.option(
        "--results-dir", default="results", show_default=True, type=DIR, help="Directory of results."
    )
    return directory(index(command))


def make_filter(flags: dict[str, Any], **more: Any) -> "ResultFilter":
    """Build the filter of the flags. Raises ConfigError for an invalid date."""
    from nodrop.model.result_filter import ResultFilter

    keys = {name: value for name, value in flags.items() if name in ResultFilter.model_fields and value is not None}
    if "path" in keys:
        keys["path"] = keys["path"].upper()
    for key in ("since", "until"):
        if key in keys:
            keys[key] = _to_iso_time(key, keys[key])
    return ResultFilter(**keys, **more)


def has_filters(flags: dict[str, Any]) -> bool:
    """Return whether any filter is set."""
    return any(flags.get(str(name)) not in (None, ()) for name in ("label", "tags", *_NAMES))


_NAMES = ("chain_count", "path", "frame_size", "since", "until", "host", "sut", "status", "source", "text")


def print_index_problems(index: "Index") -> None:
    """Print problems of the index and unreadable results on standard error."""
    for sentence in (*index.warnings, *index.problems):
        click.echo(f"nodrop: {sentence}", err=True)


def _to_iso_time(key: str, text: str) -> str:
    from nodrop.units import parse_time

    try:
        return parse_time(text, datetime.now(UTC)).isoformat()
    except ValueError as error:
        raise ConfigError(f"--{key}: {error}") from None
