"""Traffic for tests: streams that alternate between two ports."""

from nodrop.model.traffic import Stream, Traffic


def two_way_traffic(stream_count: int) -> Traffic:
    """Streams of 64-byte frames, the even ones from port 0 to port 1, the odd ones back."""
    return Traffic(
        streams=tuple(
            Stream(
                stream_id=stream_id,
                tx_port=stream_id % 2,
                rx_port=1 - stream_id % 2,
                frame_bytes=64,
                src_mac="02:00:00:00:00:01",
                dst_mac="02:00:00:00:00:02",
                src_ip="198.18.0.1",
                dst_ip="198.18.0.2",
                src_udp_port=1024,
                dst_udp_port=9,
            )
            for stream_id in range(stream_count)
        )
    )
