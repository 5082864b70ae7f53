"""Streams as `add_stream` accepts them: the server's immediate refusals, and the frames of accepted streams.

Source: TRex RPC server specification, add_stream.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from tests.trex import headers, vm
from tests.trex.params import Params
from tests.trex.wire import Refusal

FRAME_BYTES_RANGE = range(14, 9239)
PADDED_BYTES = 60
FCS_BYTES = 4
GAP_BYTES = 20
"""Preamble and gap between frames."""
LATENCY_PAYLOAD_BYTES = 16
RATE_TYPES = ("pps", "bps_L1", "bps_L2", "percentage")
RULE_TYPES = ("stats", "latency", "tpg")
SRC_FROM_PACKET, DST_FROM_PACKET, DUMMY = 1, 2, 8


@dataclass(frozen=True)
class Count:
    """The counters of a stream's frames."""

    pg_id: int
    is_latency: bool


@dataclass(frozen=True)
class TrexStream:
    """An accepted stream."""

    number: int
    is_enabled: bool
    mode: str
    rate_type: str
    rate: float
    burst_count: int
    """Frames of each burst; 0: endless."""
    repeat_count: int
    """Bursts; 0: endless."""
    burst_gap_s: float
    start_s: float
    frame: bytes
    """Without FCS."""
    instructions: tuple[vm.Instruction, ...]
    cache: int
    seed: int
    count: Count | None

    @property
    def is_latency(self) -> bool:
        """Whether it measures latency, and therefore sends at its own rate for any multiplier."""
        return self.count is not None and self.count.is_latency

    @property
    def wire_bytes(self) -> int:
        """With FCS."""
        return len(self.frame) + FCS_BYTES

    @property
    def protocol(self) -> int | None:
        """Number of the protocol over IP; None without IP."""
        found = headers.parse(self.frame)
        return found.protocol if found else None

    def load_pps(self, line_rate_bps: float) -> float:
        """Return the frames per second, before the multiplier."""
        per_frame = {
            "pps": 1.0,
            "bps_L2": 8.0 * self.wire_bytes,
            "bps_L1": 8.0 * (self.wire_bytes + GAP_BYTES),
            "percentage": 8.0 * (self.wire_bytes + GAP_BYTES) * 100 / line_rate_bps,
        }
        return self.rate / per_frame[self.rate_type]


def read(number: int, fields: Params, hw_mac: bytes, dst_mac: bytes) -> TrexStream:
    """Read a stream of a port with these addresses. Raises Refusal."""
    is_enabled = fields.flag("enabled")
    if not fields.flag("self_start"):
        raise Refusal("streams that others start are beyond this server")
    flags = fields.integer("flags", high=2**16 - 1)
    fields.integer("action_count", high=2**32 - 1)
    start_s = fields.number("isg") / 1e6
    if fields.integer("next_stream_id", low=-1) != -1:
        raise Refusal("streams that start others are beyond this server")
    count = _count(fields.object("flow_stats"))
    if count and count.is_latency and "core_id" in fields:
        raise Refusal("Core ID pinning is not supported for latency streams")
    frame = _set_addresses(_frame(fields.object("packet")), flags, hw_mac, dst_mac)
    program = fields.object("vm")
    instructions = vm.read(program.list("instructions"), len(frame))
    mode = fields.object("mode")
    kind = mode.one_of("type", ("continuous", "single_burst", "multi_burst"))
    rate = mode.object("rate")
    rate_type, value = rate.one_of("type", RATE_TYPES), rate.number("value")
    if value <= 0:
        raise Refusal("rate must be positive")
    single, multi = kind == "single_burst", kind == "multi_burst"
    return TrexStream(
        number=number,
        is_enabled=is_enabled and not flags & DUMMY,
        mode=kind,
        rate_type=rate_type,
        rate=value,
        burst_count=mode.integer("total_pkts", low=1) if single else mode.integer("pkts_per_burst") if multi else 0,
        repeat_count=mode.integer("count") if multi else 1 if single else 0,
        burst_gap_s=mode.number("ibg") / 1e6 if multi else 0.0,
        start_s=start_s,
        frame=_mark(frame, count),
        instructions=instructions,
        cache=program.integer("cache", 0, high=2**16 - 1),
        seed=fields.integer("random_seed", 0, high=2**32 - 1),
        count=count,
    )


def _count(fields: Params) -> Count | None:
    if not fields.flag("enabled"):
        return None
    pg_id = fields.integer("stream_id", high=2**32 - 1)
    return Count(pg_id, fields.one_of("rule_type", RULE_TYPES) == "latency")


def _frame(fields: Params) -> bytes:
    fields.text("meta")
    try:
        frame = base64.b64decode(fields.text("binary"), validate=True)
    except binascii.Error:
        raise Refusal("packet is not base64", -32602) from None
    if len(frame) not in FRAME_BYTES_RANGE:
        raise Refusal(f"bad packet size: {len(frame)}, it must be between 14 and 9238")
    return frame.ljust(PADDED_BYTES, b"\0")


def _set_addresses(frame: bytes, flags: int, hw_mac: bytes, dst_mac: bytes) -> bytes:
    dst = frame[:6] if flags & DST_FROM_PACKET else dst_mac
    src = frame[6:12] if flags & SRC_FROM_PACKET else hw_mac
    return dst + src + frame[12:]


def _mark(frame: bytes, count: Count | None) -> bytes:
    """Insert TRex's mark of counted frames, which uses the identification of the (inner) IP header."""
    if count is None:
        return frame
    result = headers.parse(frame)
    if result is None:
        raise Refusal("Failed to add stream: flow stats are only supported for IPv4 and IPv6")
    if count.is_latency and len(frame) - result.payload < LATENCY_PAYLOAD_BYTES:
        raise Refusal(
            f"Need at least {LATENCY_PAYLOAD_BYTES} payload bytes for latency stream, "
            f"packet has {max(0, len(frame) - result.payload)}"
        )
    if result.version != 4:
        return frame
    mark = 0xFFFF if count.is_latency else 0xFC00 + count.pg_id % 0x3FE
    changed = bytearray(frame)
    changed[result.ip + 4 : result.ip + 6] = mark.to_bytes(2, "big")
    headers.fix_ipv4(changed, result.ip)
    return bytes(changed)


def totals(streams: list[TrexStream], line_rate_bps: float) -> dict[str, Any]:
    """Return the streams' total rates, in the units of multipliers."""
    loads = [(stream.load_pps(line_rate_bps), stream.wire_bytes) for stream in streams]
    return {
        "pps": sum(load for load, _ in loads),
        "bps": sum(8 * load * size for load, size in loads),
        "bpsl1": sum(8 * load * (size + GAP_BYTES) for load, size in loads),
    }
