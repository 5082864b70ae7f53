"""Who is logged in: browsers that showed a token once and hold a cookie since, which is not the token."""

import collections
import secrets
import time
from collections.abc import Callable

from nodrop.server.rest.problem import Problem
from nodrop.server.rest.tokens import Tokens

SESSION_S = 12 * 3600.0
"""How long a login lasts."""
SESSIONS_MAX = 1000
GUESSES_MAX = 10
"""Wrong tokens from one address within a window, before it has to wait."""
WINDOW_S = 60.0
ADDRESSES_MAX = 10_000


class Sessions:
    """The logins of one server; they end with it."""

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = tokens
        self._clock = clock
        self._ends: dict[str, float] = {}
        """When each session is over, oldest first."""
        self._guesses: collections.OrderedDict[str, list[float]] = collections.OrderedDict()

    def open(self, token: str, address: str) -> str | None:
        """A new session for whoever shows a token; None where it is not one of ours.

        Raises: Problem when this address has guessed too often.
        """
        now = self._clock()
        recent = [moment for moment in self._guesses.get(address, []) if moment > now - WINDOW_S]
        if len(recent) >= GUESSES_MAX:
            raise Problem(429, f"a login asked, {GUESSES_MAX} tokens from {address} were wrong; wait a minute")
        if not self._tokens.knows(token.encode()):
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

    def knows(self, session: str | None) -> bool:
        """Whether somebody is logged in by that name."""
        return session is not None and self._ends.get(session, 0.0) > self._clock()

    def close(self, session: str | None) -> None:
        """Log out."""
        self._ends.pop(session or "", None)
