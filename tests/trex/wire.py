"""Messages of TRex's RPC on the wire: JSON-RPC 2.0, single or in batches, plain or compressed.

Source: TRex RPC server specification; what servers of v2.59 to v3.08 do.
"""

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

MAGIC = 0xABE85CEA
HEADER = struct.Struct(">II")
REQUEST_MAX_BYTES = 999_999
"""After decompression."""
TITLES = {
    -32700: "Bad JSON Format",
    -32600: "Bad Request",
    -32601: "Method not registered",
    -32602: "Bad Parameters for method",
    -32603: "Internal Server Error",
    -32000: "Failed To Execute Method",
    -32001: "Try again",
    -32002: "Work in progress",
    -32003: "No results",
}
Handler = Callable[[str, dict[str, Any]], Any]


class Refusal(Exception):
    """A request that is answered by an error."""

    def __init__(self, text: str, code: int = -32000) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


def answer(message: bytes, handle: Handler) -> bytes:
    """Return the reply to a message, compressed if the message was."""
    is_compressed = len(message) >= HEADER.size and HEADER.unpack_from(message)[0] == MAGIC
    body = json.dumps(_answer(_plain(message) if is_compressed else message, handle)).encode()
    return packed(body) if is_compressed else body


def packed(body: bytes) -> bytes:
    """Return a message, compressed."""
    return HEADER.pack(MAGIC, len(body)) + zlib.compress(body)


def _plain(message: bytes) -> bytes:
    try:
        return zlib.decompress(message[HEADER.size :])
    except zlib.error:
        return b""


def _answer(body: bytes, handle: Handler) -> Any:
    if len(body) > REQUEST_MAX_BYTES:
        return _error(None, Refusal("Request is too large", -32603))
    try:
        request = json.loads(body)
    except ValueError as error:
        return _error(None, Refusal(str(error), -32700))
    if not isinstance(request, list):
        return _single(request, handle)
    replies = [_single(single, handle) for single in request]
    # A batch of one is answered like a single request, an empty one by null.
    return replies if len(replies) > 1 else replies[0] if replies else None


def _single(request: Any, handle: Handler) -> dict[str, Any]:
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or "id" not in request:
        return _error(None, Refusal("invalid request", -32600))
    number, method, params = request["id"], request.get("method"), request.get("params", {})
    if not isinstance(method, str):
        return _error(number, Refusal("field 'method' value is null", -32600))
    try:
        if not isinstance(params, dict):
            raise Refusal("parameters must be an object")
        return {"jsonrpc": "2.0", "id": number, "result": handle(method, params)}
    except Refusal as refusal:
        return _error(number, refusal)


def _error(number: Any, refusal: Refusal) -> dict[str, Any]:
    error = {"code": refusal.code, "message": TITLES[refusal.code], "specific_err": refusal.text}
    return {"jsonrpc": "2.0", "id": number, "error": error}
