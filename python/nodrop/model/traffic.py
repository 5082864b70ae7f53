"""The test traffic: streams of frames between two tester ports."""

import math
from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.layer import Ethernet, Ipv4, Ipv6, Layer
from nodrop.model.pattern import FlatLoad, LoadPattern

FieldName = Literal["src", "dst", "src_port", "dst_port", "id", "label", "vni", "key", "identifier", "flow_label"]
"""Fields that can vary, by their names in the layers."""


class IncrementedValues(Value):
    """The layer's own value, then `step` more each time."""

    mode: Literal["increment"] = "increment"
    count: int = Field(ge=1, le=2**23)
    step: int = Field(default=1, ge=1)


class ListedValues(Value):
    """Values in this order; addresses as text, others as integers."""

    mode: Literal["list"] = "list"
    values: tuple[int | str, ...] = Field(min_length=1, max_length=2**20)

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.values)


class RandomValues(Value):
    """Different values in pseudo-random order, out of `span` values that start with the layer's own."""

    mode: Literal["random"] = "random"
    count: int = Field(ge=1, le=2**20)
    span: int = Field(ge=1)
    seed: int = Field(ge=0)


class MaskedValues(Value):
    """The layer's own value plus pseudo-random numbers below `span`, whose bits are distributed over those of a mask.

    Fields with the same count, span and seed have parts of the same number.
    """

    mode: Literal["masked"] = "masked"
    count: int = Field(ge=1, le=2**20)
    span: int = Field(ge=1)
    seed: int = Field(ge=0)
    skip_bits: int = Field(default=0, ge=0, le=63)
    """Lowest bits of the number that the field does not use."""
    mask: int = Field(ge=1, lt=2**64)


class ConstantArrival(Value):
    """The same value in every frame."""

    mode: Literal["constant"] = "constant"
    value: int = Field(ge=0, lt=2**64)


class MaskedArrival(MaskedValues):
    """As masked values of a field of the sent frame, from `first`."""

    first: int = Field(default=0, ge=0, lt=2**64)


class TableArrival(Value):
    """An entry of a table for each number of random or masked values of the sent frame."""

    mode: Literal["table"] = "table"
    entries: tuple[int, ...] = Field(min_length=1, max_length=2**16)
    count: int = Field(ge=1, le=2**20)
    span: int = Field(ge=1)
    seed: int = Field(ge=0)
    skip_bits: int = Field(default=0, ge=0, le=63)
    """Lowest bits of the number that are not used; the rest, modulo the length of the table, is the index."""


class ArrivalField(Value):
    """A field that the SUT writes, as it must arrive; compared in a sample of the frames."""

    anchor: Literal["start", "signature"]
    """What the offset counts from: the frame as on the wire, or the signature."""
    offset: int
    width: int = Field(ge=1, le=8)
    """In bytes."""
    mask: int = Field(ge=1, lt=2**64)
    """Bits to compare."""
    values: Annotated[ConstantArrival | MaskedArrival | TableArrival, Field(discriminator="mode")]


class FieldRange(Value):
    """A field that varies from frame to frame."""

    layer: int = Field(ge=0)
    """Index of the layer."""
    field: FieldName
    values: Annotated[IncrementedValues | ListedValues | RandomValues | MaskedValues, Field(discriminator="mode")]
    every: int = Field(default=1, ge=1, le=2**23)
    """Frames that keep each value."""
    period: int | None = Field(default=None, ge=2, le=2**23)
    """Frames after which it restarts even if its pass is incomplete; None: at the end of its pass."""

    @property
    def through_count(self) -> int:
        """Frames after which it restarts."""
        return self.period or self.every * self.values.count


class SizeShare(Value):
    """A frame size and its frequency."""

    frame_bytes: int = Field(ge=64, le=9216)
    """With FCS (RFC 1242 3.5), so a 64-byte frame occupies 60 bytes of buffer."""
    weight: int = Field(default=1, ge=1)
    """Number of frames in the repeating order."""


class ReplaySource(Value):
    """Frames of a capture file."""

    file: str
    """A pcap or pcapng file of Ethernet frames."""
    filter: str | None = None
    """Only frames that match this filter (pcap-filter(7))."""
    frame_count_max: int | None = Field(default=None, ge=1, le=65536)
    """Largest number of frames, from the start; None: all, at most 65536."""


class ReplayContents(Value):
    """The frames of a capture file."""

    frame_count: int
    """Frames that are sent in order, repeatedly."""
    template_count: int
    """Number of different frames."""
    grown_count: int
    """Frames enlarged to hold the signature."""
    other_link_count: int = 0
    """Frames of links other than Ethernet, which are skipped."""
    cut_off_after: int | None = None
    """Number of whole frames of a file that ends within a frame; None if it does not."""
    sizes: tuple[SizeShare, ...]
    """Sizes with their numbers of frames."""
    signature_offsets: tuple[int, ...]
    """Offsets of signatures."""


class Replay(ReplaySource):
    """Frames of a capture file with the MAC addresses they are sent with."""

    macs: Literal["port", "keep"]
    """Whether frames get the MAC addresses of the stream's Ethernet header, or keep their own."""
    frame_count: int
    template_count: int
    grown_count: int
    other_link_count: int = 0
    cut_off_after: int | None = None


SignatureForm = Literal["payload", "headers"]
"""Where frames carry their signature: behind the headers, or, for the smallest frames, in the fields of the last two,
IPv4 and UDP, which leave no space for a send time."""


class Stream(Value):
    """Frames of the same headers, from one tester port to another."""

    stream_id: int = Field(ge=0, le=65535)
    """Carried in every frame's signature; unique in a run."""
    tx_port: int = Field(ge=0)
    """Index of the port that sends."""
    rx_port: int = Field(ge=0)
    """Index of the port the frames must arrive at."""
    chain: int = Field(default=0, ge=0)
    """Service chain the stream goes through."""
    rx_vlan: int | None = None
    """VLAN its frames must arrive in, if chains are distinguished by VLAN."""
    share: float = Field(default=1.0, gt=0)
    """Part of the load, relative to the other streams'."""
    sizes: tuple[SizeShare, ...] = Field(min_length=1)
    size_order: Literal["mixed", "listed"] = "mixed"
    """Whether sizes are evenly mixed, or in the listed order, each `weight` times in a row."""
    layers: tuple[Layer, ...] = Field(min_length=1)
    """Headers, outermost first."""
    ranges: tuple[FieldRange, ...] = Field(default=(), max_length=8)
    signature: SignatureForm = "payload"
    rx_offsets: tuple[int, ...] = ()
    """Further offsets of the signature in received frames, if the SUT adds or removes headers."""
    arrival_fields: tuple[ArrivalField, ...] = ()
    """Fields that the SUT writes; empty if they are not known."""
    replay: Replay | None = None
    """The capture file of the frames, if any; `sizes` then has their numbers, `layers` only Ethernet."""

    @property
    def ethernet(self) -> Ethernet:
        """The outermost header."""
        assert isinstance(self.layers[0], Ethernet)
        return self.layers[0]

    @property
    def ip(self) -> Ipv4 | Ipv6 | None:
        """The outermost IP header, or None."""
        return next((layer for layer in self.layers if isinstance(layer, Ipv4 | Ipv6)), None)

    @property
    def header_bytes(self) -> int:
        """Length of all headers, and offset of the signature."""
        return sum(layer.header_bytes for layer in self.layers)

    @property
    def frame_bytes_mean(self) -> float:
        """Mean frame size, with FCS."""
        weights = sum(size.weight for size in self.sizes)
        return sum(size.frame_bytes * size.weight for size in self.sizes) / weights

    @property
    def flow_count(self) -> int:
        """Number of frames that differ in more than signature and size."""
        if self.replay:
            return self.replay.template_count
        return math.lcm(*(part.through_count for part in self.ranges))


class Traffic(Value):
    """All streams of a run; they divide a trial's load by their shares."""

    streams: tuple[Stream, ...] = Field(min_length=1)
    pattern: LoadPattern = FlatLoad()
    """Variation of the load during a trial."""
    warm_up_s: float = Field(default=0.0, ge=0)
    """Time for which the mean load of a trial is sent before it; those frames are not judged."""

    @property
    def frame_bytes(self) -> float:
        """Mean frame size, with FCS, of the first stream. Those of the other direction differ if its headers do."""
        mean = self.streams[0].frame_bytes_mean
        return int(mean) if mean.is_integer() else mean

    @property
    def largest_frame_bytes(self) -> float:
        """Mean frame size, with FCS, of the stream with the largest frames, which fill their link first."""
        return max(stream.frame_bytes_mean for stream in self.streams)

    def mean_frame_bytes(self, tx_ports: Collection[int] = ()) -> float:
        """Return the mean frame size, with FCS, of the frames sent by these ports; by default by all."""
        pairs = zip(self.streams, self.load_ratios, strict=True)
        means = [
            (ratio, stream.frame_bytes_mean) for stream, ratio in pairs if not tx_ports or stream.tx_port in tx_ports
        ]
        first = means[0][1]
        if all(mean == first for _, mean in means):
            return first
        return sum(ratio * mean for ratio, mean in means) / sum(ratio for ratio, _ in means)

    @property
    def load_ratios(self) -> tuple[float, ...]:
        """Each stream's part of the load; the sum is 1."""
        total = sum(stream.share for stream in self.streams)
        return tuple(stream.share / total for stream in self.streams)

    @property
    def direction_ratios(self) -> dict[tuple[int, int], float]:
        """Part of the load by sending and receiving port."""
        ratios: dict[tuple[int, int], float] = {}
        for stream, ratio in zip(self.streams, self.load_ratios, strict=True):
            way = stream.tx_port, stream.rx_port
            ratios[way] = ratios.get(way, 0.0) + ratio
        return ratios
