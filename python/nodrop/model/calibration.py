"""What the tester can do by itself, measured over a bare wire: the limit of all that is measured with it."""

from nodrop.model.base import Value


class CalibrationKey(Value):
    """What a calibration holds for."""

    host: str
    kernel: str
    cpu_model: str
    core_count: int
    backend: str
    """As the ports were opened; of `dpdk` with the drivers, as `dpdk+net_af_packet`."""
    engine_cores: tuple[int, ...]
    frame_bytes: float
    """Mean, with FCS."""
    headers: str
    """Of a frame, outermost first."""
    flow_count: int
    stream_count: int
    pattern: str


class Calibration(Value):
    """The tester looped over a bare wire."""

    key: CalibrationKey
    load_pps: float
    """The highest load, all directions together, at which nothing was lost and everything was sent in time."""
    latency_min_ns: int | None
    """Smallest latency of the loop at half of that load: the floor of every latency measured with this tester."""
    latency_p50_ns: int | None
    latency_p99_ns: int | None
    measured_at: str
    """UTC, ISO 8601."""
    run_id: str
    nodrop: str
    """Version that measured."""
