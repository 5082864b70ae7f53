"""The keys under `traffic`: headers, sizes, streams and fields that change."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.units import parse_ratio

GENOME_BYTES = {"a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000}
"""Frame sizes by letter. Source: RFC 6985 section 3, without j (16000) and z (whatever the MTU is)."""

IMIX = "IMIX"
IMIX_WEIGHTS = {64: 7, 594: 4, 1518: 1}
"""The mix of that name: sizes with FCS, by weight."""
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
"""Fields that can change. In a tunnel's frames those named plainly are the inner ones; of MPLS it is the last label."""


def parse_labels(written: object) -> object:
    """A label or several, outermost first: `16`, `16,17` or `[16, 17]`."""
    if not isinstance(written, str):
        return written if isinstance(written, (list, tuple)) else [written]
    return written.split(",")


def parse_imix(written: object) -> object:
    """Sizes with weights: a mapping, or `64:7,594:4,1518:1`. Raises ValueError."""
    if not isinstance(written, str):
        return written
    pairs = [part.split(":") for part in written.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{written!r} is not a mix of sizes; write size:weight, as 64:7,594:4,1518:1")
    return dict(pairs)


def parse_genome(written: object) -> object:
    """Letters of RFC 6985: `aaafg` or `IMIX-aaafg`. Raises ValueError."""
    letters = written.removeprefix("IMIX-") if isinstance(written, str) else ""
    if not re.fullmatch(f"[{''.join(GENOME_BYTES)}]+", letters):
        known = ", ".join(f"{letter} {size}" for letter, size in GENOME_BYTES.items())
        raise ValueError(f"{written!r} is not a genome; write letters in the order of the frames, of {known}")
    return letters


def parse_frame_size(written: object) -> object:
    """A size in bytes, `IMIX`, or a genome. Raises ValueError."""
    text = str(written).strip()
    if text.upper() == IMIX:
        return IMIX
    if text.isdecimal() and not isinstance(written, bool):
        size = int(text)
        if not FRAME_BYTES_MIN <= size <= FRAME_BYTES_MAX:
            raise ValueError(
                f"{size} is not a frame size; write bytes with FCS, {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX}"
            )
        return size
    if isinstance(written, str) and re.fullmatch(f"(IMIX-)?[{''.join(GENOME_BYTES)}]+", text):
        return text.removeprefix("IMIX-")
    raise ValueError(f"{written!r} is not a frame size; write bytes, as 64, or IMIX, or a genome, as aaafg")


def parse_frame_sizes(written: object) -> object:
    """Sizes in a list, or as `64,IMIX,1518`; those given twice are taken once. Raises ValueError."""
    listed = written.split(",") if isinstance(written, str) else written
    sizes = listed if isinstance(listed, (list, tuple)) else [] if listed is None else [listed]
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
    """A field that changes from frame to frame: by steps, through a list, or at random."""

    field: RangeField
    """Which field."""
    count: int | None = Field(default=None, ge=1, le=2**23)
    """How many values; 1 to 8388608. Needed unless `values` is given."""
    step: int = Field(default=1, ge=1)
    """From one value to the next; at least 1."""
    values: tuple[int | str, ...] | None = Field(default=None, min_length=1, max_length=2**20)
    """The values themselves; addresses as text, all else as numbers."""
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    """Draw the values at random; the same seed draws the same ones."""
    span: int | None = Field(default=None, ge=1)
    """Out of how many values to draw, from the field's own on; null: `count`."""
    together: bool = False
    """Change with the range before, not each time that one has gone through."""


class ReplayConfig(Value):
    """Frames of a capture file instead of made ones."""

    file: str | None = Field(default=None, min_length=1)
    """A pcap or pcapng file of Ethernet frames, sent in its order again and again; null: frames are made."""
    filter: str | None = Field(default=None, min_length=1)
    """Only frames that this lets through, as `udp port 53` (pcap-filter(7)); needs libpcap."""
    frames: int | None = Field(default=None, ge=1, le=65536)
    """Only the first so many, 1 to 65536; null: all, which must not be more than 65536."""
    macs: Literal["port", "keep"] = "port"
    """MAC addresses they are sent with: `port`, those of the tester's port and of what is behind it, or `keep`, their
    own."""


class TrafficConfig(Value):
    """What frames are made of. Headers come in this order: Ethernet, qinq, vlan, mpls, then vxlan or gre with what they
    carry, IP, and the transport."""

    ip: Literal[4, 6] = 4
    """IP version; 4 or 6."""
    transport: Literal["udp", "tcp", "icmp"] = "udp"
    """What IP carries: `udp`, `tcp` without connections, or `icmp` echo requests."""
    dscp: int = Field(default=0, ge=0, le=63)
    """Differentiated services code point; 0 to 63."""
    vlan: int | None = Field(default=None, ge=0, le=4095)
    """802.1Q VLAN; 0 to 4095. Null: no tag."""
    qinq: int | None = Field(default=None, ge=0, le=4095)
    """802.1ad VLAN in front of that; 0 to 4095. Null: no tag."""
    mpls: Labels = ()
    """MPLS labels, outermost first, as `[16, 17]`; up to 8, each 0 to 1048575."""
    vxlan: int | None = Field(default=None, ge=0, lt=2**24)
    """Put frames into VXLAN of this network; 0 to 16777215. Null: no tunnel."""
    gre: int | None = Field(default=None, ge=0, lt=2**32)
    """Put packets into GRE with this key; 0 to 4294967295. Null: no tunnel."""
    tunnel_ip: Literal[4, 6] = 4
    """IP version outside of the tunnel; 4 or 6."""
    imix: Imix | None = None
    """Frame sizes by weight instead of `frame_bytes`, as `{64: 7, 594: 4, 1518: 1}` or `64:7,594:4,1518:1`; evenly
    mixed."""
    genome: Genome | None = None
    """Frame sizes in this order instead of `frame_bytes` (RFC 6985), as `aaafg`: a 64, b 128, c 256, d 512, e 1024, f
    1280, g 1518, h 2112, i 9000."""
    streams: int = Field(default=1, ge=1, le=4096)
    """Streams each way, counted by themselves, with equal shares of its load and source addresses of their own; 1 to
    4096."""
    forward: Forward = 0.5
    """Share of the load that goes from the first port to the second where traffic goes both ways, as `80%`; above 0,
    below 100 %."""
    ranges: tuple[RangeConfig, ...] = Field(default=(), max_length=7)
    """More fields that change, each time the flows, or the range before, have gone through; up to 7."""
    replay: ReplayConfig = ReplayConfig()
    """Frames of a capture file instead."""
    rx_shift: tuple[int, ...] = ()
    """Bytes of headers that the SUT adds (or removes, negative) before the payload, where it does; a list, frames as
    sent always count."""
