"""Forms of pages: read whole, and known to come from a page of this server."""

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
    """What forms on a page carry: other sites cannot read it, so they cannot make up a form of ours."""
    site: Site = connection.app.state.site
    session = (read_session(connection) if site.sessions else None) or ""
    return hmac.new(site.secret, session.encode(), hashlib.sha256).hexdigest()


async def read_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form. Raises Problem when it is not one of this server's, or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Problem(415, f"a form asked for, sent as {request.headers.get('content-type')}; send it as {FORM}")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES_MAX:
            raise Problem(413, f"a form of more than {FORM_BYTES_MAX} bytes sent; send less")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Problem(400, "a form asked for, what was sent is none; send it from its page") from None
    if not hmac.compare_digest(fields.pop(TOKEN_FIELD, [""])[0].encode(), make_form_token(request).encode()):
        raise Problem(403, "this form is of an earlier login or of another site; load its page and send it again")
    return fields


def read_field(fields: dict[str, list[str]], name: str) -> str:
    """The value of a field that stands once; empty where it is not there."""
    return fields.get(name, [""])[0].strip()
