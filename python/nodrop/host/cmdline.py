"""The kernel command line without secrets, as descriptors and captures are shared."""

import re

from nodrop.host.inputs import Source

CMDLINE = "/proc/cmdline"
_SECRET = re.compile(rb"(?i)^([^\s=]*(?:passw|passphrase|secret|token|auth_?key|api_?key)[^\s=]*=).+")
_CREDENTIALS = re.compile(rb"(://)[^/@\s]+@")


def read_cmdline(source: Source) -> str | None:
    """Return the command line; None: see `FileTree.why`."""
    return source.tree.read_text(CMDLINE, reduce=strip_secrets)


def read_arguments(source: Source, key: str) -> tuple[str, ...] | None:
    """Return the values of an argument, `""` for one without a value; None: the command line cannot be read."""
    text = read_cmdline(source)
    if text is None:
        return None
    pairs = (word.partition("=") for word in text.split())
    return tuple(value for name, _, value in pairs if name == key)


def strip_secrets(content: bytes) -> bytes:
    """Replace values of keys such as `password=` and credentials before the @ of a URL by `...`."""
    words = (_CREDENTIALS.sub(rb"\1...@", _SECRET.sub(rb"\1...", word)) for word in content.split())
    return b" ".join(words)
