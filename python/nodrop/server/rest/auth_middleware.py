"""What stands before every request: whom it claims to be for, where it comes from, and whether it may come in.

A request comes in with a token, as programs have one, or with the cookie of a session, as browsers have that logged in.
"""

import ipaddress
from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nodrop.server.rest.problem import Problem, problem_response
from nodrop.server.rest.sessions import Sessions
from nodrop.server.rest.tokens import Tokens

OPEN_PATHS = frozenset({"/health", "/login"})
"""What anybody may ask: for whoever watches over the server, and to log in."""
OPEN_PREFIX = "/static/"
"""Style and scripts of the pages, which hold nothing of anybody."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""They change nothing (RFC 9110 section 9.2.1)."""
OWN_SITE = frozenset({"same-origin", "none"})
"""Sec-Fetch-Site of what a page of this server asked, or the user by hand."""
Reply = Callable[[HTTPConnection, Problem], Response | None]
"""How a problem is told where it is not told as by the interfaces, as on a page; None: as by them."""


def cookie_name(connection: HTTPConnection) -> str:
    """The name of a session's cookie: browsers keep those of all servers of a host, whatever the port, together."""
    _, _, port = connection.headers.get("host", "").rpartition(":")
    return f"nodrop-{port}" if port.isdigit() else "nodrop"


def session_of(connection: HTTPConnection) -> str | None:
    """The session that a request claims."""
    return connection.cookies.get(cookie_name(connection))


class Guard:
    """Lets a request through, or answers it with 400, 401 or 403.

    Without tokens the server listens on loopback only. There a web page in the user's browser is the way in: by a name
    that its owner lets point to 127.0.0.1 (DNS rebinding), which the Host header gives away, or by a request across
    origins, which the Origin and Sec-Fetch-Site headers do. Those two also guard what a cookie allows: browsers send it
    along by themselves.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens | None,
        host: str,
        sessions: Sessions | None = None,
        reply: Reply | None = None,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._sessions = sessions
        self._hosts = {"localhost", host.lower()}
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        problem = self._objection(HTTPConnection(scope)) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        # Not a page for whoever came by a foreign name: a page of that name could read it, and the form tokens in it.
        told = self._reply if problem.status != 400 else None
        response = told(HTTPConnection(scope), problem) if told else None
        challenge = {"WWW-Authenticate": 'Bearer realm="nodrop"'} if problem.status == 401 else None
        await (response or problem_response(problem, challenge))(scope, receive, send)

    def _objection(self, connection: HTTPConnection) -> Problem | None:
        host = connection.headers.get("host", "")
        if foreign := self._foreign(connection, host):
            return foreign
        if self._tokens:
            return self._unknown(connection, self._tokens)
        if not self._is_meant(_name_of(host)):
            return Problem(
                400,
                f"host {host!r} asked, this server answers to 127.0.0.1 and localhost; use the address it listens on",
            )
        return None

    def _foreign(self, connection: HTTPConnection, host: str) -> Problem | None:
        """Whether it comes from a page of somebody else."""
        origin, site = connection.headers.get("origin"), connection.headers.get("sec-fetch-site", "none")
        if origin is not None and origin.partition("://")[2] != host:
            return Problem(403, f"a request from the web page {origin} asked, other sites may not")
        if site not in OWN_SITE and connection.scope["method"] not in SAFE_METHODS:
            return Problem(403, f"a request from a web page of another site ({site}) asked, other sites may not")
        return None

    def _unknown(self, connection: HTTPConnection, tokens: Tokens) -> Problem | None:
        """Whether nobody known asks."""
        path, headers = connection.scope["path"], connection.headers
        authorization = headers.get("authorization")
        if path in OPEN_PATHS or path.startswith(OPEN_PREFIX):
            return None
        if tokens.admit(authorization.encode("latin-1") if authorization is not None else None):
            return None
        if not (self._sessions and self._sessions.knows(session_of(connection))):
            return Problem(401, "no known token; send Authorization: Bearer TOKEN")
        if connection.scope["method"] in SAFE_METHODS or "origin" in headers or "sec-fetch-site" in headers:
            return None
        return Problem(403, "a change asked by cookie, without Origin or Sec-Fetch-Site; send a token instead")

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
