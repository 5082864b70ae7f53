"""Faults to inject, for tests of a client's reaction."""

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.trex.wire import Refusal


class MethodCall(NamedTuple):
    """The n-th call of a method, from 1."""

    method: str
    number: int

    @classmethod
    def read(cls, text: str) -> "MethodCall":
        """Parse `start_traffic:2`; without a number the first call."""
        method, _, number = text.partition(":")
        return cls(method, int(number or 1))


@dataclass
class Faults:
    """All faults; none by default."""

    vanish_at: MethodCall | None = None
    """The server disappears without an answer."""
    taken_at: MethodCall | None = None
    """Another user takes all ports just before this call."""
    busy_at: MethodCall | None = None
    """The server answers that the client should try again."""
    slow_at: MethodCall | None = None
    slow_s: float = 10.0
    dropped_ratio: float = 0.0
    """Share of received frames that the tester's own receiver drops (ierrors)."""
    queue_full_count: int = 0
    """Added on each start."""
    cpu_percent: float | None = None
    stretch: float = 1.0
    """Duration of sending, relative to the requested one."""
    calls: Counter[str] = field(default_factory=Counter)

    def before(self, method: str) -> bool:
        """Handle a method call; return whether another user takes the ports now. Raises Refusal, SystemExit."""
        self.calls[method] += 1
        now = MethodCall(method, self.calls[method])
        if now == self.vanish_at:
            raise SystemExit(1)
        if now == self.slow_at:
            time.sleep(self.slow_s)
        if now == self.busy_at:
            raise Refusal("try again", -32001)
        return now == self.taken_at


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the faults' options to the command line."""
    for name in ("vanish-at", "taken-at", "busy-at", "slow-at"):
        parser.add_argument(f"--{name}", type=MethodCall.read, metavar="METHOD[:N]")
    parser.add_argument("--slow-s", type=float, default=10.0)
    parser.add_argument("--dropped-ratio", type=float, default=0.0)
    parser.add_argument("--queue-full-count", type=int, default=0)
    parser.add_argument("--cpu-percent", type=float)
    parser.add_argument("--stretch", type=float, default=1.0)


def read(options: argparse.Namespace) -> Faults:
    """Parse the options."""
    return Faults(
        options.vanish_at,
        options.taken_at,
        options.busy_at,
        options.slow_at,
        options.slow_s,
        options.dropped_ratio,
        options.queue_full_count,
        options.cpu_percent,
        options.stretch,
    )
