"""A reverse proxy between nodrop and a service that counts requests and injects faults."""

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

Fault = Literal["503", "cut"]
"""A reply of status 503 instead of the service's, or none after the service handled the request."""
HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "keep-alive", "content-length"})


class ReceivedRequest(NamedTuple):
    """A request that the proxy received."""

    method: str
    path: str
    fault: Fault | None


class Proxy:
    """The requests so far, and the faults to inject."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[ReceivedRequest] = []
        self.choose_fault: Callable[[str, str], Fault | None] = lambda _method, _path: None
        """Chooses the fault of a request by method and path."""
        self.pending_count = 0
        self._lock = threading.Lock()

    def record(self, method: str, path: str) -> Fault | None:
        """Record a request; return its fault."""
        with self._lock:
            fault = self.choose_fault(method, path)
            self.requests.append(ReceivedRequest(method, path, fault))
        return fault

    @contextlib.contextmanager
    def count_pending(self) -> Iterator[None]:
        """Count a request as pending during the block."""
        with self._lock:
            self.pending_count += 1
        try:
            yield
        finally:
            with self._lock:
                self.pending_count -= 1


@contextlib.contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Run a proxy for a service's endpoint; its `url` replaces the endpoint."""
    parts = urlsplit(target)
    assert parts.hostname and parts.port
    address = (parts.hostname, parts.port)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self._body()
            fault = front.record(self.command, self.path)
            if fault == "503":
                self._reply(503, [("Content-Type", "text/plain")], b"away")
                return
            with front.count_pending():
                status, headers, content = _forward(address, self, body)
            if fault == "cut":
                self.close_connection = True
                self.connection.close()
                return
            self._reply(status, headers, content)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_any

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            blocks = []
            while length := int(self.rfile.readline().strip() or b"0", 16):
                blocks.append(self.rfile.read(length))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(blocks)

        def _reply(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    front = Proxy(f"http://127.0.0.1:{server.server_address[1]}{parts.path}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _forward(
    address: tuple[str, int], request: BaseHTTPRequestHandler, body: bytes
) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = http.client.HTTPConnection(*address, timeout=120)
    headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
    if body:
        headers["Content-Length"] = str(len(body))
    connection.request(request.command, request.path, body or None, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply.getheaders(), content
