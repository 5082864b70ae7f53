"""A TRex server's state: its ports, their traffic, its counters."""

import base64
import contextlib
import random
import string
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from tests.trex.capturing import Capture
from tests.trex.counters import PacketGroup
from tests.trex.faults import Faults
from tests.trex.link import Link, LinkFrame
from tests.trex.ports import Port
from tests.trex.sender import Flow, PortCounts, RunningFlow, Sender, Streams
from tests.trex.slow import SlowSender, is_slow
from tests.trex.streams import FCS_BYTES, TrexStream, totals
from tests.trex.wire import Refusal

RELEASES = {(5, 1): "v3.08", (5, 0): "v2.89", (4, 6): "v2.59"}
LATENCY_GROUPS_MAX = 128
GATHER_S = 0.03
"""Delay so that ports started one after the other begin together."""
SMOOTHED_SHARE = 0.5
STARTED, STOPPED, PAUSED, RESUMED, JOB_DONE, ACQUIRED, RELEASED = range(7)
PROFILE = 10


@dataclass
class Options:
    """Options of the server."""

    netns_pid: int | None
    interfaces: tuple[str, ...]
    api: tuple[int, int] = (5, 1)
    version: str = ""
    mode: str = "STL"
    backend: str = "af_packet"
    queue_slots: int = 4096
    cores: int = 1
    counter_count: int = 1023
    speed_gbps: float = 10.0
    has_histograms: bool = True
    has_software: bool = True


@dataclass
class Totals:
    """Counters of the entire server."""

    queue_full_count: int = 0
    cpu_percent: float = 0.0
    sent_pps: dict[int, float] = field(default_factory=dict)
    received_pps: dict[int, float] = field(default_factory=dict)


class Machine:
    """The server without the protocol."""

    def __init__(self, options: Options, faults: Faults) -> None:
        self.options, self.faults = options, faults
        self.version = options.version or RELEASES[options.api]
        self.api_handle = "".join(random.choices(string.ascii_letters + string.digits, k=8))
        self.link = Link(options.netns_pid, options.interfaces)
        names = enumerate(options.interfaces)
        self.ports = [Port(number, name, self.link.mac(number)) for number, name in names]
        self.groups: dict[int, PacketGroup] = {}
        self.captures: dict[int, Capture] = {}
        self.totals = Totals()
        self.events: dict[int, deque[dict[str, Any]]] = {}
        self.event_number = 0
        self.has_news = False
        self.is_ending = False
        self._dropped = Counter[int]()
        self._before = self.link.counters()
        self._smoothed_s = time.monotonic()
        self.lock = threading.RLock()
        self.sender = Sender(
            options.netns_pid,
            options.interfaces,
            options.backend,
            options.queue_slots,
            stretch=faults.stretch,
            receiver=self,
        )
        self.slow = SlowSender(self.link)
        self.sender.start()
        self.slow.start()

    @property
    def line_rate_bps(self) -> float:
        """The line rate of every port."""
        return self.options.speed_gbps * 1e9

    def end(self) -> None:
        """Stop sending for good."""
        self.slow.end()
        self.sender.end()

    def state(self, port: Port) -> str:
        """Return the state as in `get_port_status`; detect that sending has ended."""
        if port.is_paused:
            return "PAUSE"
        if port.is_started and not self.is_sending(port.number):
            port.is_started = False
            self.tell(port.number, PROFILE + JOB_DONE, JOB_DONE)
        return "TX" if port.is_started else "STREAMS" if port.streams else "IDLE"

    def is_sending(self, number: int) -> bool:
        """Return whether a port has frames to send."""
        return self.sender.is_sending(number) or self.slow.is_sending(number)

    def start(self, port: Port, multiplier: float, duration_s: float, begin_s: float | None) -> None:
        """Send a port's streams. Raises Refusal."""
        self._set_up_groups(port)
        is_frozen = port.has_filters
        port.has_filters = any(stream.count for stream in port.streams.values())
        flows = [self._flow(port, stream, multiplier, duration_s, is_frozen) for stream in enabled(port)]
        every = self._all_streams()
        fast = [flow for flow in flows if not is_slow(flow)]
        if fast:
            self.sender.prepare(every)
        now_s = time.monotonic()
        port.is_started, port.is_paused, port.multiplier = True, False, multiplier
        if fast:
            self.sender.send(fast, begin_s or now_s + (GATHER_S if self._are_others_ready() else 0.0), every)
        self.slow.send([flow for flow in flows if is_slow(flow)], begin_s or now_s)
        self.totals.queue_full_count += self.faults.queue_full_count
        self.tell(port.number, PROFILE + STARTED, STARTED)
        if fast and begin_s is None and not self._are_others_ready():
            self.sender.await_first_frames()

    def stop(self, port: Port) -> None:
        """Stop a port."""
        was_on = self.state(port) in ("TX", "PAUSE")
        self.sender.stop(port.number)
        self.slow.stop(port.number)
        port.is_started = port.is_paused = False
        if was_on:
            self.tell(port.number, PROFILE + STOPPED, STOPPED)

    def pause(self, port: Port) -> None:
        """Stop, and store the frames not yet sent."""
        stored = self.sender.flows(port.number)
        self.sender.stop(port.number)
        self.sender.await_counts()
        port.paused = [flow for flow in stored if flow.remaining >= 1]
        port.is_paused, port.is_started = True, False

    def resume(self, port: Port, multiplier: float) -> None:
        """Send the rest, at another load if requested."""
        ratio = multiplier / port.multiplier
        flows = [flow.resumed(1.0 if flow.stream.is_latency else ratio) for flow in port.paused]
        port.is_paused, port.is_started, port.multiplier, port.paused = False, True, multiplier, []
        self.sender.send(flows, time.monotonic(), self._all_streams())

    def listen(self, port: Port) -> None:
        """Queue received frames of a port."""
        self.link.listen(port.number, self._keep)

    def ignore(self, port: Port) -> None:
        """Stop queueing received frames."""
        self.link.ignore(port.number, self._keep)

    def _keep(self, seen: LinkFrame) -> None:
        port = self.ports[seen.port]
        if port.queue is not None and not seen.is_sent and len(port.queue) < port.queue_size:
            at_s = seen.at_s - port.queue_start_s
            port.queue.append({"binary": base64.b64encode(seen.bytes).decode(), "ts": at_s})

    def remove_streams(self, port: Port, numbers: list[int]) -> None:
        """Remove streams, and the counters that no other stream uses."""
        self.sender.await_counts()
        for number in numbers:
            if port.streams.pop(number, None) is None:
                raise Refusal(f"stream {number} does not exist")
        used = {stream.count.pg_id for other in self.ports for stream in other.streams.values() if stream.count}
        self.groups = {pg_id: group for pg_id, group in self.groups.items() if pg_id in used}

    def factor(self, port: Port, kind: str, value: float, *, force: bool) -> float:
        """Return the multiplier of a port's scalable streams. Raises Refusal."""
        streams = enabled(port)
        fixed = totals([stream for stream in streams if stream.is_latency], self.line_rate_bps)
        scaled = totals([stream for stream in streams if not stream.is_latency], self.line_rate_bps)
        factor = value
        if kind != "raw":
            what = "bpsl1" if kind == "percentage" else kind
            requested = value * self.line_rate_bps / 100 if kind == "percentage" else value
            if requested < fixed[what]:
                unit = "pps" if what == "pps" else "bps"
                raise Refusal(f"current stream configuration enforces a minimum rate of '{round(fixed[what])}' {unit}")
            factor = (requested - fixed[what]) / scaled[what] if scaled[what] else 1.0
        if not force and fixed["bpsl1"] + factor * scaled["bpsl1"] > self.line_rate_bps:
            raise Refusal("required L1 bandwidth is over the port's line rate, use 'force' to start anyway")
        return factor

    def tell(self, port: int, *kinds: int) -> None:
        """Publish events to all subscribers."""
        for kind in kinds:
            self.event_number += 1
            data = {"port_id": port} | ({"profile_id": "_"} if kind >= PROFILE else {})
            event = {"name": "trex-event", "seq": self.event_number, "type": kind, "data": data}
            for queue in self.events.values():
                queue.append(event)
        self.has_news = True

    def settle(self, flow: Flow, counts: dict[str, Any], latency: dict[str, Any] | None) -> None:
        """Add the engine's counts of a flow."""
        with self.lock:
            count = flow.stream.count
            group = self.groups.get(count.pg_id) if count else None
            if group is None:
                return
            received = self._port_info(flow, counts["received_count"])
            group.count(flow.way, counts["offered_count"], received, flow.stream.wire_bytes)
            if flow.stream.is_latency:
                group.latency.lost_count += counts["lost_count"]
                group.latency.out_of_order_count += counts["out_of_order_count"]
                group.latency.duplicate_count += counts["duplicate_count"]
                if latency:
                    group.latency.add(latency)

    def drops(self, drop_count: int, cpu_ratio: float, flows: list[Flow]) -> None:
        """Add the drops of the engine's receiver while these flows were sent, and its CPU usage."""
        with self.lock:
            self.totals.cpu_percent = min(100.0, 100 * cpu_ratio)
            if drop_count:
                self._dropped[flows[0].way[1]] += drop_count

    def passed(self) -> list[PortCounts]:
        """Return the engine's total counts at each port; all received frames are attributed to the engine."""
        result = zip(self.link.counters(), self.link.own_count, strict=True)
        return [PortCounts(counters.sent_count - own, counters.received_count) for counters, own in result]

    def port_stats(self, number: int) -> dict[str, Any]:
        """Return `get_port_stats`."""
        counters = self.link.counters()[number]
        made_up = round(counters.received_count * self.faults.dropped_ratio)
        dropped = self._dropped[number] + made_up
        share = (counters.received_count - dropped) / counters.received_count if counters.received_count else 1.0
        received_bytes = round(share * (counters.received_bytes + FCS_BYTES * counters.received_count))
        sent_pps, received_pps = self.totals.sent_pps.get(number, 0.0), self.totals.received_pps.get(number, 0.0)
        return {
            "opackets": counters.sent_count,
            "ipackets": counters.received_count - dropped,
            "obytes": counters.sent_bytes + FCS_BYTES * counters.sent_count,
            "ibytes": received_bytes,
            "oerrors": 0,
            "ierrors": dropped,
            "m_total_tx_pps": sent_pps,
            "m_total_rx_pps": received_pps,
            "m_total_tx_bps": sent_pps * 8 * _mean(counters.sent_bytes, counters.sent_count),
            "m_total_rx_bps": received_pps * 8 * _mean(counters.received_bytes, counters.received_count),
            "m_cpu_util": self.cpu_percent,
        }

    @property
    def cpu_percent(self) -> float:
        """CPU usage of the sending threads."""
        configured = self.faults.cpu_percent
        is_busy = any(port.is_started for port in self.ports)
        return configured if configured is not None and is_busy else self.totals.cpu_percent if is_busy else 0.0

    def smooth(self) -> None:
        """Update the rates, slowly."""
        now, now_s = self.link.counters(), time.monotonic()
        if (passed_s := now_s - self._smoothed_s) < 0.5:
            return
        for number, (before, after) in enumerate(zip(self._before, now, strict=True)):
            for rates, count in (
                (self.totals.sent_pps, after.sent_count - before.sent_count),
                (self.totals.received_pps, after.received_count - before.received_count),
            ):
                rates[number] = rates.get(number, 0.0) * SMOOTHED_SHARE + count / passed_s * (1 - SMOOTHED_SHARE)
        self._before, self._smoothed_s = now, now_s

    def global_stats(self) -> dict[str, Any]:
        """Return `get_global_stats`, which is also published twice a second."""
        sent, received = (sum(rates.values()) for rates in (self.totals.sent_pps, self.totals.received_pps))
        return {
            "m_cpu_util": self.cpu_percent,
            "m_cpu_util_raw": self.cpu_percent,
            "m_bw_per_core": 0.0,
            "m_rx_cpu_util": 0.0,
            "m_rx_core_pps": 0.0,
            "m_tx_pps": sent,
            "m_rx_pps": received,
            "m_tx_bps": 0.0,
            "m_rx_bps": 0.0,
            "m_rx_drop_bps": 0.0,
            "m_total_tx_pkts": sum(each.sent_count for each in self.link.counters()),
            "m_total_rx_pkts": sum(each.received_count for each in self.link.counters()),
            "m_total_queue_full": self.totals.queue_full_count,
            "m_total_queue_drop": 0,
        }

    def group_stats(self, pg_ids: list[int]) -> dict[str, Any]:
        """Return `get_pgid_stats`."""
        self.sender.await_counts()
        with self.sender.changed, self.lock:
            running = self.sender.running()
            expected = {pg_id: group for pg_id, group in self.groups.items() if not pg_ids or pg_id in pg_ids}
            counts = {str(pg_id): self._live(pg_id, group, running) for pg_id, group in expected.items()}
            times = {
                str(pg_id): group.latency.as_json(
                    with_histogram=self.options.has_histograms, with_minimum=self.options.api >= (5, 0)
                )
                for pg_id, group in expected.items()
                if group.is_latency
            }
            versions = {str(pg_id): group.version for pg_id, group in expected.items()}
        return {
            "ts": {"value": round(time.monotonic() * 1e9), "freq": 10**9},
            "flow_stats": counts or None,
            "latency": times or None,
            "ver_id": versions or None,
        }

    def _live(self, pg_id: int, group: PacketGroup, running: list[RunningFlow]) -> dict[str, dict[str, int]]:
        """Add the current counts of the running trial."""
        now = group.copied()
        for flow, sent, received in running:
            if flow.stream.count and flow.stream.count.pg_id == pg_id:
                now.count(flow.way, sent, self._port_info(flow, received), flow.stream.wire_bytes)
        return now.as_json(len(self.ports))

    def _port_info(self, flow: Flow, received: int) -> int:
        """Return how many received frames are reported."""
        report = 0 if flow.is_frozen and not flow.stream.is_latency else received
        return report - round(report * self.faults.dropped_ratio)

    def _flow(self, port: Port, stream: TrexStream, multiplier: float, duration_s: float, is_frozen: bool) -> Flow:
        load = stream.load_pps(self.line_rate_bps) * (1.0 if stream.is_latency else multiplier)
        left = float("inf") if duration_s < 0 else load * duration_s
        if stream.mode == "single_burst":
            left = min(left, stream.burst_count)
        return Flow(port.number, stream, load, left, is_frozen)

    def _set_up_groups(self, port: Port) -> None:
        """Create counters for all streams of a port. Raises Refusal if there are too few."""
        counted = [stream.count for other in self.ports for stream in other.streams.values() if stream.count]
        latency = {count.pg_id for count in counted if count.is_latency}
        plain = {count.pg_id for count in counted if not count.is_latency}
        if len(latency) > LATENCY_GROUPS_MAX or len(plain) > self.options.counter_count:
            raise Refusal("Failed allocating statistic counter")
        for stream in port.streams.values():
            if stream.count and stream.count.pg_id not in self.groups:
                self.groups[stream.count.pg_id] = PacketGroup(stream.count.is_latency)

    def _all_streams(self) -> Streams:
        """Return all streams that the engine may send."""
        result = [(port.number, stream) for port in self.ports for stream in enabled(port)]
        return [
            (number, stream)
            for number, stream in result
            if not is_slow(Flow(number, stream, stream.load_pps(self.line_rate_bps), 1))
        ]

    def _are_others_ready(self) -> bool:
        """Return whether another port may be started at any time."""
        return any(enabled(port) and port.owner and not port.is_started for port in self.ports)


def enabled(port: Port) -> list[TrexStream]:
    """Return the streams of a port that are sent."""
    return [stream for stream in port.streams.values() if stream.is_enabled]


def _mean(total: float, count: int) -> float:
    with contextlib.suppress(ZeroDivisionError):
        return total / count
    return 0.0
