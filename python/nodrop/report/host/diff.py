"""The differences between two hosts for a terminal and as JSON."""

import json
import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from nodrop.analysis.host_diff import DescriptorPart, HostChange
from nodrop.units import format_count

PARTS: dict[DescriptorPart, str] = {
    "host": "Identity",
    "capabilities": "Capabilities",
    "settings": "Settings",
    "resources": "Resources",
}
LEFT, INDENT = "  ", " " * 4
ARROW = " → "


def format_host_diff(a: str, b: str, changes: Sequence[HostChange], width: int) -> Iterator[Text]:
    """Yield all differences: first those known, part by part, then facts known of one host only.

    Args:
        a: the name of A.
        b: the name of B.
        changes: from `nodrop.analysis.host_diff`.
        width: columns of the terminal.
    """
    yield Text.assemble(("A  ", "bold"), a)
    yield Text.assemble(("B  ", "bold"), b)
    yield Text()
    differences = [each for each in changes if each.kind != "known"]
    yield Text(summarize_diff(changes), style="bold")
    for part, title in PARTS.items():
        selected = [each for each in differences if each.part == part]
        yield from _render_part(title, selected, width)
    yield from _render_part("Known of one host only", [each for each in changes if each.kind == "known"], width)


def summarize_diff(changes: Sequence[HostChange]) -> str:
    """Return the number of differences of each kind, in a sentence."""
    differences = [each for each in changes if each.kind != "known"]
    counts = [(title.lower(), sum(each.part == part for each in differences)) for part, title in PARTS.items()]
    listed = ", ".join(f"{count} in {title}" for title, count in counts if count)
    open_count = len(changes) - len(differences)
    rest = f" {format_count(open_count, 'more is', 'more are')} known of one host only." if open_count else ""
    if not differences:
        return f"No known difference.{rest}"
    return f"{format_count(len(differences), 'difference')}: {listed}.{rest}"


def dump_host_diff(a: str, b: str, changes: Sequence[HostChange]) -> str:
    """Return all differences as JSON."""
    rows = [each._asdict() for each in changes]
    same = all(each.kind == "known" for each in changes)
    return json.dumps({"a": a, "b": b, "same": same, "changes": rows}, indent=2, ensure_ascii=False) + "\n"


def _render_part(title: str, changes: Sequence[HostChange], width: int) -> Iterator[Text]:
    if changes:
        yield Text()
        yield Text(f"{title} ({len(changes)})", style="bold")
    for each in changes:
        yield from _render_change(each, width)


def _render_change(change: HostChange, width: int) -> Iterator[Text]:
    source = _format_sources(change)
    line = f"{LEFT}{change.text}: {change.a_text}{ARROW}{change.b_text}"
    if len(line) <= width:
        spare = width - len(line) - len(source) - 2
        yield Text.assemble(
            f"{LEFT}{change.text}: ",
            (change.a_text, "red"),
            ARROW,
            (change.b_text, "green"),
            (f"  {source}" if source and spare >= 0 else "", "dim"),
        )
        if source and spare < 0:
            yield Text(f"{INDENT}{source}", style="dim", overflow="fold")
        return
    yield Text(f"{LEFT}{change.text}")
    for name, value, style in (("A", change.a_text, "red"), ("B", change.b_text, "green")):
        lines = textwrap.wrap(value, width - len(INDENT) - 3, break_on_hyphens=False) or [""]
        for index, each in enumerate(lines):
            yield Text(f"{INDENT}{'  ' if index else name + ' '} {each}", style=style)
    if source:
        yield Text(f"{INDENT}{source}", style="dim", overflow="fold")


def _format_sources(change: HostChange) -> str:
    """Return the sources of both values; one if they are equal."""
    sources = [each for each in dict.fromkeys((change.a_source, change.b_source)) if each]
    return f"[{' | '.join(sources)}]" if sources else ""
