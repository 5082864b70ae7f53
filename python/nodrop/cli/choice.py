"""Options with a fixed set of values."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import click


class Choice(click.Choice[str]):
    """A choice whose error names the nearest value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for an invalid value."""
        message = super().get_invalid_choice_message(value, ctx).rstrip(".")
        nearest = find_nearest(str(value), self.choices)
        return f"{message}; did you mean {nearest}?" if nearest else message


class ChoiceList(click.ParamType[tuple[str, ...]]):
    """Values of a fixed set, separated by commas."""

    name = "list"

    def __init__(self, choices: Sequence[str]) -> None:
        self._choice = Choice(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the values; an invalid one fails with the nearest."""
        if isinstance(value, tuple):
            return value
        return tuple(self._choice.convert(each.strip(), param, ctx) for each in str(value).split(","))


def find_nearest(value: str, choices: Iterable[str]) -> str:
    """Return the most similar choice; empty without one."""
    return next(iter(difflib.get_close_matches(value, list(choices), n=1)), "")
