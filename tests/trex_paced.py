"""A TRex server that only counts: streams at their rates, through a SUT of a stated capacity and delay.

Its time is virtual and passes while the client sleeps.

It injects faults into trials on demand. `tests/trex` has the server that sends real frames.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hdrh.histogram import HdrHistogram
from tests.trex_responder import Error

Json = dict[str, Any]


class VirtualClock:
    """Time that passes only while a caller sleeps."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def monotonic(self) -> float:
        return self._now_s

    def sleep(self, seconds: float, /) -> None:
        self._now_s += seconds


@dataclass
class RunningStream:
    """A running stream."""

    pg_id: int | None
    port: int
    rate_pps: float
    latency: bool


@dataclass
class PacedServer:
    """Two ports joined by a SUT; `methods` answer for a Responder."""

    capacity_pps: float = 1e12
    """Maximum that the SUT forwards, per stream."""
    delay_s: float = 0.0
    stretch: float = 1.0
    """Duration of sending, relative to the nominal one."""
    receive_drops: int = 0
    """`ierrors` of a trial."""
    queue_full: int = 0
    queue_drop: int = 0
    cpu_percent: float = 20.0
    frozen: bool = False
    """Whether counters of received frames stop."""
    owner: str = "nodrop"
    stops_after_s: float | None = None
    """Time after which another user stops the traffic."""
    duplicates: int = 0
    histograms: bool = True
    latency_us: int = 25
    clock: VirtualClock = field(default_factory=VirtualClock)
    began_at: dict[int, float] = field(default_factory=dict)
    ended_at: dict[int, float] = field(default_factory=dict)
    duration_s: float = 0.0
    streams: dict[int, list[RunningStream]] = field(default_factory=lambda: {0: [], 1: []})
    multiplier: dict[int, float] = field(default_factory=dict)
    generation: int = 0
    base: int = 1000
    """Earlier counts of the ports."""

    @property
    def methods(self) -> dict[str, Callable[[Json], Any]]:
        return {
            "get_version": lambda _: {"version": "v3.08", "mode": "STL"},
            "api_sync_v2": lambda _: {"api_h": "handle12"},
            "get_system_info": lambda _: {"dp_core_count": 1, "ports": [{"index": 1}, {"index": 0}]},
            "acquire": lambda params: f"held{params['port_id']}",
            "set_port_attr": lambda _: {},
            "release": lambda _: {},
            "remove_rx_filters": lambda _: {},
            "remove_all_streams": self._remove,
            "add_stream": self._add,
            "start_traffic": self._start,
            "stop_traffic": self._stop,
            "get_port_status": self._status,
            "get_port_stats": self._port,
            "get_global_stats": self._server,
            "get_pgid_stats": self._counts,
        }

    def _remove(self, params: Json) -> Json:
        port = params["port_id"]
        self.streams[port] = []
        self.began_at.pop(port, None)
        self.ended_at.pop(port, None)
        self.generation += 1
        return {}

    def _add(self, params: Json) -> Json:
        stream = params["stream"]
        rule = stream["flow_stats"]
        rate = stream["mode"]["rate"]["value"]
        latency = rule.get("rule_type") == "latency"
        self.streams[params["port_id"]].append(RunningStream(rule.get("stream_id"), params["port_id"], rate, latency))
        return {}

    def _start(self, params: Json) -> Json:
        port = params["port_id"]
        if not self.streams[port]:
            raise Error(-32000, "no streams attached to port")
        self.began_at[port] = self.clock.monotonic()
        self.duration_s = params["duration"]
        self.multiplier[port] = params["mul"]["value"]
        return {"multiplier": 1.0, "ts": 0.0}

    def _stop(self, params: Json) -> Json:
        port = params["port_id"]
        if port in self.began_at:
            self.ended_at.setdefault(port, self.clock.monotonic())
        return {}

    def _sent_for_s(self, port: int, back_s: float = 0.0) -> float:
        """Return how much of the schedule was sent, as of `back_s` ago."""
        if port not in self.began_at:
            return 0.0
        now = min(self.clock.monotonic() - back_s, self.ended_at.get(port, float("inf")))
        passed_s = now - self.began_at[port]
        if self.stops_after_s is not None:
            passed_s = min(passed_s, self.stops_after_s)
        return max(0.0, min(passed_s / self.stretch, self.duration_s))

    def _is_sending(self, port: int) -> bool:
        if port not in self.began_at or port in self.ended_at:
            return False
        passed_s = self.clock.monotonic() - self.began_at[port]
        stopped = self.stops_after_s is not None and passed_s > self.stops_after_s
        return not stopped and passed_s < self.duration_s * self.stretch

    def _sent(self, stream: RunningStream, back_s: float = 0.0) -> int:
        for_s = self._sent_for_s(stream.port, back_s)
        factor = 1.0 if stream.latency else self.multiplier.get(stream.port, 0.0)
        return int(stream.rate_pps * factor * for_s) + (for_s > 0)

    def _received(self, stream: RunningStream) -> int:
        sent = self._sent(stream, self.delay_s)
        if self.frozen:
            return 0
        return min(sent, int(self.capacity_pps * self._sent_for_s(stream.port, self.delay_s))) if sent else 0

    def _status(self, params: Json) -> Json:
        return {"state": "TX" if self._is_sending(params["port_id"]) else "STREAMS", "owner": self.owner, "attr": {}}

    def _port(self, params: Json) -> Json:
        port = params["port_id"]
        began = port in self.began_at
        back = [stream for other, streams in self.streams.items() if other != port for stream in streams]
        arrived = sum(self._sent(stream) if self.frozen else self._received(stream) for stream in back)
        return {
            "opackets": self.base + sum(map(self._sent, self.streams[port])),
            "ipackets": self.base + arrived,
            "ierrors": 7 + (self.receive_drops if began else 0),
            "oerrors": 0,
        }

    def _server(self, _: Json) -> Json:
        began = bool(self.began_at)
        return {
            "m_cpu_util": self.cpu_percent,
            "m_rx_cpu_util": 3.0,
            "m_total_queue_full": self.queue_full if began else 0,
            "m_total_queue_drop": self.queue_drop if began else 0,
        }

    def _counts(self, _: Json) -> Json:
        flows: Json = {}
        latency: Json = {}
        for stream in [stream for streams in self.streams.values() for stream in streams if stream.pg_id is not None]:
            extra = self.duplicates if stream.latency and stream.port in self.began_at else 0
            flows[str(stream.pg_id)] = {
                "tp": {str(stream.port): self._sent(stream)},
                "rp": {str(1 - stream.port): self._received(stream) + extra},
            }
            if stream.latency:
                latency[str(stream.pg_id)] = {"lat": self._latency(stream), "er": {"dup": extra} if extra else {}}
        versions = dict.fromkeys(flows, self.generation)
        return {"flow_stats": flows or None, "latency": latency or None, "ver_id": versions}

    def _latency(self, stream: RunningStream) -> Json:
        if not self.histograms:
            return {"average": self.latency_us, "total_max": self.latency_us}
        histogram = HdrHistogram(1, 10_000_000, 3)
        for at in range(self._received(stream)):
            histogram.record_value(self.latency_us + (at % 2))
        return {"hdrh": histogram.encode().decode()}
