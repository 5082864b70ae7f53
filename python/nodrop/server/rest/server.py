"""The server as a process: its socket, its journal, and uvicorn."""

import ipaddress
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from nodrop.errors import ConfigError
from nodrop.run.machine_lock import present
from nodrop.server.rest.app import make_app
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.page_provider import MakePages
from nodrop.server.rest.run_queue import Runs
from nodrop.server.rest.server_config import Base
from nodrop.server.rest.tokens import Tokens, read_tokens

FOLLOWERS_PATIENCE_S = 2
"""How long those who follow a run keep the server from ending."""
CONNECTIONS_MAX = 256


def serve(
    host: str,
    port: int,
    token_file: Path | None,
    base: Base,
    announce: Callable[[str], None],
    *,
    make_pages: MakePages | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        host: address or name to listen on.
        port: its port; 0 takes a free one.
        token_file: tokens, one a line; None: no token is needed, which only loopback may have.
        base: what every run has in common.
        announce: is told the URL as soon as requests are taken.
        make_pages: gives the pages that are served beside the interfaces.

    Raises: ConfigError when it cannot be served so.
    """
    tokens = Tokens(read_tokens(token_file)) if token_file else None
    address = _address(host, port)
    if tokens is None and not ipaddress.ip_address(address[0]).is_loopback:
        raise ConfigError(
            f"--host {host} asked, on an address others can reach whoever may use the server has to show a token; name "
            "a file with tokens (--token-file), or listen on 127.0.0.1"
        )
    with Journal(base.results_dir) as journal, _listen(address) as listening:
        runs = Runs(journal, base)
        runs.resume()
        server = uvicorn.Server(
            uvicorn.Config(
                make_app(runs, base, tokens, host, make_pages),
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=FOLLOWERS_PATIENCE_S,
            )
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ended)
        url = _url(host, listening.getsockname()[1])
        with present("server", url):
            announce(url)
            server.run(sockets=[listening])


def _ended(number: int, _frame: FrameType | None) -> None:
    """uvicorn sends the signals it ended by once more: to end by them is what a server is for."""


def _address(host: str, port: int) -> tuple[str, int]:
    """Where a name and a port are. Raises ConfigError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(
            f"--host {host} asked, it is no address: {error.strerror}; write for example 127.0.0.1"
        ) from None
    address = found[0][4]
    return str(address[0]), int(address[1])


def _listen(address: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=128)
    except OSError as error:
        raise ConfigError(
            f"--host {address[0]} --port {address[1]} asked, it cannot be listened on: {error.strerror}; "
            "name another port (--port 0 takes a free one)"
        ) from None


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
