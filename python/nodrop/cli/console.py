"""Output of tables and text; rich takes width, colors and NO_COLOR from terminal and environment."""

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text


def make_console(out: TextIO) -> Console:
    """Return a console that prints text verbatim, on a pipe without control characters."""
    return Console(file=out, highlight=False, markup=False, emoji=False, force_terminal=out.isatty())


def print_lines(lines: Iterable[RenderableType], out: TextIO) -> None:
    """Print lines already broken to the width; longer lines, e.g. commands to copy, are not broken."""
    screen = make_console(out)
    for line in lines:
        screen.print(line, soft_wrap=True) if isinstance(line, Text) else print_renderable(line, out)


def print_renderable(renderable: RenderableType, out: TextIO) -> None:
    """Print a renderable; without trailing blanks unless on a terminal."""
    screen = make_console(out)
    if screen.is_terminal:
        screen.print(renderable)
        return
    with screen.capture() as capture:
        screen.print(renderable)
    for line in capture.get().splitlines():
        print(line.rstrip(), file=out)
