"""What the kernel was told as it started, without what looks like a secret: descriptors and captures are handed on."""

import re

from nodrop.host.inputs import Source

CMDLINE = "/proc/cmdline"
_SECRET = re.compile(rb"(?i)^([^\s=]*(?:passw|passphrase|secret|token|auth_?key|api_?key)[^\s=]*=).+")
_CREDENTIALS = re.compile(rb"(://)[^/@\s]+@")


def read_cmdline(source: Source) -> str | None:
    """The whole of it; None: the tree says why."""
    return source.tree.text(CMDLINE, keep=strip_secrets)


def read_arguments(source: Source, key: str) -> tuple[str, ...] | None:
    """What it says of a key, empty for one without a value; None: it cannot be read."""
    found = read_cmdline(source)
    if found is None:
        return None
    pairs = (word.partition("=") for word in found.split())
    return tuple(value for name, _, value in pairs if name == key)


def strip_secrets(held: bytes) -> bytes:
    """Values of keys such as `password=`, and names before the @ of an address, as `...`."""
    words = (_CREDENTIALS.sub(rb"\1...@", _SECRET.sub(rb"\1...", word)) for word in held.split())
    return b" ".join(words)
