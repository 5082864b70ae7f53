"""A trial whose counts were lost with the generator."""

from typing import Any

from nodrop.model.traffic import Traffic
from nodrop.model.trial import Doubt, StreamCounts, Validity, Windows


def lost_trial_fields(traffic: Traffic, doubt: Doubt) -> dict[str, Any]:
    """Return the fields of a TrialResult without counts, with the doubt that explains it."""
    blank = {field: 0 for field in StreamCounts.model_fields if field.endswith("_count")}
    streams = tuple(
        StreamCounts(stream_id=stream.stream_id, tx_port=stream.tx_port, rx_port=stream.rx_port, **blank)
        for stream in traffic.streams
    )
    nothing: tuple[tuple[int, ...], ...] = ((),) * len(streams)
    return {
        "duration_s": 0.0,
        "stopped_early": True,
        "streams": streams,
        "tester_drop_count": 0,
        "tester_cpu_ratio": 0.0,
        "windows": Windows(end_s=(), offered_count=nothing, received_count=nothing, lost_count=nothing),
        "validity": Validity.of([doubt]),
    }
