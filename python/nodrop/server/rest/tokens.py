"""Access tokens of the server, read from a file."""

import hmac
import stat
from collections.abc import Sequence
from pathlib import Path

from nodrop.errors import ConfigError

LENGTH_MIN = 16
"""Shortest token that cannot be guessed."""


class Tokens:
    """The valid tokens of a server."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    def authorizes(self, authorization: bytes | None) -> bool:
        """Return whether an Authorization header carries a valid token, in constant time."""
        scheme, _, candidate = (authorization or b"").strip().partition(b" ")
        return self.is_valid(candidate.strip()) and scheme.lower() == b"bearer"

    def is_valid(self, candidate: bytes) -> bool:
        """Return whether a token is valid, in constant time."""
        matches = [hmac.compare_digest(candidate, token) for token in self._tokens]
        return any(matches)


def read_tokens(file: Path) -> tuple[str, ...]:
    """Read the tokens of a file, one per line, without empty lines and comments (#).

    Raises: ConfigError if other users can read the file, or if it holds no token or an invalid one.
    """
    try:
        with file.open(encoding="utf-8") as opened:
            mode = stat.S_IMODE(file.stat().st_mode)
            lines = [line.strip() for line in opened]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"--token-file: cannot read {file}: {reason}; give a file with one token per line") from None
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ConfigError(
            f"--token-file: other users can read or change {file} (mode {mode:04o}); run 'chmod 600 {file}'"
        )
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise ConfigError(f"--token-file: {file} contains no token; add one per line, e.g. from 'openssl rand -hex 32'")
    for token in tokens:
        if len(token) < LENGTH_MIN or not token.isascii() or any(letter.isspace() for letter in token):
            raise ConfigError(
                f"--token-file: a token in {file} has fewer than {LENGTH_MIN} characters, spaces or non-ASCII "
                "characters; generate tokens with 'openssl rand -hex 32'"
            )
    return tokens
