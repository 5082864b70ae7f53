"""Pages that keep themselves fresh: a script asks now and then for the piece that changes, and shows it if it did."""

import hashlib
from typing import Any

from fastapi import Request, Response

from nodrop.server.pages.render import render

PIECE_HEADER = "X-Piece"
"""A request with it wants the piece alone."""


def render_or_update(request: Request, template: str, piece: str, **values: Any) -> Response:
    """A page or, when the script asks, the piece of it that changes: 204 while it is what was shown before."""
    known = request.headers.get(PIECE_HEADER)
    part = render(request, piece, **values)
    version = hashlib.sha256(part.body).hexdigest()[:16]
    if known == version:
        return Response(status_code=204)
    part.headers[PIECE_HEADER] = version
    return part if known is not None else render(request, template, **values, piece_version=version)
