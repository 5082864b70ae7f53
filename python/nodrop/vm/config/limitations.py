"""Comments in configuration files about facts that a format cannot express."""

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100


def to_plain_line(text: str) -> str:
    """Return one line of printable characters, as names may be untrusted."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return re.sub(r" +", " ", line).strip()


def format_hash_comments(notes: Sequence[str]) -> str:
    """Format comments of YAML and shell."""
    lines = [
        textwrap.fill(to_plain_line(each), WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
        for each in notes
    ]
    return "".join(f"{each}\n" for each in lines)


def format_xml_comment(note: str) -> str:
    """Format the text of an XML comment, which must not contain two adjacent dashes nor end with one."""
    lines = textwrap.wrap(re.sub(r"-(?=-)", "- ", to_plain_line(note)), WIDTH - 10, break_on_hyphens=False)
    return f" {f'{chr(10)}       '.join(lines)} "
