"""Traffic for tests: streams that alternate between two ports."""

from typing import Any

from nodrop.model.layer import Ethernet, Ipv4, Udp
from nodrop.model.traffic import SizeShare, Stream, Traffic


def two_way_traffic(stream_count: int) -> Traffic:
    """Return streams of 64-byte frames, the even ones from port 0 to port 1, the odd ones back."""
    return Traffic(streams=tuple(plain_stream(number, number % 2, 1 - number % 2) for number in range(stream_count)))


def plain_stream(stream_id: int, tx_port: int, rx_port: int, **changes: Any) -> Stream:
    """Return a stream of UDP over IPv4 in 64-byte frames, with these changes."""
    plain: dict[str, Any] = {
        "sizes": (SizeShare(frame_bytes=64),),
        "layers": (
            Ethernet(src="02:00:00:00:00:01", dst="02:00:00:00:00:02"),
            Ipv4(src="198.18.0.1", dst="198.19.0.1"),
            Udp(src_port=1024, dst_port=9),
        ),
    }
    return Stream(stream_id=stream_id, tx_port=tx_port, rx_port=rx_port, **plain | changes)
