"""What is sent: streams of frames between two tester ports."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.pattern import FlatLoad, LoadPattern


class Stream(Value):
    """One direction of traffic: UDP over IPv4 over Ethernet, from one tester port to another.

    `frame_bytes` counts the frame with its FCS (RFC 1242 3.5), so a 64-byte frame occupies 60 bytes of buffer.
    """

    stream_id: int = Field(ge=0, le=65535)
    """Carried in every frame's signature; unique in a run."""
    tx_port: int = Field(ge=0)
    """Index of the port that sends."""
    rx_port: int = Field(ge=0)
    """Index of the port the frames must arrive at."""
    frame_bytes: int = Field(ge=64, le=9216)
    """Frame size in bytes, with FCS."""
    src_mac: str
    dst_mac: str
    src_ip: str
    dst_ip: str
    src_udp_port: int = Field(ge=1, le=65535)
    """First UDP source port; flow *i* uses this port + *i*."""
    dst_udp_port: int = Field(ge=1, le=65535)
    flow_count: int = Field(default=1, ge=1, le=16384)
    """Flows taken in turn, told apart by their UDP source port."""


class Traffic(Value):
    """All streams of a run; a trial's load is divided evenly among them."""

    streams: tuple[Stream, ...] = Field(min_length=1)
    pattern: LoadPattern = FlatLoad()
    """How the load varies during a trial."""

    @property
    def frame_bytes(self) -> int:
        """Frame size, with FCS, of the first stream (all streams of a run share it)."""
        return self.streams[0].frame_bytes
