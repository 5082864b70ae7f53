"""Traffic that is sent byte by byte as the client defined it: uncounted streams of few frames, and bursts."""

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
    """Return whether this sender, not the engine, sends a flow."""
    stream = flow.stream
    return stream.count is None and (stream.mode == "multi_burst" or flow.load_pps <= LOAD_MAX_PPS)


@dataclass
class TimedFlow:
    """A flow and the time of its next frame."""

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
        self._timed: list[TimedFlow] = []
        self._ended = threading.Event()

    def send(self, flows: list[Flow], begin_s: float) -> None:
        """Send these flows too, from a time of the monotonic clock on."""
        with self._lock:
            for flow in flows:
                stream = flow.stream
                frames = itertools.cycle(vm.frames(stream.frame, stream.instructions, stream.seed, FRAMES_MAX))
                duration_s = flow.remaining / flow.load_pps
                # Bursts are limited by their number, endless streams by the time for which they are sent.
                start_s = begin_s + stream.start_s
                self._timed.append(TimedFlow(flow, frames, start_s, begin_s + duration_s))

    def stop(self, port: int) -> None:
        """Stop a port."""
        with self._lock:
            self._timed = [timed for timed in self._timed if timed.flow.port != port]

    def is_sending(self, port: int) -> bool:
        """Return whether a port has frames to send."""
        with self._lock:
            return any(timed.flow.port == port for timed in self._timed)

    def end(self) -> None:
        """Stop for good."""
        self._ended.set()
        self.join(1.0)

    def run(self) -> None:
        """Send due frames repeatedly."""
        while not self._ended.wait(STEP_S):
            with self._lock:
                now_s = time.monotonic()
                for timed in self._timed:
                    self._send_due(timed, now_s)
                self._timed = [timed for timed in self._timed if timed.bursts_left > 0 and timed.next_s < timed.end_s]

    def _send_due(self, timed: TimedFlow, now_s: float) -> None:
        stream, gap_s = timed.flow.stream, 1 / timed.flow.load_pps
        while timed.next_s <= now_s and timed.bursts_left > 0 and timed.next_s < timed.end_s:
            self._link.send(timed.flow.port, next(timed.frames))
            timed.next_s += gap_s
            timed.burst -= 1
            if timed.burst == 0:
                timed.bursts_left -= 1
                timed.burst = stream.burst_count
                timed.next_s += stream.burst_gap_s
