"""Where tables go: rich takes width, colours and NO_COLOR from the terminal and the environment."""

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text


def console(out: TextIO) -> Console:
    """A console that prints text as it is; on a pipe it writes no control characters."""
    return Console(file=out, highlight=False, markup=False, emoji=False, force_terminal=out.isatty())


def show_lines(lines: Iterable[RenderableType], out: TextIO) -> None:
    """Print lines that have their width already: what is longer, as a command to copy, is left whole."""
    screen = console(out)
    for line in lines:
        screen.print(line, soft_wrap=True) if isinstance(line, Text) else show(line, out)


def show(renderable: RenderableType, out: TextIO) -> None:
    """Print it, without the blanks at the ends of lines where no terminal needs them."""
    screen = console(out)
    if screen.is_terminal:
        screen.print(renderable)
        return
    with screen.capture() as capture:
        screen.print(renderable)
    for line in capture.get().splitlines():
        print(line.rstrip(), file=out)
