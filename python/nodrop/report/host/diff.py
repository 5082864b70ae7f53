"""In what two hosts differ, as people read it."""

import json
import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from nodrop.analysis.host_diff import HostChange, DescriptorPart

PARTS: dict[DescriptorPart, str] = {
    "host": "Which host",
    "capabilities": "Capabilities",
    "settings": "Settings",
    "resources": "Resources",
}
LEFT, INDENT = "  ", " " * 4
ARROW = " → "


def diff_lines(a: str, b: str, changes: Sequence[HostChange], width: int) -> Iterator[Text]:
    """All changes: first what is known to differ, part by part, then what is known of one host alone.

    Args:
        a: what A is called.
        b: what B is called.
        changes: as `verdict.hosts.hosts_differ` gives them.
        width: columns there are.
    """
    yield Text.assemble(("A  ", "bold"), a)
    yield Text.assemble(("B  ", "bold"), b)
    yield Text()
    known = [each for each in changes if each.kind != "known"]
    yield Text(summary(changes), style="bold")
    for part, title in PARTS.items():
        chosen = [each for each in known if each.part == part]
        yield from _headed(title, chosen, width)
    yield from _headed("Known of one of them alone", [each for each in changes if each.kind == "known"], width)


def summary(changes: Sequence[HostChange]) -> str:
    """How many differences of which kind, in a sentence."""
    known = [each for each in changes if each.kind != "known"]
    counts = [(title.lower(), sum(each.part == part for each in known)) for part, title in PARTS.items()]
    listed = ", ".join(
        f"{count} in {title.replace('which host', 'which host it is')}" for title, count in counts if count
    )
    open_count = len(changes) - len(known)
    rest = f" {open_count} more {'is' if open_count == 1 else 'are'} known of one alone." if open_count else ""
    if not known:
        return f"Nothing that is known of both differs.{rest}"
    return f"{len(known)} {'difference' if len(known) == 1 else 'differences'}: {listed}.{rest}"


def diff_json(a: str, b: str, changes: Sequence[HostChange]) -> str:
    """All changes for programs."""
    rows = [each._asdict() for each in changes]
    same = all(each.kind == "known" for each in changes)
    return json.dumps({"a": a, "b": b, "same": same, "changes": rows}, indent=2, ensure_ascii=False) + "\n"


def _headed(title: str, changes: Sequence[HostChange], width: int) -> Iterator[Text]:
    if changes:
        yield Text()
        yield Text(f"{title} ({len(changes)})", style="bold")
    for each in changes:
        yield from _change(each, width)


def _change(change: HostChange, width: int) -> Iterator[Text]:
    source = _source(change)
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


def _source(change: HostChange) -> str:
    """Where it was seen, once where that is the same."""
    sources = [each for each in dict.fromkeys((change.a_source, change.b_source)) if each]
    return f"[{' | '.join(sources)}]" if sources else ""
