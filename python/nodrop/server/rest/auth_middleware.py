"""Authentication middleware: checks host, origin and credentials of every request.

Programs authenticate with a token, browsers with the cookie of a session.
"""

import ipaddress
from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nodrop.server.rest.problem import Problem, make_problem_response
from nodrop.server.rest.sessions import Sessions
from nodrop.server.rest.tokens import Tokens

OPEN_PATHS = frozenset({"/health", "/login"})
"""Paths without authentication: monitoring and login."""
OPEN_PREFIX = "/static/"
"""Style and scripts of the pages, which hold no data."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110 section 9.2.1)."""
OWN_SITE = frozenset({"same-origin", "none"})
"""Sec-Fetch-Site of requests from a page of this server, or typed by the user."""
MakeErrorPage = Callable[[HTTPConnection, Problem], Response | None]
"""Renders a problem as a page; returns None if the client gets the answer of the interface."""


def make_cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the session cookie, with the port, since browsers share cookies between ports of a host."""
    _, _, port = connection.headers.get("host", "").rpartition(":")
    return f"nodrop-{port}" if port.isdigit() else "nodrop"


def read_session(connection: HTTPConnection) -> str | None:
    """Return the session in a request's cookie."""
    return connection.cookies.get(make_cookie_name(connection))


class AuthMiddleware:
    """Passes a request on, or answers it with 400, 401 or 403.

    Without tokens the server listens on loopback only. There the attacker is a web page in the user's browser: by a
    name that resolves to 127.0.0.1 (DNS rebinding), which the Host header reveals, or by a cross-origin request, which
    the Origin and Sec-Fetch-Site headers reveal. These two also protect requests with a cookie, since browsers add
    cookies by themselves.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens | None,
        host: str,
        sessions: Sessions | None = None,
        make_page: MakeErrorPage | None = None,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._sessions = sessions
        self._hosts = {"localhost", host.lower()}
        self._make_page = make_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with an error, or pass the request on."""
        problem = self._find_problem(HTTPConnection(scope)) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        # No page for a foreign host name: a web page of that name could read it, and the form tokens in it.
        make_page = self._make_page if problem.status != 400 else None
        response = make_page(HTTPConnection(scope), problem) if make_page else None
        challenge = {"WWW-Authenticate": 'Bearer realm="nodrop"'} if problem.status == 401 else None
        await (response or make_problem_response(problem, challenge))(scope, receive, send)

    def _find_problem(self, connection: HTTPConnection) -> Problem | None:
        host = connection.headers.get("host", "")
        if problem := self._check_origin(connection, host):
            return problem
        if self._tokens:
            return self._check_credentials(connection, self._tokens)
        if not self._is_server_name(_parse_host_name(host)):
            return Problem(400, f"unknown host {host!r}; use 127.0.0.1, localhost or the address of the server")
        return None

    def _check_origin(self, connection: HTTPConnection, host: str) -> Problem | None:
        """Return a problem if the request comes from a page of another site."""
        origin, site = connection.headers.get("origin"), connection.headers.get("sec-fetch-site", "none")
        if origin is not None and origin.partition("://")[2] != host:
            return Problem(403, f"requests from other sites are forbidden (Origin: {origin})")
        if site not in OWN_SITE and connection.scope["method"] not in SAFE_METHODS:
            return Problem(403, f"requests from other sites are forbidden (Sec-Fetch-Site: {site})")
        return None

    def _check_credentials(self, connection: HTTPConnection, tokens: Tokens) -> Problem | None:
        """Return a problem without a valid token or session."""
        path, headers = connection.scope["path"], connection.headers
        authorization = headers.get("authorization")
        if path in OPEN_PATHS or path.startswith(OPEN_PREFIX):
            return None
        if tokens.authorizes(authorization.encode("latin-1") if authorization is not None else None):
            return None
        if not (self._sessions and self._sessions.is_open(read_session(connection))):
            return Problem(401, "missing or unknown token; send Authorization: Bearer TOKEN")
        if connection.scope["method"] in SAFE_METHODS or "origin" in headers or "sec-fetch-site" in headers:
            return None
        return Problem(403, "a change with a cookie needs the header Origin or Sec-Fetch-Site; send a token instead")

    def _is_server_name(self, name: str) -> bool:
        if name in self._hosts:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def _parse_host_name(host: str) -> str:
    """Return a Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
