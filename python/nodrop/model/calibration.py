"""The tester's own limits, measured over a bare wire."""

from nodrop.model.base import Value


class CalibrationKey(Value):
    """The settings for which a calibration holds."""

    host: str
    kernel: str
    cpu_model: str
    core_count: int
    backend: str
    """Backend of the ports; for `dpdk` with the drivers, e.g. `dpdk+net_af_packet`."""
    engine_cores: tuple[int, ...]
    frame_bytes: float
    """Mean, with FCS."""
    headers: str
    """Headers of a frame, outermost first."""
    flow_count: int
    stream_count: int
    pattern: str


class Calibration(Value):
    """Limits of the tester, measured over a bare wire."""

    key: CalibrationKey
    load_pps: float
    """Highest load over all directions without loss and without late frames."""
    latency_min_ns: int | None
    """Smallest latency at half of that load: the floor of every latency measured with this tester."""
    latency_p50_ns: int | None
    latency_p99_ns: int | None
    measured_at: str
    """UTC, ISO 8601."""
    run_id: str
    nodrop: str
    """Version of nodrop that measured."""
