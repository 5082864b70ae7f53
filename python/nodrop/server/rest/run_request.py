"""Parsing and checking of request bodies, before a run is queued."""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from nodrop.errors import NodropError
from nodrop.model.plan import Plan
from nodrop.server.rest.forbidden_keys import find_forbidden_keys
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.server_config import ServerConfig, make_request_plans

BODY_BYTES_MAX = 2**20
DEPTH_MAX = 32


async def read_json(request: Request) -> Any:
    """Return the parsed body of a request.

    Raises: Problem 413 if it is too large, 415 for another content type, 400 for invalid JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        actual = f"{kind} is not supported" if kind else "missing"
        raise Problem(415, f"Content-Type: {actual}; send JSON as application/json")
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > BODY_BYTES_MAX:
            raise Problem(
                413, f"request body too large (more than {BODY_BYTES_MAX} bytes); send configuration keys only"
            )
    return _parse(bytes(received))


async def read_checked_body(request: Request, config: ServerConfig) -> dict[str, Any]:
    """Return the keys of a request body after checking them.

    Raises: Problem 403 for a forbidden key, 422 for an invalid one.
    """
    body = await read_body(request)
    await run_in_threadpool(check_body, body, config)
    return body


async def read_body(request: Request) -> dict[str, Any]:
    """Return the keys of a request body, unchecked. Raises Problem if it is not an object."""
    content = await read_json(request)
    body = {} if content is None else content
    if not isinstance(body, dict):
        raise Problem(422, f"request body is not a JSON object ({json.dumps(body)[:80]}); send e.g. {{}}")
    return body


def check_body(body: Mapping[str, Any], config: ServerConfig) -> tuple[Plan, ...]:
    """Return the plans of a request body. Raises Problem if it is invalid."""
    forbidden = list(find_forbidden_keys(body))
    if forbidden:
        raise Problem(403, "\n".join(forbidden), forbidden)
    try:
        return make_request_plans(config, body)
    except NodropError as error:
        raise Problem(422, str(error), str(error).splitlines()) from None


def _parse(text: bytes) -> Any:
    try:
        content = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_reject_duplicates,
            parse_constant=_reject_constant,
            parse_float=_parse_finite,
        )
        _check_depth(content, DEPTH_MAX)
    except UnicodeDecodeError:
        raise Problem(400, "invalid JSON: not UTF-8 text; send UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(400, f"invalid JSON at {where}: {error.msg}; fix the body") from None
    except (RecursionError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"more than {DEPTH_MAX} levels"
        raise Problem(400, f"invalid JSON: {reason}; fix the body") from None
    return content


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"duplicate key {key[:80]!r}")
        unique[key] = value
    return unique


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"number too large ({text[:40]})")
    return number


def _check_depth(content: Any, levels: int) -> None:
    if levels == 0:
        raise ValueError(f"more than {DEPTH_MAX} levels")
    for inner in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        _check_depth(inner, levels - 1)
