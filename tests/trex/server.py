"""A TRex server in stateless mode that forwards real packets by nodrop's engine: `python -m tests.trex.server`.

It speaks TRex's RPC as observed in servers of v2.59, v2.89 and v3.08, including their oddities, and sends through
the given interfaces, in its own network namespace or the lab's.
"""

import argparse
import json
import os
import signal
import sys
import time
from typing import NoReturn

import zmq
from tests.trex import commands, faults, wire
from tests.trex.machine import Machine, Options

from nodrop.errors import NodropError

POLL_MS = 100
PUBLISH_S = 0.5


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rpc-port", type=int, default=4501)
    parser.add_argument("--publish-port", type=int, default=4500)
    parser.add_argument("--netns-pid", type=int, help="a process in the network namespace of the interfaces")
    parser.add_argument("--interfaces", required=True, help="in the order of the ports: tester0,tester1")
    parser.add_argument("--api", default="5.1", choices=("5.1", "5.0", "4.6"))
    parser.add_argument("--version", default="", help="as it says it is; default: one with this API")
    parser.add_argument("--mode", default="STL", choices=("STL", "ASTF", "STF"))
    parser.add_argument("--backend", default="af_packet", help="of the engine")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--counters", type=int, default=1023, help="streams that can be counted one by one")
    parser.add_argument("--speed-gbps", type=float, default=10.0)
    parser.add_argument("--no-hdrh", action="store_true", help="keep no HdrHistograms")
    parser.add_argument("--hardware", action="store_true", help="filters of cards: no counters in service mode")
    faults.add_options(parser)
    return parser.parse_args(arguments)


def machine_options(options: argparse.Namespace) -> Options:
    """Return the machine's options, from the command line."""
    major, minor = map(int, options.api.split("."))
    return Options(
        netns_pid=options.netns_pid,
        interfaces=tuple(options.interfaces.split(",")),
        api=(major, minor),
        version=options.version,
        mode=options.mode,
        backend=options.backend,
        cores=options.cores,
        counter_count=options.counters,
        speed_gbps=options.speed_gbps,
        has_histograms=not options.no_hdrh,
        has_software=not options.hardware,
    )


class Server:
    """The server's two sockets."""

    def __init__(self, machine: Machine, rpc_port: int, publish_port: int) -> None:
        self._machine = machine
        self._context = zmq.Context()
        self._answering = self._context.socket(zmq.REP)
        self._publishing = self._context.socket(zmq.PUB)
        for socket, port in ((self._answering, rpc_port), (self._publishing, publish_port)):
            socket.setsockopt(zmq.LINGER, 100)
            socket.bind(f"tcp://127.0.0.1:{port}")
        self._published_s = 0.0

    def serve(self) -> None:
        """Answer requests until its end."""
        while not self._machine.is_ending:
            if self._answering.poll(POLL_MS):
                self._answer(self._answering.recv())
            self._machine.smooth()
            self._publish()

    def _answer(self, message: bytes) -> None:
        self._answering.send(wire.answer(message, lambda name, params: commands.handle(self._machine, name, params)))

    def _publish(self) -> None:
        machine = self._machine
        if machine.has_news:
            machine.has_news = False
            self._publishing.send(b"{}")
        if time.monotonic() - self._published_s < PUBLISH_S:
            return
        self._published_s = time.monotonic()
        data = machine.global_stats()
        for port in machine.ports:
            result = machine.port_stats(port.number)
            data |= {f"{name}-{port.number}": result[name] for name in ("opackets", "ipackets", "ierrors")}
        message = {"name": "trex-global", "type": 0, "data": data}
        self._publishing.send(wire.packed(json.dumps(message).encode()))


def main() -> None:
    """Serve until a signal or a request ends it."""
    options = read_options()
    signal.signal(signal.SIGTERM, _end)
    try:
        machine = Machine(machine_options(options), faults.read(options))
    except (NodropError, OSError) as error:
        sys.exit(str(error))
    machine_ends = True
    try:
        server = Server(machine, options.rpc_port, options.publish_port)
        print(f"serving {', '.join(machine.options.interfaces)} on port {options.rpc_port}", flush=True)
        server.serve()
    except KeyboardInterrupt:
        pass
    except zmq.ZMQError as error:
        sys.exit(f"port {options.rpc_port}: {error}")
    except SystemExit as end:
        if end.code == 1:
            machine_ends = False
            os._exit(1)
        raise
    finally:
        if machine_ends:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            machine.end()


def _end(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
