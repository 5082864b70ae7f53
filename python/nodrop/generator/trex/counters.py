"""Counters of a TRex server as counts of the traffic's streams.

The counters run since the server started, or since a stream was added, and cannot be cleared: every snapshot is read as
the difference to one taken before the trial.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import sub
from typing import Any, TypeVar

from nodrop.generator.trex.clock import Clock
from nodrop.generator.trex.rpc import RpcCall
from nodrop.generator.trex.session import PortHandle, TrexSession
from nodrop.generator.trex.stream_set import FlowStatsIds, StreamSet
from nodrop.model.traffic import Traffic

Json = dict[str, Any]
Counts = TypeVar("Counts", "PortCounts", "ServerCounts")


@dataclass(frozen=True)
class PortCounts:
    """Frames at a port."""

    sent: int = 0
    received: int = 0
    receive_drops: int = 0
    """Frames that arrived and were dropped by the card or its driver (`ierrors`)."""
    send_errors: int = 0
    sending: bool = False
    owner: str = ""

    def since(self, before: "PortCounts") -> "PortCounts":
        """Return the growth since an earlier reading."""
        return _subtract(self, before, "sent", "received", "receive_drops", "send_errors")


@dataclass(frozen=True)
class ServerCounts:
    """Counters of all ports together."""

    queue_full: int = 0
    """How often a send queue was full and the sender waited."""
    queue_drop: int = 0
    """Frames counted as sent that a full send queue dropped."""
    sender_busy: float = 0.0
    """Share of time that sending threads were busy, smoothed by the server over seconds."""
    receiver_busy: float = 0.0

    def since(self, before: "ServerCounts") -> "ServerCounts":
        """Return the growth since an earlier reading; the busy shares stay as they are."""
        return _subtract(self, before, "queue_full", "queue_drop")


def _subtract(now: Counts, before: Counts, *names: str) -> Counts:
    return replace(now, **{name: getattr(now, name) - getattr(before, name) for name in names})


@dataclass(frozen=True)
class Snapshot:
    """All counters, read in one request."""

    requested_s: float
    replied_s: float
    """The counters were read at some time between the two."""
    offered: tuple[int, ...]
    """By stream of the traffic."""
    received: tuple[int, ...]
    duplicates: tuple[int, ...]
    """Only counted for latency streams."""
    out_of_order: tuple[int, ...]
    ports: tuple[PortCounts, ...]
    server: ServerCounts
    versions: tuple[Any, ...]
    """Change when a stream is added again, which resets its counters to 0."""
    latency: Json = field(default_factory=dict)
    """By pg_id, as the server reports it."""

    @property
    def at_s(self) -> float:
        """Estimated time of the reading."""
        return (self.requested_s + self.replied_s) / 2

    @property
    def sending(self) -> bool:
        """Whether a port still sends, or has not reported its end yet."""
        return any(port.sending for port in self.ports)

    def since(self, before: "Snapshot") -> "Snapshot":
        """Return the growth since an earlier snapshot."""

        def added(now: tuple[int, ...], then: tuple[int, ...]) -> tuple[int, ...]:
            pairs = zip(now, then, self.versions, before.versions, strict=True)
            return tuple(count - base if version == old else count for count, base, version, old in pairs)

        return replace(
            self,
            offered=added(self.offered, before.offered),
            received=added(self.received, before.received),
            duplicates=added(self.duplicates, before.duplicates),
            out_of_order=added(self.out_of_order, before.out_of_order),
            ports=tuple(now.since(then) for now, then in zip(self.ports, before.ports, strict=True)),
            server=self.server.since(before.server),
        )


class CounterReader:
    """Reads the counters of a stream set."""

    def __init__(
        self, session: TrexSession, ports: Sequence[PortHandle], traffic: Traffic, stream_set: StreamSet, clock: Clock
    ) -> None:
        self._session = session
        self._clock = clock
        self._ports = ports
        self._streams = traffic.streams
        self._shares = traffic.load_ratios
        self._counted = stream_set.counted
        self.by_ports = any(ids.pg_id is None for ids in stream_set.counted)
        """Whether only ports are counted; streams then get shares of a port's count."""
        self._pg_ids = [
            pg_id for ids in stream_set.counted for pg_id in (ids.pg_id, ids.latency_pg_id) if pg_id is not None
        ]

    @property
    def calls(self) -> list[RpcCall]:
        """The requests of one snapshot."""
        ports = [port.request("get_port_stats") for port in self._ports]
        states = [port.request("get_port_status", block=False) for port in self._ports]
        streams = [self._session.request("get_pgid_stats", pgids=self._pg_ids)] if self._pg_ids else []
        return [*ports, *states, self._session.request("get_global_stats"), *streams]

    def read(self, since: Snapshot | None = None) -> Snapshot:
        """Return the current counters, or their growth since an earlier snapshot. Raises GeneratorError."""
        requested_s = self._clock.monotonic()
        replies = self._session.batch(self.calls)
        now = self._snapshot(replies, requested_s, self._clock.monotonic())
        if since is None:
            return now
        added = now.since(since)
        return self._split_by_load(added) if self.by_ports else added

    def _snapshot(self, replies: Sequence[Any], requested_s: float, replied_s: float) -> Snapshot:
        count = len(self._ports)
        ports = tuple(map(_port_counts, replies[:count], replies[count : 2 * count]))
        reported: Json = (replies[2 * count + 1] or {}) if self._pg_ids else {}
        flows: Json = reported.get("flow_stats") or {}
        latency: Json = reported.get("latency") or {}
        versions: Json = reported.get("ver_id") or {}
        counts = self._stream_counts(flows)
        errors = [_errors(ids, latency) for ids in self._counted]
        return Snapshot(
            requested_s=requested_s,
            replied_s=replied_s,
            offered=tuple(offered for offered, _ in counts),
            received=tuple(received for _, received in counts),
            duplicates=tuple(int(each.get("dup", 0)) for each in errors),
            out_of_order=tuple(int(each.get("ooo", 0)) for each in errors),
            ports=ports,
            server=_server_counts(replies[2 * count] or {}),
            versions=tuple(
                (versions.get(str(ids.pg_id)), versions.get(str(ids.latency_pg_id))) for ids in self._counted
            ),
            latency=latency,
        )

    def _stream_counts(self, flows: Json) -> list[tuple[int, int]]:
        """Return frames offered and received by stream, its latency stream included."""
        counts = []
        for stream, ids in zip(self._streams, self._counted, strict=True):
            its = [flows.get(str(pg_id)) or {} for pg_id in (ids.pg_id, ids.latency_pg_id) if pg_id is not None]
            tx, rx = (str(self._ports[port].number) for port in (stream.tx_port, stream.rx_port))
            counts.append(
                (
                    sum(int((each.get("tp") or {}).get(tx, 0)) for each in its),
                    sum(int((each.get("rp") or {}).get(rx, 0)) for each in its),
                )
            )
        return counts

    def _split_by_load(self, counts: Snapshot) -> Snapshot:
        """Replace stream counts by shares of the ports' counts, in proportion to load."""
        offered, received = [0] * len(self._streams), [0] * len(self._streams)
        for number, port in enumerate(counts.ports):
            sends = [index for index, stream in enumerate(self._streams) if stream.tx_port == number]
            gets = [index for index, stream in enumerate(self._streams) if stream.rx_port == number]
            for index, part in zip(sends, _split(port.sent, [self._shares[i] for i in sends]), strict=True):
                offered[index] = part
            for index, part in zip(gets, _split(port.received, [self._shares[i] for i in gets]), strict=True):
                received[index] = part
        return replace(counts, offered=tuple(offered), received=tuple(received))


def _split(total: int, shares: Sequence[float]) -> list[int]:
    """Split a count in proportion to shares; the parts add up to it."""
    whole = sum(shares)
    ends = [0]  # cumulative ends of the parts
    reached = 0.0
    for share in shares:
        reached += share
        ends.append(round(total * reached / whole))
    return list(map(sub, ends[1:], ends))


def _port_counts(stats: Json, status: Json) -> PortCounts:
    return PortCounts(
        sent=int(stats.get("opackets", 0)),
        received=int(stats.get("ipackets", 0)),
        receive_drops=int(stats.get("ierrors", 0)),
        send_errors=int(stats.get("oerrors", 0)),
        sending=status.get("state") == "TX",
        owner=str(status.get("owner") or ""),
    )


def _server_counts(stats: Json) -> ServerCounts:
    return ServerCounts(
        queue_full=int(stats.get("m_total_queue_full", 0)),
        queue_drop=int(stats.get("m_total_queue_drop", 0)),
        sender_busy=float(stats.get("m_cpu_util", 0.0)) / 100.0,
        receiver_busy=float(stats.get("m_rx_cpu_util", 0.0)) / 100.0,
    )


def _errors(ids: FlowStatsIds, latency: Json) -> Json:
    """Return the sequence errors that the receiver of a latency stream counted."""
    its: Json = latency.get(str(ids.latency_pg_id)) or {}
    found: Json = its.get("er") or {}
    return found
