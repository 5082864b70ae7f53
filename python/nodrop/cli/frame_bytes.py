"""The frame size of a flag, by one rule: below the Ethernet minimum it is raised with a note, as by NFVbench."""

from typing import Any

import click

FRAME_BYTES_MIN = 64


class FrameBytes(click.types.IntParamType):
    """A frame size in bytes, with FCS."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert the text to a size; print a note where it is raised."""
        size = super().convert(value, param, ctx)
        assert isinstance(size, int)
        if not 0 < size < FRAME_BYTES_MIN:
            return size
        if not (ctx and ctx.resilient_parsing):
            click.echo(f"nodrop: {format_raise_note('--frame-bytes', size)}", err=True)
        return FRAME_BYTES_MIN


def format_raise_note(flag: str, size: int) -> str:
    """Return the note about a size that is raised."""
    return f"{flag}: {size} is below the Ethernet minimum; using {FRAME_BYTES_MIN} bytes"
