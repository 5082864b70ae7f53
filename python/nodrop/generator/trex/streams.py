"""The traffic of a run as TRex streams."""

from collections.abc import Mapping, Sequence
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.generator.trex.field_engine import FieldProgram, build_program
from nodrop.generator.trex.frames import FrameTemplate
from nodrop.generator.trex.stream_set import (
    FlowStatsIds,
    PortStreams,
    StreamSet,
    assign_ids,
    is_countable,
    measures_latency,
    vxlan_port,
)
from nodrop.model.pattern import FlatLoad
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trex import TrexPlan

COUNTERS_USUAL = 1023
CACHE_MAX = 10_000
OWN_MACS = 3
"""Flags: both MAC addresses are taken from the packet."""
BURSTS_MAX = 2**31
NOT_COUNTED = {"enabled": False}

Json = dict[str, Any]


def build_stream_set(
    traffic: Traffic,
    plan: TrexPlan,
    templates: Sequence[FrameTemplate],
    *,
    counter_count: int = COUNTERS_USUAL,
    announced: Mapping[int, Sequence[bytes]] | None = None,
    announce_every_s: float | None = None,
) -> StreamSet:
    """Build the streams of each port.

    Args:
        traffic: the traffic.
        plan: the settings of TRex.
        templates: of each stream, from `frames.build_templates`.
        counter_count: streams that the server's ports can count individually.
        announced: announcement frames by tester port, sent every `announce_every_s` independent of load; before each
            trial if ports are counted.
        announce_every_s: interval of announcements.

    Raises: GeneratorError naming what TRex cannot send.
    """
    if not isinstance(traffic.pattern, FlatLoad):
        raise GeneratorError(
            f"pattern.kind: TRex cannot send {traffic.pattern.kind}, only a steady load; use generator: engine"
        )
    counted = assign_ids(traffic, plan, counter_count)
    made = [
        _TrexStreams(*parts, plan)
        for parts in zip(traffic.streams, templates, traffic.load_ratios, counted, strict=True)
    ]
    is_distinguished = all(one.pg_id is not None for one in counted)
    ports = tuple(
        _port(
            number,
            [one for one in made if one.stream.tx_port == port],
            (announced or {}).get(port, ()),
            announce_every_s if is_distinguished else None,
        )
        for port, number in enumerate(plan.ports)
    )
    notes = [note for one in made for note in one.notes()]
    return StreamSet(ports=ports, counted=counted, notes=tuple(dict.fromkeys(notes)))


class _TrexStreams:
    """A stream of the traffic as TRex streams."""

    def __init__(
        self, stream: Stream, template: FrameTemplate, ratio: float, counted: FlowStatsIds, plan: TrexPlan
    ) -> None:
        self.stream, self.template, self.ratio, self.counted, self.plan = stream, template, ratio, counted, plan
        if plan.cache_size > CACHE_MAX:
            raise GeneratorError(f"trex.cache_size: {plan.cache_size} exceeds TRex's limit of {CACHE_MAX}; lower it")
        self.program = build_program(stream, template)

    def streams(self) -> list[Json]:
        """Return a stream for each frame size, with its share of the load, and one for latency with its own load."""
        weights = [size.weight for size in self.stream.sizes]
        found = [
            _stream(_continuous(self.ratio * weight / sum(weights)), self.program, frame, self._counting(), self.plan)
            for weight, frame in zip(weights, self.template.frames, strict=True)
        ]
        if self.counted.latency_pg_id is not None:
            mode = _continuous(self.counted.latency_load_pps)
            rule = self._rule("latency", self.counted.latency_pg_id)
            timed = build_program(self.stream, self.template, is_latency=True)
            found.append(_stream(mode, timed, self.template.latency_frame, rule, None))
        return found

    def notes(self) -> list[str]:
        """Return the differences to what nodrop's own engine would send."""
        found = list(self.program.notes)
        if self.stream.size_order == "listed":
            found.append("traffic.genome: TRex keeps the share of each frame size, not their order")
        if self.plan.cache_size and self.stream.flow_count > self.plan.cache_size:
            found.append(
                f"trex.cache_size: TRex repeats {self.plan.cache_size} prebuilt frames of each stream, so at most "
                f"{self.plan.cache_size} of {self.stream.flow_count} flows occur"
            )
        smallest = min(size.frame_bytes for size in self.stream.sizes)
        latency_bytes = len(self.template.latency_frame) + 4
        if self.counted.latency_pg_id is not None and latency_bytes > smallest and len(self.stream.sizes) == 1:
            found.append(
                f"latency is measured with frames of {latency_bytes} bytes in addition to those of {smallest}: TRex's "
                "mark needs space"
            )
        if self.plan.flow_stats and not is_countable(self.stream):
            found.append("TRex cannot tell streams with these headers apart: chains are counted together, by port")
        elif self.counted.latency_pg_id is None and measures_latency(self.stream, self.plan):
            found.append("trex: no stream is counted individually, so no latency is measured")
        return found

    def _counting(self) -> Json:
        return NOT_COUNTED if self.counted.pg_id is None else self._rule("stats", self.counted.pg_id)

    def _rule(self, kind: str, pg_id: int) -> Json:
        in_tunnel = vxlan_port(self.stream) is not None
        return {"enabled": True, "stream_id": pg_id, "rule_type": kind, "vxlan": in_tunnel, "ieee_1588": False}


def _port(number: int, made: Sequence[_TrexStreams], announced: Sequence[bytes], every_s: float | None) -> PortStreams:
    streams = [stream for one in made for stream in one.streams()]
    if every_s is not None:
        streams += [_announcing(frame, every_s) for frame in announced]
    return PortStreams(
        number=number,
        streams=tuple({"stream_id": at, "stream": stream} for at, stream in enumerate(streams, 1)),
        load_ratio=sum(one.ratio for one in made),
        latency_load_pps=sum(one.counted.latency_load_pps for one in made),
        announcements=() if every_s is not None else tuple(announced),
    )


def _continuous(load_pps: float) -> Json:
    return {"type": "continuous", "rate": {"type": "pps", "value": load_pps}}


def _announcing(frame: bytes, every_s: float) -> Json:
    """Return bursts of one frame: the multiplier does not scale the gap between bursts."""
    mode = {
        "type": "multi_burst",
        "pkts_per_burst": 1,
        "count": BURSTS_MAX,
        "ibg": every_s * 1e6,
        "rate": {"type": "pps", "value": 1.0},
    }
    return _stream(mode, FieldProgram((), ()), frame, NOT_COUNTED, None)


def _stream(mode: Json, made: FieldProgram, frame: bytes, counting: Json, plan: TrexPlan | None) -> Json:
    # Each frame of a latency stream has its own timestamp, so none is prebuilt.
    vm: Json = {"instructions": list(made.instructions)}
    if plan and plan.cache_size and made.instructions:
        vm["cache"] = plan.cache_size
    return {
        "enabled": True,
        "self_start": True,
        "flags": OWN_MACS,
        "isg": 0.0,
        "action_count": 0,
        "random_seed": 0,
        "next_stream_id": -1,
        "mode": mode,
        "packet": made.packet(frame),
        "vm": vm,
        "flow_stats": counting,
    }
