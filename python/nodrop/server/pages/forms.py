"""Forms of pages: parsing, and protection against requests forged by other sites."""

import hashlib
import hmac
from urllib.parse import parse_qs

from fastapi import Request
from starlette.requests import HTTPConnection

from nodrop.server.pages.context import Site
from nodrop.server.rest.auth_middleware import read_session
from nodrop.server.rest.problem import Problem

TOKEN_FIELD = "form_token"
FORM = "application/x-www-form-urlencoded"
FORM_BYTES_MAX = 2**20
FIELDS_MAX = 2000


def make_form_token(connection: HTTPConnection) -> str:
    """Return the token of a page's forms; other sites cannot read it, so they cannot forge a form."""
    site: Site = connection.app.state.site
    session = (read_session(connection) if site.sessions else None) or ""
    return hmac.new(site.secret, session.encode(), hashlib.sha256).hexdigest()


async def read_form(request: Request) -> dict[str, list[str]]:
    """Read the fields of a form. Raises Problem if it is forged, malformed or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Problem(
            415, f"Content-Type: {request.headers.get('content-type')} is not supported; send a form as {FORM}"
        )
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES_MAX:
            raise Problem(413, f"form too large (more than {FORM_BYTES_MAX} bytes)")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Problem(400, "invalid form; submit it from its page") from None
    if not hmac.compare_digest(fields.pop(TOKEN_FIELD, [""])[0].encode(), make_form_token(request).encode()):
        raise Problem(
            403, "this form belongs to an earlier login or to another site; reload its page and submit it again"
        )
    return fields


def read_field(fields: dict[str, list[str]], name: str) -> str:
    """Return the first value of a field; empty if missing."""
    return fields.get(name, [""])[0].strip()
