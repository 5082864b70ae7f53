"""The engine's backend, CPUs and the backend's requirements on the lab."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend
from nodrop.model.engine_plan import EnginePlan, are_on_interfaces
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Ethernet, Ipv4, Udp, Vlan
from nodrop.model.plan import FixedRatePlan
from nodrop.model.profiles import BACK_TO_BACK
from nodrop.model.traffic import IncrementedValues, Stream, Traffic
from nodrop.plan.frame_sizes import find_max_frame_bytes
from nodrop.plan.lab import VNF_SUTS, check_core
from nodrop.units import format_count

LOSS_RUNS_MAX = 65536
"""Runs of lost frames that a trial with events reports, per receiving port."""
KERNEL_SUTS = frozenset({"wire", "xdp", "bridge", "router"})
"""SUTs that run on the sender's CPU."""
RING_SLOTS_MAX = 8192
"""Limit for net_af_packet: deeper rings are slower, and their frames leave the CPU's caches."""
PLAIN_LAYERS = (Ethernet, Vlan, Ipv4, Udp)
PLAIN_STREAMS_MAX = 64
LIVE_FRAME_BYTES_MAX = 3000
"""Longest frame that an XDP program sends."""
SLOT_BYTES_MIN = 2048
SLOT_OVERHEAD_BYTES = 256
"""Upper bound of what the kernel writes before a frame."""
IDLE_LOAD_MAX_PPS = 10_000
"""Highest load over both directions at which packet sockets sleep between frames and leave most of a CPU idle."""


def choose_backend(
    config: Config,
    lab: LabPlan,
    traffic: Traffic,
    *,
    fixed: FixedRatePlan | None,
    available: Sequence[int],
    supports_xdp_live: Callable[[], bool],
) -> Backend:
    """Return the configured backend; for `auto` the fastest that fits the SUT and the traffic.

    That is an XDP program, which sends several times what a SUT that takes such frames forwards, for an XDP SUT and for
    a loopback VNF on a CPU of its own; otherwise packet sockets. The program occupies its CPU at any load, so a low
    fixed rate is sent to a VNF by packet sockets.

    Args:
        config: the configuration.
        lab: the path.
        traffic: the traffic.
        fixed: the trial at a fixed rate; None for a search.
        available: CPUs nodrop may use.
        supports_xdp_live: tries whether XDP programs can send on this machine.
    """
    requested: Backend | Literal["auto"] = config.engine.backend
    if requested != "auto":
        return requested
    changes_load = fixed is not None and bool(fixed.load_phases)
    has_bursts = config.search.algorithm == BACK_TO_BACK or (fixed is not None and fixed.is_burst)
    if not _fits_xdp_program(traffic) or config.lab or changes_load or has_bursts:
        return "af_packet"
    if config.sut == "xdp":
        return "xdp_live"
    if not _takes_xdp(lab) or config.vnf.backend == "af_packet" or config.capture.file or not _is_plain(traffic):
        return "af_packet"  # frames that the kernel makes can be captured only when they arrive
    if fixed and fixed.load_pps <= IDLE_LOAD_MAX_PPS:
        return "af_packet"
    sut_core, tester_cores = lab.forwarders[0].core, select_engine_cores(config, "xdp_live", available)
    has_own_cpu = sut_core is not None and bool(tester_cores) and sut_core not in tester_cores
    return "xdp_live" if has_own_cpu and supports_xdp_live() else "af_packet"


def use_packet_sockets(config: Config) -> Config:
    """Return the configuration with packet sockets instead of `auto`, for runs that are compared."""
    if config.engine.backend != "auto":
        return config
    return config.replace(engine=config.engine.replace(backend="af_packet"))


def _takes_xdp(lab: LabPlan) -> bool:
    """Return whether the path is one loopback VNF whose ports receive on the sender's CPU, as XDP frames do."""
    is_alone = len(lab.forwarders) == 1 and not lab.balancer
    return lab.sut in VNF_SUTS and is_alone and lab.sut_softirq_core is None


def plan_engine(config: Config, lab: LabPlan, backend: Backend, available: Sequence[int]) -> EnginePlan:
    """Return the engine's plan. Raises ConfigError."""
    return EnginePlan(
        backend=backend,
        devices=_plan_devices(config, lab) if backend == "dpdk" else (),
        huge_pages=config.engine.dpdk.huge_pages == "auto",
        cores=select_engine_cores(config, backend, available),
        queue_slots=config.engine.queue_slots,
        catch_up_max_s=config.engine.catch_up,
        latency_every=config.engine.latency_every,
        loss_run_max=LOSS_RUNS_MAX if config.trial_events or lab.scales_out else 0,
    )


def select_engine_cores(config: Config, backend: Backend, available: Sequence[int]) -> tuple[int, ...]:
    """Return the CPUs of the engine's threads.

    Sending by an XDP program, or receiving through DPDK, occupies a CPU, so the other thread has its own if the SUT
    leaves one. Raises ConfigError.
    """
    requested = config.engine.cores
    if config.generator == "trex" or requested == "none" or (requested == "auto" and len(available) < 2):
        return ()
    if isinstance(requested, str):
        both = backend in ("xdp_live", "dpdk") and config.sut in KERNEL_SUTS
        return tuple(available[:2] if both else available[:1])
    for core in requested:
        check_core("engine.cores", core, available)
    return requested


def fit_lab(config: Config, lab: LabPlan, backend: Backend) -> LabPlan:
    """Return the lab, prepared for frames without socket buffers if the backend sends such frames."""
    first_is_xdp = lab.sut == "xdp" and not lab.edges
    is_live = backend == "xdp_live"
    update: dict[str, object] = {"sut_takes_xdp": is_live and not first_is_xdp and lab.sut not in ("wire", "ext")}
    if config.vnf.backend == "auto" and is_live and _takes_xdp(lab):
        update["sut_backend"] = "af_xdp"
    return lab.replace(**update)


def _fits_xdp_program(traffic: Traffic) -> bool:
    ranges = [field for stream in traffic.streams for field in stream.ranges]
    counts = all(isinstance(field.values, IncrementedValues) and field.period is None for field in ranges)
    alike = all(len(stream.sizes) == 1 and stream.replay is None for stream in traffic.streams)
    return traffic.pattern.kind == "flat" and counts and alike


def _is_plain(traffic: Traffic) -> bool:
    """Return whether all streams have the same few headers, which the program's limits certainly allow."""

    def shape(stream: Stream) -> tuple[object, ...]:
        layers, fields = map(type, stream.layers), ((field.layer, field.field) for field in stream.ranges)
        return stream.sizes, stream.share, tuple(layers), tuple(fields)

    first = traffic.streams[0]
    return (
        len(traffic.streams) <= PLAIN_STREAMS_MAX
        and first.sizes[0].frame_bytes <= LIVE_FRAME_BYTES_MAX
        and all(isinstance(layer, PLAIN_LAYERS) for layer in first.layers)
        and all(isinstance(first.layers[field.layer], Ipv4 | Udp) for field in first.ranges)
        and all(shape(stream) == shape(first) for stream in traffic.streams)
    )


def _plan_devices(config: Config, lab: LabPlan) -> tuple[str, ...]:
    """Return DPDK's arguments for each tester port. Raises ConfigError if they do not match the lab."""
    requested = config.engine.dpdk.devices
    if requested == "auto":
        return tuple(_list_lab_devices(config, lab))
    port_count = len(lab.tester_interfaces)
    if len(requested) != port_count:
        raise ConfigError(
            f"engine.dpdk.devices: {format_count(len(requested), 'device')} for {port_count} tester ports; name a "
            "device for each"
        )
    if lab.sut != "wire" and not are_on_interfaces(requested, lab.tester_interfaces):
        interfaces = " and ".join(lab.tester_interfaces)
        raise ConfigError(
            f"engine.dpdk.devices: not on {interfaces}, between which {lab.sut} is ({' '.join(requested)}); write "
            "--sut wire to measure what connects them, or name devices on those interfaces "
            f"(net_af_packet0,iface={lab.tester_interfaces[0]})"
        )
    return requested


def _list_lab_devices(config: Config, lab: LabPlan) -> Iterator[str]:
    driver = config.engine.dpdk.driver
    for number, interface in enumerate(lab.tester_interfaces):
        device = f"{driver}{number},iface={interface}"
        yield f"{device},{_format_ring_arguments(config)}" if driver == "net_af_packet" else device


def _format_ring_arguments(config: Config) -> str:
    """Return ring arguments: slots that hold a frame, in blocks of full pages, bypassing the qdisc as other backends
    do."""
    slot_bytes = SLOT_BYTES_MIN
    while slot_bytes < find_max_frame_bytes(config) + SLOT_OVERHEAD_BYTES:
        slot_bytes *= 2
    slots = 2 ** (min(config.engine.queue_slots, RING_SLOTS_MAX).bit_length() - 1)
    return f"framesz={slot_bytes},blocksz={max(4096, slot_bytes)},framecnt={slots},qdisc_bypass=1"
