"""The engine's backend, CPUs and the backend's requirements on the lab."""

from collections.abc import Sequence
from typing import Literal

from nodrop.config.schema import Config
from nodrop.model.choices import Backend
from nodrop.model.engine_plan import EnginePlan
from nodrop.model.lab_plan import LabPlan
from nodrop.model.traffic import IncrementedValues, Traffic
from nodrop.plan.dpdk import plan_devices
from nodrop.plan.lab import check_core

KERNEL_SUTS = frozenset({"wire", "xdp", "bridge", "router"})
"""SUTs that run on the sender's CPU."""


def choose_backend(config: Config, traffic: Traffic) -> Backend:
    """Return the configured backend; for `auto` the most accurate: an XDP program's frames for an XDP SUT, else packet
    sockets."""
    requested: Backend | Literal["auto"] = config.engine.backend
    if requested != "auto":
        return requested
    return "xdp_live" if config.sut == "xdp" and _fits_xdp_program(traffic) else "af_packet"


def plan_engine(config: Config, lab: LabPlan, backend: Backend, available: Sequence[int]) -> EnginePlan:
    """Return the engine's plan. Raises ConfigError."""
    return EnginePlan(
        backend=backend,
        devices=plan_devices(config, lab) if backend == "dpdk" else (),
        huge_pages=config.engine.dpdk.huge_pages == "auto",
        cores=engine_cores(config, backend, available),
        queue_slots=config.engine.queue_slots,
        catch_up_max_s=config.engine.catch_up,
        latency_every=config.engine.latency_every,
    )


def engine_cores(config: Config, backend: Backend, available: Sequence[int]) -> tuple[int, ...]:
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


def fit_lab(lab: LabPlan, backend: Backend) -> LabPlan:
    """Return the lab, prepared for frames without socket buffers if the backend sends such frames."""
    first_is_xdp = lab.sut == "xdp" and not lab.edges
    return lab.model_copy(
        update={"sut_takes_xdp": backend == "xdp_live" and not first_is_xdp and lab.sut not in ("wire", "ext")}
    )


def _fits_xdp_program(traffic: Traffic) -> bool:
    ranges = [field for stream in traffic.streams for field in stream.ranges]
    counts = all(isinstance(field.values, IncrementedValues) and field.period is None for field in ranges)
    alike = all(len(stream.sizes) == 1 and stream.replay is None for stream in traffic.streams)
    return traffic.pattern.kind == "flat" and counts and alike
