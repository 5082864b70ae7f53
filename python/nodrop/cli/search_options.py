"""Flags about a search, shared by the commands that run one, and the configuration keys they stand for."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from nodrop.cli.completion_types import FILE, SETTING
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName, ProfileName

Command = TypeVar("Command", bound=Callable[..., Any])
KEYS = {
    "profile": "profile",
    "algorithm": "search.algorithm",
    "exceed_ratio": "search.exceed_ratio",
    "duration_sum": "search.duration_sum",
    "min_load": "search.min_load",
    "max_load": "search.max_load",
    "budget": "search.budget",
}
"""Flag, as the command's argument, and the key it sets."""
OPTIONS = (
    click.option(
        "-c",
        "--config",
        "files",
        type=FILE,
        multiple=True,
        help="Configuration: a YAML or JSON file, or its text; a later one wins.",
    ),
    click.option(
        "--profile",
        type=click.Choice(get_args(ProfileName)),
        help="How long and precisely.  [default: quick; simulate: standard]",
    ),
    click.option("--goal", "goals", metavar="LABEL=RATIO", multiple=True, help="Loss to look for, as PDR=0.5%."),
    click.option("--exceed-ratio", metavar="SHARE", help="Share of trials that may lose more at a load met, as 50%."),
    click.option("--duration-sum", metavar="TIME", help="Trial time that decides a load, as 21s."),
    click.option("--min-load", metavar="LOAD", help="Lowest load to try, both ways together, as 10kpps."),
    click.option("--max-load", metavar="LOAD", help="Highest load to try, both ways together, as 2Mpps."),
    click.option("--budget", metavar="TIME", help="Search for so long, then give the best answer, as 60s."),
    click.option(
        "--set",
        "settings",
        type=SETTING,
        multiple=True,
        help="Set any key, as search.width=1%.",
    ),
)
TURN_OPTIONS = (
    click.option("--alongside", is_flag=True, help="Measure even while another run on this machine does."),
    click.option("--wait", is_flag=True, help="Wait until no other run on this machine measures."),
)


def search_options(command: Command) -> Command:
    """Give a command all flags of a search, in this order."""
    return _optioned(command, several_searches=False)


def turn_options(command: Command) -> Command:
    """Give a command that measures the flags about other runs on the machine."""
    for option in reversed(TURN_OPTIONS):
        command = option(command)
    return command


def searches_options(command: Command) -> Command:
    """The same, with as many searches as wanted."""
    return _optioned(command, several_searches=True)


def _optioned(command: Command, several_searches: bool) -> Command:
    algorithm = click.option(
        "--search",
        "algorithm",
        type=click.Choice(get_args(AlgorithmName)),
        metavar="NAME",
        multiple=several_searches,
        help=f"How to search: {', '.join(get_args(AlgorithmName))}.  [default: the profile's]",
    )
    for option in reversed((*OPTIONS[:2], algorithm, *OPTIONS[2:])):
        command = option(command)
    return command


def overrides(flags: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """What was written on the command line, by configuration key; `--set` has the last word.

    Args:
        flags: the command's arguments, those of `search_options` among them.
        others: key and value of the command's own flags, None where not given.

    Raises: ConfigError for a `--goal` or `--set` without key or value.
    """
    goals = dict(key_and_value("--goal", goal, "PDR=0.5%") for goal in flags["goals"])
    named = {key: flags[flag] for flag, key in KEYS.items()} | {"goals": goals or None} | others
    settings = (key_and_value("--set", setting, "search.width=1%") for setting in flags["settings"])
    given = {key: value for key, value in named.items() if value is not None}
    return given | {key: value_of(text) for key, text in settings}


def key_and_value(flag: str, written: str, example: str) -> tuple[str, str]:
    """Both sides of what was written as KEY=VALUE. Raises ConfigError."""
    key, equals, value = written.partition("=")
    if not (key and equals):
        raise ConfigError(f"command line: {flag}: {written!r} asked, key and value expected; write {flag} {example}")
    return key.strip(), value.strip()


def value_of(text: str) -> Any:
    """A value as it would be written in a YAML file."""
    from nodrop.system.yaml_reader import value_of

    return value_of(text)
