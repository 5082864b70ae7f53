"""What a format does not say, as sentences that go into the file as comments."""

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100


def to_plain_line(text: str) -> str:
    """One line of what can be printed: of names that strangers chose."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return re.sub(r" +", " ", line).strip()


def format_hash_comments(notes: Sequence[str]) -> str:
    """As comments of YAML and shell."""
    lines = [
        textwrap.fill(to_plain_line(each), WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
        for each in notes
    ]
    return "".join(f"{each}\n" for each in lines)


def format_xml_comment(note: str) -> str:
    """As the text of a comment in XML, which may hold no two dashes in turn, nor end with one."""
    lines = textwrap.wrap(re.sub(r"-(?=-)", "- ", to_plain_line(note)), WIDTH - 10, break_on_hyphens=False)
    return f" {f'{chr(10)}       '.join(lines)} "
