"""Parser for indented `key: value` lines that resemble YAML but are not."""

import re
from typing import NamedTuple

from nodrop.errors import ConfigError

INDENT_MAX = 80
_LINE = re.compile(r"([^:]*)(:?)(.*)")


class Branch(NamedTuple):
    """A line and the lines indented below it."""

    key: str
    """Lower case, words joined by `-`."""
    text: str
    value: str
    line: int
    bare: bool
    """Whether the line has no colon."""
    children: tuple["Branch", ...] = ()


class _Line(NamedTuple):
    indent: int
    branch: Branch


def parse_indented(text: str, name: str) -> tuple[Branch, ...]:
    """Return the least indented lines, each with those below it.

    Raises: ConfigError naming a line with inconsistent indentation.
    """
    lines = [line for number, each in enumerate(text.splitlines(), 1) if (line := _parse_line(each, number, name))]
    return _nest_lines(lines, lines[0].indent if lines else 0, name)


def _nest_lines(lines: list[_Line], indent: int, name: str) -> tuple[Branch, ...]:
    starts = [index for index, line in enumerate(lines) if line.indent <= indent]
    branches = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        line, inner = lines[start], lines[start + 1 : end]
        if line.indent < indent or any(each.indent < inner[0].indent for each in inner):
            strange = line if line.indent < indent else min(inner, key=lambda each: each.indent)
            raise ConfigError(
                f"{name}: line {strange.branch.line}: {strange.branch.text}: inconsistent indentation; align it"
            )
        children = _nest_lines(inner, inner[0].indent, name) if inner else ()
        if children and (line.branch.value or line.branch.bare):
            raise ConfigError(
                f"{name}: line {inner[0].branch.line}: {inner[0].branch.text}: indented below a value; align it"
            )
        branches.append(line.branch._replace(children=children))
    return tuple(branches)


def _parse_line(text: str, number: int, name: str) -> _Line | None:
    """Parse a line; None for an empty one, a comment, and the fence of a code block."""
    text = text.replace("\u00a0", " ").rstrip()
    bare = text.lstrip(" ")
    if not bare or bare.startswith(("#", "```")):
        return None
    if bare.startswith("\t") or len(text) - len(bare) > INDENT_MAX:
        raise ConfigError(
            f"{name}: line {number}: indented by a tab or more than {INDENT_MAX} blanks; use a few blanks"
        )
    matched = _LINE.fullmatch(bare)
    assert matched
    key = re.sub(r"[-_ ]+", "-", matched[1].strip().lower())
    branch = Branch(key, matched[1].strip(), matched[3].strip(), number, not matched[2])
    return _Line(len(text) - len(bare), branch)
