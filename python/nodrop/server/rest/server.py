"""The server process: socket, journal and uvicorn."""

import ipaddress
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from nodrop.errors import ConfigError
from nodrop.run.machine_lock import registered_process
from nodrop.server.rest.app import make_app
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.page_provider import MakePageProvider
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.tokens import Tokens, read_tokens
from nodrop.system.signals import ENDING_SIGNALS

SHUTDOWN_TIMEOUT_S = 2
"""Longest delay of the shutdown by clients that follow a run."""
CONNECTIONS_MAX = 256


def serve(
    host: str,
    port: int,
    token_file: Path | None,
    config: ServerConfig,
    announce: Callable[[str], None],
    *,
    make_pages: MakePageProvider | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        host: address or name to listen on.
        port: TCP port; 0 selects a free one.
        token_file: tokens, one per line; None: no authentication, on loopback only.
        config: settings that all runs share.
        announce: called with the URL once the server accepts requests.
        make_pages: factory of the HTML pages; None: interfaces only.

    Raises: ConfigError for an invalid address or token file.
    """
    tokens = Tokens(read_tokens(token_file)) if token_file else None
    address = _resolve_address(host, port)
    if tokens is None and not ipaddress.ip_address(address[0]).is_loopback:
        raise ConfigError(
            f"--host: {host} is reachable from other hosts and requires tokens; set --token-file or listen on 127.0.0.1"
        )
    with Journal(config.results_dir) as journal, _listen(address) as listening:
        runs = RunQueue(journal, config)
        runs.resume()
        server = uvicorn.Server(
            uvicorn.Config(
                make_app(runs, config, tokens, host, make_pages),
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
            )
        )
        for number in ENDING_SIGNALS:
            signal.signal(number, _ignore)
        url = _make_url(host, listening.getsockname()[1])
        with registered_process("server", url):
            announce(url)
            server.run(sockets=[listening])


def _ignore(number: int, _frame: FrameType | None) -> None:
    """Ignore a signal: uvicorn raises again the signal that stopped it, which is a normal end of the server."""


def _resolve_address(host: str, port: int) -> tuple[str, int]:
    """Resolve a host name. Raises ConfigError."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(f"--host: cannot resolve {host}: {error.strerror}; use e.g. 127.0.0.1") from None
    address = addresses[0][4]
    return str(address[0]), int(address[1])


def _listen(address: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=128)
    except OSError as error:
        raise ConfigError(
            f"--host {address[0]} --port {address[1]}: cannot listen: {error.strerror}; choose another port "
            "(--port 0 selects a free one)"
        ) from None


def _make_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
