"""What a format does not say, as sentences that go into the file as comments."""

import re
from collections.abc import Sequence


def plain(text: str) -> str:
    """One line without what ends a comment: of names that strangers chose."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return re.sub(r"-(?=-)", "- ", re.sub(r" +", " ", line)).strip().removesuffix("-")


def hashed(notes: Sequence[str]) -> str:
    """As comments of YAML and shell."""
    return "".join(f"# {plain(each)}\n" for each in notes)
