"""TRex's RPC: JSON-RPC 2.0 over a ZeroMQ REQ socket.

Source: TRex RPC server specification; behavior of servers from v2.89 to v3.08.
"""

import itertools
import json
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple

import zmq

from nodrop.errors import GeneratorError

MAGIC = 0xABE85CEA
HEADER = struct.Struct(">II")
COMPRESS_FROM_BYTES = 4096
REQUEST_MAX_BYTES = 999_999
"""Highest size that a server accepts, after decompression."""
BATCH_BYTES = 500_000
TRIES = 3
"""For requests that may be repeated."""
PROBE_EVERY_S = 0.25
"""Interval for checking that the server still listens while a reply is due."""
SILENT_TIMEOUT_S = 1.0
"""Timeout after a request without a reply."""
TRY_AGAIN, IN_PROGRESS = -32001, -32002
BUSY_POLL_S = 0.1
BUSY_MAX_S = 30.0
"""How long a server may report that it is busy with one request."""
REPEATABLE = frozenset({"ping", "api_sync_v2", "stop_traffic", "remove_all_streams"})
"""Writing requests that have no further effect when repeated."""
CONSUMING = frozenset({"get_async_events", "get_async_results", "get_rx_queue_pkts"})
"""Reading requests whose reply is given only once."""


class TrexNoReply(GeneratorError):
    """The server does not reply: it does not run, cannot be reached, or ended."""


class TrexRefused(GeneratorError):
    """The server refused a request."""

    def __init__(self, message: str, method: str, code: int, reason: str) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        """JSON-RPC's error code, or one of TRex's own."""
        self.reason = reason
        """The server's message."""


class TrexPortsInUse(GeneratorError):
    """Another user holds the ports, or acquired them during the run."""


class TrexVersionError(GeneratorError):
    """The server's version or mode is not supported."""


class RpcCall(NamedTuple):
    """A request."""

    method: str
    params: dict[str, Any]

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be repeated without a reply."""
        return self.method in REPEATABLE or (self.method.startswith("get_") and self.method not in CONSUMING)


class RpcClient:
    """One connection; requests from several threads are serialized."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        """Prepare to connect on the first request; each reply may take `timeout_s`."""
        self._host, self._port = host, port
        self._timeout_s = timeout_s
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._silent = False
        self._numbers = itertools.count(1)
        self._lock = Lock()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Send one request and return its result. Raises TrexRefused; TrexNoReply."""
        return self.batch([RpcCall(method, params)])[0]

    def batch(self, calls: Sequence[RpcCall]) -> list[Any]:
        """Send requests that the server carries out in sequence, and return their results.

        Requests that do not fit into one message are split into several messages.

        Raises: TrexRefused for the first refused request, once all of a message were answered; TrexNoReply.
        """
        results: list[Any] = []
        for part in self._parts(calls):
            replies = self._exchange(part)
            results += [self._await_result(call, reply) for call, reply in zip(part, replies, strict=True)]
        return results

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._close_socket()
        self._context.term()

    def _parts(self, calls: Sequence[RpcCall]) -> list[list[RpcCall]]:
        parts: list[list[RpcCall]] = []
        room = 0
        for call in calls:
            size = len(_request(call, 2**31))
            if size > REQUEST_MAX_BYTES - 2:
                raise GeneratorError(
                    f"TRex request {call.method} is too large ({size} bytes, limit {REQUEST_MAX_BYTES}); use fewer or "
                    "shorter lists of values"
                )
            if size > room:
                parts.append([])
                room = BATCH_BYTES
            parts[-1].append(call)
            room -= size + 1
        return parts

    def _exchange(self, calls: Sequence[RpcCall]) -> list[dict[str, Any]]:
        """Send one message and return its replies in order."""
        numbers = [next(self._numbers) for _ in calls]
        texts = [_request(call, number) for call, number in zip(calls, numbers, strict=True)]
        body = texts[0] if len(texts) == 1 else b"[" + b",".join(texts) + b"]"
        tries = TRIES if all(call.is_repeatable for call in calls) else 1
        answer = self._decoded(self._send(pack(body), tries, calls[0].method))
        replies = answer if isinstance(answer, list) else [answer]
        # an error of the whole message comes alone and without an id
        if len(replies) == 1 and len(calls) > 1:
            replies *= len(calls)
        by_number = {reply.get("id"): reply for reply in replies}
        if by_number.keys() == {None}:
            return replies
        if by_number.keys() != set(numbers):
            raise self._protocol_error(f"ids {sorted(map(str, by_number))} in reply to {numbers}")
        return [by_number[number] for number in numbers]

    def _send(self, message: bytes, tries: int, method: str) -> bytes:
        """Send a message and return its reply. A server that did not reply before gets a short timeout."""
        tries, timeout_s = (1, min(self._timeout_s, SILENT_TIMEOUT_S)) if self._silent else (tries, self._timeout_s)
        with self._lock:
            for _ in range(tries):
                with suppress(TimeoutError):
                    answer = self._ask(message, timeout_s)
                    self._silent = False
                    return answer
        self._silent = True
        reason = "nothing listens there any more" if self._refused() else f"timeout after {timeout_s * tries:g} s"
        raise TrexNoReply(
            f"no reply to {method} from the TRex server at {self.address} ({reason}); check that it runs and that "
            f"port {self._port} is not blocked"
        )

    def _ask(self, message: bytes, timeout_s: float) -> bytes:
        """Exchange one message; after any failure, the socket is closed, as a REQ socket without a reply cannot send
        again."""
        requests = self._socket or self._open()
        end_s = time.monotonic() + timeout_s
        try:
            requests.send(message)
            while not requests.poll(round(1000 * min(PROBE_EVERY_S, timeout_s))):
                if time.monotonic() >= end_s or self._refused():
                    raise TimeoutError
            return requests.recv()
        except zmq.Again:
            self._close_socket()
            raise TimeoutError from None
        except BaseException:
            self._close_socket()
            raise

    def _refused(self) -> bool:
        """Return whether the connection is refused, which ZeroMQ does not report."""
        return isinstance(connection_error(self._host, self._port, PROBE_EVERY_S), ConnectionRefusedError)

    def _open(self) -> "zmq.Socket[bytes]":
        requests: zmq.Socket[bytes] = self._context.socket(zmq.REQ)
        requests.set(zmq.LINGER, 0)
        requests.set(zmq.SNDTIMEO, round(self._timeout_s * 1000))
        requests.set(zmq.RECONNECT_IVL, 20)
        requests.set(zmq.RECONNECT_IVL_MAX, 500)
        requests.connect(self.address)
        self._socket = requests
        return requests

    def _close_socket(self) -> None:
        if self._socket is not None:
            with suppress(zmq.ZMQError):
                self._socket.close(linger=0)
            self._socket = None

    @property
    def address(self) -> str:
        """Address of the server in ZeroMQ's notation."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"tcp://{host}:{self._port}"

    def _await_result(self, call: RpcCall, reply: dict[str, Any]) -> Any:
        """Return the result of a reply, waiting while the server reports that it is busy."""
        end_s = time.monotonic() + BUSY_MAX_S
        requested = call
        while (error := reply.get("error")) is not None:
            code = error.get("code")
            if code not in (TRY_AGAIN, IN_PROGRESS) or time.monotonic() > end_s:
                raise self._refusal(call, error)
            if code == IN_PROGRESS:
                ticket = {"ticket_id": int(error["specific_err"])}
                requested = RpcCall("get_async_results", ticket | _handle(call))
            time.sleep(BUSY_POLL_S)
            (reply,) = self._exchange([requested])
        if "result" not in reply:
            raise self._protocol_error(f"neither result nor error in reply to {call.method}")
        return reply["result"]

    def _refusal(self, call: RpcCall, error: dict[str, Any]) -> TrexRefused:
        reason = str(error.get("specific_err") or error.get("message") or "without a reason")
        code = int(error.get("code", 0))
        busy = f" for {BUSY_MAX_S:g} s" if code in (TRY_AGAIN, IN_PROGRESS) else ""
        text = f"the TRex server at {self.address} refuses {call.method}{busy}: {reason} ({code})"
        return TrexRefused(text, call.method, code, reason)

    def _decoded(self, message: bytes) -> Any:
        try:
            answer = json.loads(unpack(message))
        except (ValueError, zlib.error) as error:
            raise self._protocol_error(str(error)) from None
        replies = answer if isinstance(answer, list) else [answer]
        if not all(isinstance(reply, dict) and isinstance(reply.get("error", {}), dict) for reply in replies):
            raise self._protocol_error(repr(message[:60]))
        return answer

    def _protocol_error(self, what: str) -> GeneratorError:
        return GeneratorError(
            f"invalid reply from the TRex server at {self.address}: {what}; check that port {self._port} is TRex's "
            "RPC port"
        )


def connection_error(host: str, port: int, timeout_s: float) -> OSError | None:
    """Return why no connection can be established; None if one can."""
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError as error:
        return error
    return None


def pack(body: bytes) -> bytes:
    """Encode a message, compressed if large; the server then compresses its reply too."""
    if len(body) < COMPRESS_FROM_BYTES:
        return body
    return HEADER.pack(MAGIC, len(body)) + zlib.compress(body)


def unpack(message: bytes) -> bytes:
    """Decode a message. Raises ValueError or zlib.error."""
    if len(message) < HEADER.size or HEADER.unpack_from(message)[0] != MAGIC:
        return message
    length = HEADER.unpack_from(message)[1]
    body = zlib.decompress(message[HEADER.size :])
    if len(body) != length:
        raise ValueError(f"{len(body)} bytes instead of {length}")
    return body


def _request(call: RpcCall, number: int) -> bytes:
    fields = {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
    return json.dumps(fields, separators=(",", ":")).encode()


def _handle(call: RpcCall) -> dict[str, Any]:
    return {"api_h": call.params["api_h"]} if "api_h" in call.params else {}
