"""The section `traffic`: headers, sizes, streams and varying fields."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.units import parse_ratio

GENOME_BYTES = {"a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000}
"""Frame sizes by letter. Source: RFC 6985 section 3, without j (16000) and z (the MTU)."""

IMIX = "IMIX"
IMIX_WEIGHTS = {64: 7, 594: 4, 1518: 1}
"""The IMIX: sizes with FCS, by weight."""
FRAME_BYTES_MIN, FRAME_BYTES_MAX = 64, 9216

RangeField = Literal[
    "src_mac",
    "dst_mac",
    "vlan",
    "qinq",
    "mpls",
    "src_ip",
    "dst_ip",
    "flow_label",
    "src_port",
    "dst_port",
    "identifier",
    "vni",
    "gre_key",
    "outer_src_mac",
    "outer_dst_mac",
    "outer_src_ip",
    "outer_dst_ip",
    "outer_src_port",
]
"""Fields that can vary. In a tunnel's frames the plain names are the inner fields; `mpls` is the last label."""


def parse_labels(value: object) -> object:
    """Parse one or several labels, outermost first: `16`, `16,17` or `[16, 17]`."""
    if not isinstance(value, str):
        return value if isinstance(value, (list, tuple)) else [value]
    return value.split(",")


def parse_imix(value: object) -> object:
    """Parse sizes with weights: a mapping, or `64:7,594:4,1518:1`. Raises ValueError."""
    if not isinstance(value, str):
        return value
    pairs = [part.split(":") for part in value.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{value!r} is not a mix of sizes; write size:weight, e.g. 64:7,594:4,1518:1")
    return dict(pairs)


def parse_genome(value: object) -> object:
    """Parse letters of RFC 6985: `aaafg` or `IMIX-aaafg`. Raises ValueError."""
    letters = value.removeprefix("IMIX-") if isinstance(value, str) else ""
    if not re.fullmatch(f"[{''.join(GENOME_BYTES)}]+", letters):
        sizes = ", ".join(f"{letter} {size}" for letter, size in GENOME_BYTES.items())
        raise ValueError(f"{value!r} is not a genome; write letters in the order of the frames: {sizes}")
    return letters


def parse_frame_size(value: object) -> object:
    """Parse a size in bytes, `IMIX`, or a genome. Raises ValueError."""
    text = str(value).strip()
    if text.upper() == IMIX:
        return IMIX
    if text.isdecimal() and not isinstance(value, bool):
        size = int(text)
        if not FRAME_BYTES_MIN <= size <= FRAME_BYTES_MAX:
            raise ValueError(
                f"{size} is not a frame size; write bytes with FCS, {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX}"
            )
        return size
    if isinstance(value, str) and re.fullmatch(f"(IMIX-)?[{''.join(GENOME_BYTES)}]+", text):
        return text.removeprefix("IMIX-")
    raise ValueError(f"{value!r} is not a frame size; write bytes (64), IMIX, or a genome (aaafg)")


def parse_frame_sizes(value: object) -> object:
    """Parse a list of sizes, or `64,IMIX,1518`, and drop duplicates. Raises ValueError."""
    items = value.split(",") if isinstance(value, str) else value
    sizes = items if isinstance(items, (list, tuple)) else [] if items is None else [items]
    return list(dict.fromkeys(parse_frame_size(size) for size in sizes))


FrameSizes = Annotated[
    tuple[int | str, ...], BeforeValidator(parse_frame_sizes, json_schema_input_type=int | str | list[int | str])
]

Labels = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**20)], ...],
    Field(max_length=8),
    BeforeValidator(parse_labels, json_schema_input_type=int | str | list[int]),
]
Imix = Annotated[
    dict[Annotated[int, Field(ge=64, le=9216)], Annotated[int, Field(ge=1, le=65536)]],
    Field(min_length=1, max_length=64),
    BeforeValidator(parse_imix, json_schema_input_type=str | dict[int, int]),
]
Genome = Annotated[str, BeforeValidator(parse_genome, json_schema_input_type=str)]
Forward = Annotated[float, Field(gt=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]


class RangeConfig(Value):
    """A field that varies from frame to frame: in steps, through a list, or randomly."""

    field: RangeField
    """The field."""
    count: int | None = Field(default=None, ge=1, le=2**23)
    """Number of values; 1 to 8388608. Required unless `values` is set."""
    step: int = Field(default=1, ge=1)
    """Increment from one value to the next; from 1."""
    values: tuple[int | str, ...] | None = Field(default=None, min_length=1, max_length=2**20)
    """List of values; addresses as text, others as integers."""
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    """Draw values at random; equal seeds draw equal values."""
    span: int | None = Field(default=None, ge=1)
    """Size of the range of values to draw from, starting at the field's own value; null: `count`."""
    together: bool = False
    """Vary together with the previous range, instead of once per pass of it."""


class ReplayConfig(Value):
    """Frames of a capture file in place of synthetic frames."""

    file: str | None = Field(default=None, min_length=1)
    """A pcap or pcapng file of Ethernet frames, sent in order, repeatedly; null: synthetic frames."""
    filter: str | None = Field(default=None, min_length=1)
    """Send only frames that match this filter, e.g. `udp port 53` (pcap-filter(7)); requires libpcap."""
    frames: int | None = Field(default=None, ge=1, le=65536)
    """Send only this number of frames from the start of the file, 1 to 65536; null: all, at most 65536."""
    macs: Literal["port", "keep"] = "port"
    """MAC addresses of the frames: `port`, those of the tester's port and its next hop, or `keep`, those in the
    file."""


class TrafficConfig(Value):
    """The content of frames. The order of headers is: Ethernet, qinq, vlan, mpls, then vxlan or gre with the inner
    headers, IP, and the transport."""

    ip: Literal[4, 6] = 4
    """IP version; 4 or 6."""
    transport: Literal["udp", "tcp", "icmp"] = "udp"
    """Transport protocol: `udp`, `tcp` without connections, or `icmp` echo requests."""
    dscp: int = Field(default=0, ge=0, le=63)
    """Differentiated services code point; 0 to 63."""
    vlan: int | None = Field(default=None, ge=0, le=4095)
    """802.1Q VLAN; 0 to 4095. Null: no tag."""
    qinq: int | None = Field(default=None, ge=0, le=4095)
    """Outer 802.1ad VLAN; 0 to 4095. Null: no tag."""
    mpls: Labels = ()
    """MPLS labels, outermost first, e.g. `[16, 17]`; up to 8, each 0 to 1048575."""
    vxlan: int | None = Field(default=None, ge=0, lt=2**24)
    """VXLAN network identifier; 0 to 16777215. Null: no tunnel."""
    gre: int | None = Field(default=None, ge=0, lt=2**32)
    """GRE key; 0 to 4294967295. Null: no tunnel."""
    tunnel_ip: Literal[4, 6] = 4
    """Outer IP version of the tunnel; 4 or 6."""
    imix: Imix | None = None
    """Frame sizes by weight, evenly mixed, in place of `frame_bytes`: `{64: 7, 594: 4, 1518: 1}` or
    `64:7,594:4,1518:1`."""
    genome: Genome | None = None
    """Sequence of frame sizes in place of `frame_bytes` (RFC 6985), e.g. `aaafg`: a 64, b 128, c 256, d 512, e 1024, f
    1280, g 1518, h 2112, i 9000."""
    streams: int = Field(default=1, ge=1, le=4096)
    """Streams in each direction of a chain, counted separately, with equal shares of the load and different source
    addresses; 1 to 4096."""
    forward: Forward = 0.5
    """Share of the load from the first port to the second with bidirectional traffic, e.g. `80%`; above 0, below 100
    %."""
    ranges: tuple[RangeConfig, ...] = Field(default=(), max_length=7)
    """Further fields that vary once per pass of the flows or of the previous range; up to 7."""
    replay: ReplayConfig = ReplayConfig()
    """Frames of a capture file in place of synthetic frames."""
    rx_shift: tuple[int, ...] = ()
    """Bytes of headers that the SUT adds before the payload (negative: removes), as a list; unmodified frames always
    count."""
