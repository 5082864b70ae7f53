"""Output in any encoding: characters that the encoding of an output lacks are written in ASCII.

Outputs are UTF-8 on most machines, but ASCII with `LC_ALL=POSIX`, and ISO-8859-1 on some terminals.
"""

import codecs
import io
import json
import sys
from typing import TextIO

REPLACEMENTS = {
    **dict.fromkeys("─━╌┄═", "-"),
    **dict.fromkeys("│┃┊┆║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201c\u201d", "'"),  # not a double quote, which would end a string of JSON
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
    **dict.fromkeys("µμ", "u"),
    **dict.fromkeys("·•●", "*"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-~=+*#", strict=True)),
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "↑": "^",
    "↓": "v",
    "►": ">",
    "◄": "<",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "±": "+-",
    "\u00d7": "x",
    "÷": "/",
    "…": "...",
    "°": "deg",
    "○": "o",
    "△": "^",
    "✔": "+",
    "✓": "+",
    "✘": "x",
    "✗": "x",
    "⚠": "!",
    "π": "pi",
    "\u03c3": "sigma",
    "∞": "inf",
    "®": "(R)",
    "©": "(C)",
    "™": "(TM)",
}
"""ASCII text for characters of nodrop's output. Others are written as in JSON: `\\u00e9`."""
ERROR_HANDLER = "nodrop.ascii"
ASCII = "nodrop-ascii"
"""ASCII by another name: click writes UTF-8 to an output whose encoding is called ASCII."""


def accept_any_text() -> None:
    """Make standard output and standard error write any text: what their encoding lacks, in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=ASCII if is_ascii else None, errors=ERROR_HANDLER)


def replace_missing_characters(text: str, encoding: str) -> str:
    """Return a text with the characters that the encoding lacks in ASCII, to measure its width before it is written."""
    return text if text.isascii() else text.encode(encoding, ERROR_HANDLER).decode(encoding)


def escape_json(text: str, out: TextIO | None) -> str:
    """Return JSON for an output: unless it is UTF-8, characters beyond ASCII become escape sequences."""
    if out is None or is_utf(out.encoding or "utf-8"):
        return text
    return "".join(each if each.isascii() else _escape(each) for each in text)


def is_utf(encoding: str) -> bool:
    """Return whether an encoding has all characters."""
    return encoding.lower().startswith("utf")


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(REPLACEMENTS.get(each) or _escape(each) for each in missing), error.end


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != ASCII.replace("-", "_"):
        return None
    known = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=ASCII,
        encode=known.encode,
        decode=known.decode,
        incrementalencoder=known.incrementalencoder,
        incrementaldecoder=known.incrementaldecoder,
        streamreader=known.streamreader,
        streamwriter=known.streamwriter,
    )


codecs.register_error(ERROR_HANDLER, _replace)
codecs.register(_find_codec)
