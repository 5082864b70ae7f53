"""A minimal TRex server: it returns configured answers and records the requests."""

import json
import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any, Self

import zmq

Answer = Any
"""A method's answer: a result, or an `Error`."""


class Error(Exception):
    """A refusal."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class NoAnswer(Exception):
    """No answer, once."""


class Responder:
    """A REP socket in a thread, and a function for each method; as a context manager."""

    def __init__(self, methods: dict[str, Callable[[dict[str, Any]], Answer]]) -> None:
        self.methods = methods
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.compressed: list[bool] = []
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)  # a REP socket that may skip an answer
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ends.set()
        self._thread.join()
        self._socket.close(linger=0)
        self._context.term()

    def _serve(self) -> None:
        while not self._ends.is_set():
            if not self._socket.poll(20):
                continue
            *envelope, message = self._socket.recv_multipart()
            try:
                self._socket.send_multipart([*envelope, self._answer(message)])
            except NoAnswer:
                continue

    def _answer(self, message: bytes) -> bytes:
        zipped = message[:4] == b"\xab\xe8\x5c\xea"
        self.compressed.append(zipped)
        body = zlib.decompress(message[8:]) if zipped else message
        request = json.loads(body)
        if len(body) > 999_999:
            replies: Any = {"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "Request is too large"}}
        elif isinstance(request, list):
            replies = [self._reply(each) for each in request]
            replies = replies[0] if len(replies) == 1 else replies
        else:
            replies = self._reply(request)
        text = json.dumps(replies).encode()
        return struct.pack(">II", 0xABE85CEA, len(text)) + zlib.compress(text) if zipped else text

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((request["method"], request["params"]))
        frame = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            return frame | {"result": self.methods[request["method"]](request["params"])}
        except KeyError:
            return frame | {"error": {"code": -32601, "message": "Method not found"}}
        except Error as error:
            message = {"code": error.code, "message": "Failed", "specific_err": error.reason}
            return frame | {"error": message}
