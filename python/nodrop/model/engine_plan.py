"""The packet engine of a plan, and the frames it captures."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import Backend


class EnginePlan(Value):
    """The settings of the packet engine."""

    backend: Backend = "af_packet"
    devices: tuple[str, ...] = ()
    """For `dpdk`: the device of each tester port, with DPDK's arguments."""
    huge_pages: bool = True
    """Whether DPDK uses huge pages if enough are free."""
    cores: tuple[int, ...] = ()
    """CPUs of its threads, one each; empty: one thread without a fixed CPU."""
    queue_slots: int = Field(ge=64)
    """Frames a tester port can queue before the tester itself drops."""
    catch_up_max_s: float = Field(default=0.02, gt=0)
    """Largest backlog that a stalled sender may send at once afterwards, as the time in which the frames were due."""
    loss_run_max: int = 0
    """Runs of lost frames that a trial reports with their times, per receiving port."""
    latency_every: int | None = None
    """Latency is measured on every n-th frame; None: chosen by the engine."""


class CapturePlan(Value):
    """Capture of trials' frames to files, one for each trial."""

    file: str
    """Absolute path; each trial's file has its index before the suffix."""
    trials: Literal["latency", "search", "all"]
    """The trials to capture."""
    way: Literal["sent", "received", "both"]
    ports: tuple[int, ...] = ()
    """Tester ports; empty: all."""
    filter: str | None = None
    """Only frames that match this filter (pcap-filter(7))."""
    frame_count_max: int = Field(ge=1, le=10_000_000)
    """Largest number of frames per trial, from its start."""
    bytes_max: int = Field(ge=2**20, le=2**30)
    """Memory for the frames of a trial."""
    snap_bytes: int = Field(ge=14)
    """Captured bytes per frame."""


def are_on_interfaces(devices: Sequence[str], interfaces: Sequence[str]) -> bool:
    """Return whether each of these DPDK devices is on the interface at its position."""
    return all(f"iface={name}" in device.split(",") for device, name in zip(devices, interfaces, strict=True))
