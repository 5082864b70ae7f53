"""Options with a fixed set of values."""

import difflib
from typing import Any

import click


class Choice(click.Choice[str]):
    """A choice whose error names the nearest value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for an invalid value."""
        message = super().get_invalid_choice_message(value, ctx).rstrip(".")
        nearest = difflib.get_close_matches(str(value), self.choices, n=1)
        return f"{message}; did you mean {nearest[0]}?" if nearest else message
