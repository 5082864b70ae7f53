"""Options of a search, shared by several commands, and their configuration keys."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

import click

from nodrop.cli.choice import Choice
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
"""Argument of the command, and the key it sets."""
OPTIONS = (
    click.option(
        "-c",
        "--config",
        "files",
        type=FILE,
        multiple=True,
        help="YAML or JSON file, or inline YAML; later ones take precedence.",
    ),
    click.option(
        "--profile",
        type=Choice(get_args(ProfileName)),
        help="Preset of trial durations and precision.  [default: quick; simulate: standard]",
    ),
    click.option(
        "--goal", "goals", metavar="LABEL=RATIO", multiple=True, help="Goal: label and loss ratio, e.g. PDR=0.5%."
    ),
    click.option("--exceed-ratio", metavar="SHARE", help="Share of trials that may exceed the loss ratio, e.g. 50%."),
    click.option("--duration-sum", metavar="TIME", help="Trial time that decides a load, e.g. 21s."),
    click.option("--min-load", metavar="LOAD", help="Lowest load, both directions together, e.g. 10kpps."),
    click.option("--max-load", metavar="LOAD", help="Highest load, both directions together, e.g. 2Mpps."),
    click.option("--budget", metavar="TIME", help="Time limit of the run, e.g. 60s."),
    click.option(
        "--set",
        "settings",
        type=SETTING,
        multiple=True,
        help="Set a configuration key, e.g. search.width=1%.",
    ),
)
LOCK_OPTIONS = (
    click.option("--alongside", is_flag=True, help="Measure even if another run uses the same CPUs."),
    click.option("--wait", is_flag=True, help="Wait for other runs that use the same CPUs."),
)


def search_options(command: Command) -> Command:
    """Add the options of a search."""
    return _add_options(command, several_searches=False)


def lock_options(command: Command) -> Command:
    """Add the options for concurrent runs on this machine."""
    for option in reversed(LOCK_OPTIONS):
        command = option(command)
    return command


def multi_search_options(command: Command) -> Command:
    """Add the options of several searches."""
    return _add_options(command, several_searches=True)


def _add_options(command: Command, several_searches: bool) -> Command:
    algorithm = click.option(
        "--search",
        "algorithm",
        type=Choice(get_args(AlgorithmName)),
        metavar="NAME",
        multiple=several_searches,
        help=f"Search algorithm: {', '.join(get_args(AlgorithmName))}.  [default: the profile's]",
    )
    for option in reversed((*OPTIONS[:2], algorithm, *OPTIONS[2:])):
        command = option(command)
    return command


def collect_overrides(flags: dict[str, Any], other_keys: dict[str, Any]) -> dict[str, Any]:
    """Collect the configuration keys of the command line; `--set` takes precedence.

    Args:
        flags: arguments of the command, including those of `search_options`.
        other_keys: keys of the command's other flags, None if not given.

    Raises: ConfigError for a `--goal` or `--set` without key or value.
    """
    goals = dict(parse_key_value("--goal", goal, "PDR=0.5%") for goal in flags["goals"])
    values = {key: flags[flag] for flag, key in KEYS.items()} | {"goals": goals or None} | other_keys
    overrides = {key: value for key, value in values.items() if value is not None}
    return overrides | parse_settings(flags["settings"])


def parse_settings(settings: Iterable[str], example: str = "search.width=1%") -> dict[str, Any]:
    """Parse the values of `--set` as in a YAML file. Raises ConfigError for one without key or value."""
    pairs = (parse_key_value("--set", setting, example) for setting in settings)
    return {key: parse_value(text) for key, text in pairs}


def parse_key_value(flag: str, text: str, example: str) -> tuple[str, str]:
    """Split KEY=VALUE. Raises ConfigError."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ConfigError(f"command line: {flag}: {text!r} is not KEY=VALUE; use e.g. {flag} {example}")
    return key.strip(), value.strip()


def parse_value(text: str) -> Any:
    """Parse a value as in a YAML file."""
    from nodrop.system.yaml_reader import parse_value

    return parse_value(text)
