"""What stands before every request: whom it claims to be for, where it comes from, and whether it knows a token."""

import ipaddress

from starlette.types import ASGIApp, Receive, Scope, Send

from nodrop.api.problem import Problem, problem_response
from nodrop.api.tokens import Tokens

OPEN_PATHS = frozenset({"/health"})
"""What anybody may ask, for whoever watches over the server."""


class Guard:
    """Lets a request through, or answers it with 400, 401 or 403.

    Without tokens the server listens on loopback only. There a web page in the user's browser is the way in: by a name
    that its owner lets point to 127.0.0.1 (DNS rebinding), which the Host header gives away, or by a request across
    origins, which the Origin header does.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens | None, host: str) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = {"localhost", host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        problem = self._objection(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        challenge = {"WWW-Authenticate": 'Bearer realm="nodrop"'} if problem.status == 401 else None
        await problem_response(problem, challenge)(scope, receive, send)

    def _objection(self, scope: Scope) -> Problem | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            return Problem(403, f"a request from the web page {origin.decode('latin-1')} asked, other sites may not")
        if self._tokens:
            known = scope["path"] in OPEN_PATHS or self._tokens.admit(headers.get(b"authorization"))
            return None if known else Problem(401, "no known token; send Authorization: Bearer TOKEN")
        if not self._is_meant(_name_of(host)):
            return Problem(
                400,
                f"host {host!r} asked, this server answers to 127.0.0.1 and localhost; use the address it listens on",
            )
        return None

    def _is_meant(self, name: str) -> bool:
        if name in self._hosts:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def _name_of(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
