"""The body of a request, to what it asks for: nothing is begun for one that cannot be used."""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from nodrop.errors import NodropError
from nodrop.model.plan import Plan
from nodrop.server.rest.forbidden_keys import refusals
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.server_config import Base, plans_of

BODY_BYTES_MAX = 2**20
DEPTH_MAX = 32


async def read_json(request: Request) -> Any:
    """What a request's body says.

    Raises: Problem 413 when it is too large, 415 when it is not sent as JSON, 400 when it is not JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        found = f"found {kind}" if kind else "none found"
        raise Problem(415, f"Content-Type: application/json expected, {found}; send the body as JSON and say so")
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > BODY_BYTES_MAX:
            raise Problem(
                413, f"a body of at most {BODY_BYTES_MAX} bytes expected, found more; leave out what is no key"
            )
    return _parse(bytes(received))


async def read_asked(request: Request, base: Base) -> dict[str, Any]:
    """The keys that a request's body sets, after everything about them has been checked.

    Raises: Problem, 403 for a key that names something of the host, 422 for what cannot be used.
    """
    body = await read_keys(request)
    await run_in_threadpool(check, body, base)
    return body


async def read_keys(request: Request) -> dict[str, Any]:
    """The same, not checked yet. Raises Problem for what is no mapping."""
    content = await read_json(request)
    body = {} if content is None else content
    if not isinstance(body, dict):
        raise Problem(422, f"keys with values expected, found {json.dumps(body)[:80]}; send for example {{}}")
    return body


def check(body: Mapping[str, Any], base: Base) -> tuple[Plan, ...]:
    """What would be done with these keys. Raises Problem when no run could begin with them."""
    forbidden = list(refusals(body))
    if forbidden:
        raise Problem(403, "\n".join(forbidden), forbidden)
    try:
        return plans_of(base, body)
    except NodropError as error:
        raise Problem(422, str(error), str(error).splitlines()) from None


def _parse(text: bytes) -> Any:
    try:
        content = json.loads(
            text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
        _check_depth(content, DEPTH_MAX)
    except UnicodeDecodeError:
        raise Problem(400, "JSON expected, the body is not UTF-8 text; send it as UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(400, f"JSON expected, found at {where}: {error.msg}; mend the body") from None
    except (RecursionError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"it has more than {DEPTH_MAX} levels"
        raise Problem(400, f"JSON expected, {reason}; mend the body") from None
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:80]!r} is there twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON's")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _check_depth(content: Any, left: int) -> None:
    if left == 0:
        raise ValueError(f"it has more than {DEPTH_MAX} levels")
    for inner in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        _check_depth(inner, left - 1)
