"""The packet engine of a plan, and the frames it captures."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import Backend


class EnginePlan(Value):
    """How the packet engine is run."""

    backend: Backend = "af_packet"
    devices: tuple[str, ...] = ()
    """Of `dpdk`: the device that each tester port is, with DPDK's arguments."""
    huge_pages: bool = True
    """Whether DPDK takes huge pages when enough of them are free."""
    cores: tuple[int, ...] = ()
    """CPUs its threads are bound to, one thread each; empty leaves one thread unbound."""
    queue_slots: int = Field(ge=64)
    """Frames a tester port can hold before the tester itself drops."""
    catch_up_max_s: float = Field(default=0.02, gt=0)
    """What a sender that was held up may send at once afterwards, as the time in which it was due."""
    latency_every: int | None = None
    """Latency is measured of every so many frames; None leaves it to the engine."""


class CapturePlan(Value):
    """Frames of trials kept in files, one for each trial."""

    file: str
    """Absolute; each trial's has its index in front of the suffix."""
    trials: Literal["latency", "search", "all"]
    """Which trials."""
    way: Literal["sent", "received", "both"]
    ports: tuple[int, ...] = ()
    """Tester ports; empty: all."""
    filter: str | None = None
    """Only frames that this lets through (pcap-filter(7))."""
    frame_count_max: int = Field(ge=1, le=10_000_000)
    """The first so many frames of each trial."""
    bytes_max: int = Field(ge=2**20, le=2**30)
    """Memory for the frames of a trial."""
    snap_bytes: int = Field(ge=14)
    """Bytes kept of each frame."""


def are_on_interfaces(devices: Sequence[str], interfaces: Sequence[str]) -> bool:
    """Whether each of these DPDK devices is on the interface at its position."""
    return all(f"iface={name}" in device.split(",") for device, name in zip(devices, interfaces, strict=True))
