"""Security headers of all responses."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
"""Content security policy of pages: nothing from other hosts, nothing inline, no eval."""
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # no-referrer makes browsers send forms with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class HeadersMiddleware:
    """Adds the headers to every response that does not set them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def add_headers(headers: MutableHeaders) -> None:
    """Add missing headers."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
