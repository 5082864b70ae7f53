"""What is sent byte by byte as the client gave it: uncounted streams of few frames, and bursts."""

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.trex import vm
from tests.trex.link import Link
from tests.trex.sender import Flow

LOAD_MAX_PPS = 1000.0
STEP_S = 0.02
FRAMES_MAX = 65536


def is_slow(flow: Flow) -> bool:
    """Whether a flow is sent here rather than by the engine."""
    stream = flow.stream
    return stream.count is None and (stream.mode == "multi_burst" or flow.load_pps <= LOAD_MAX_PPS)


@dataclass
class Timed:
    """A flow and when its next frame is due."""

    flow: Flow
    frames: Iterator[bytes]
    next_s: float
    end_s: float
    burst: int = field(init=False)
    bursts_left: float = field(init=False)

    def __post_init__(self) -> None:
        self.burst = self.flow.stream.burst_count
        self.bursts_left = self.flow.stream.repeat_count or float("inf")


class SlowSender(threading.Thread):
    """Sends frame by frame."""

    def __init__(self, link: Link) -> None:
        super().__init__(daemon=True)
        self._link = link
        self._lock = threading.Lock()
        self._timed: list[Timed] = []
        self._ended = threading.Event()

    def send(self, flows: list[Flow], begin_s: float) -> None:
        """Send these too, from a moment of the monotonic clock on."""
        with self._lock:
            for flow in flows:
                stream = flow.stream
                frames = itertools.cycle(vm.frames(stream.frame, stream.instructions, stream.seed, FRAMES_MAX))
                duration_s = flow.left / flow.load_pps
                # Bursts are limited by their number; the time they are sent for is known of streams that go on.
                start_s = begin_s + stream.start_s
                self._timed.append(Timed(flow, frames, start_s, begin_s + duration_s))

    def stop(self, port: int) -> None:
        """Send nothing of a port any more."""
        with self._lock:
            self._timed = [timed for timed in self._timed if timed.flow.port != port]

    def is_sending(self, port: int) -> bool:
        """Whether frames of a port are still to leave."""
        with self._lock:
            return any(timed.flow.port == port for timed in self._timed)

    def end(self) -> None:
        """For good."""
        self._ended.set()
        self.join(1.0)

    def run(self) -> None:
        """Again and again what is due."""
        while not self._ended.wait(STEP_S):
            with self._lock:
                now_s = time.monotonic()
                for timed in self._timed:
                    self._send_due(timed, now_s)
                self._timed = [timed for timed in self._timed if timed.bursts_left > 0 and timed.next_s < timed.end_s]

    def _send_due(self, timed: Timed, now_s: float) -> None:
        stream, gap_s = timed.flow.stream, 1 / timed.flow.load_pps
        while timed.next_s <= now_s and timed.bursts_left > 0 and timed.next_s < timed.end_s:
            self._link.send(timed.flow.port, next(timed.frames))
            timed.next_s += gap_s
            timed.burst -= 1
            if timed.burst == 0:
                timed.bursts_left -= 1
                timed.burst = stream.burst_count
                timed.next_s += stream.burst_gap_s
