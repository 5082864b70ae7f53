"""Login sessions: a browser presents a token once and then holds a cookie that is not the token."""

import collections
import secrets
import time
from collections.abc import Callable

from nodrop.server.rest.problem import Problem
from nodrop.server.rest.tokens import Tokens

SESSION_S = 12 * 3600.0
"""Lifetime of a session."""
SESSIONS_MAX = 1000
GUESSES_MAX = 10
"""Wrong tokens allowed from one address within a window."""
WINDOW_S = 60.0
ADDRESSES_MAX = 10_000


class Sessions:
    """The sessions of one server process."""

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = tokens
        self._clock = clock
        self._ends: dict[str, float] = {}
        """Expiry time of each session, oldest first."""
        self._guesses: collections.OrderedDict[str, list[float]] = collections.OrderedDict()

    def open(self, token: str, address: str) -> str | None:
        """Open a session for a valid token; None if the token is wrong.

        Raises: Problem after too many wrong tokens from this address.
        """
        now = self._clock()
        recent = [time_s for time_s in self._guesses.get(address, []) if time_s > now - WINDOW_S]
        if len(recent) >= GUESSES_MAX:
            raise Problem(429, f"too many wrong tokens from {address} ({GUESSES_MAX}); wait a minute")
        if not self._tokens.is_valid(token.encode()):
            self._guesses[address] = [*recent, now]
            self._guesses.move_to_end(address)
            if len(self._guesses) > ADDRESSES_MAX:
                self._guesses.popitem(last=False)
            return None
        session = secrets.token_urlsafe(32)
        self._ends[session] = now + SESSION_S
        if len(self._ends) > SESSIONS_MAX:
            del self._ends[next(iter(self._ends))]
        return session

    def is_open(self, session: str | None) -> bool:
        """Return whether a session exists and has not expired."""
        return session is not None and self._ends.get(session, 0.0) > self._clock()

    def close(self, session: str | None) -> None:
        """Close a session, if it exists."""
        self._ends.pop(session or "", None)
