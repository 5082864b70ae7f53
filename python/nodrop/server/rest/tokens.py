"""Who may use the server: whoever knows one of the tokens in a file."""

import hmac
import stat
from collections.abc import Sequence
from pathlib import Path

from nodrop.errors import ConfigError

LENGTH_MIN = 16
"""Characters of a token: fewer could be guessed."""


class Tokens:
    """The tokens that let a request in."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    def admit(self, authorization: bytes | None) -> bool:
        """Whether an Authorization header carries one of them; takes as long whether it is nearly right or not."""
        scheme, _, given = (authorization or b"").strip().partition(b" ")
        return self.knows(given.strip()) and scheme.lower() == b"bearer"

    def knows(self, given: bytes) -> bool:
        """Whether it is one of them; takes as long whether it is nearly right or not."""
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return any(matches)


def read_tokens(file: Path) -> tuple[str, ...]:
    """The tokens of a file, one a line; empty lines and those that begin with # do not count.

    Raises: ConfigError when others may read the file, or when it holds no token or one that is too short.
    """
    try:
        with file.open(encoding="utf-8") as opened:
            mode = stat.S_IMODE(file.stat().st_mode)
            lines = [line.strip() for line in opened]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"--token-file: {file} asked, {reason}; name a file with one token a line") from None
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ConfigError(
            f"--token-file: {file} asked, its mode {mode:04o} lets others read or change it; chmod 600 {file}"
        )
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise ConfigError(
            f"--token-file: {file} asked, it holds no token; write one a line, as `openssl rand -hex 32` gives"
        )
    for token in tokens:
        if len(token) < LENGTH_MIN or not token.isascii() or any(letter.isspace() for letter in token):
            raise ConfigError(
                f"--token-file: {file} asked, a token in it is shorter than {LENGTH_MIN} characters, has blanks or is "
                "not ASCII; write tokens as `openssl rand -hex 32` gives"
            )
    return tokens
