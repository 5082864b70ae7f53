"""The DPDK devices of the tester's ports."""

from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.engine_plan import are_on_interfaces
from nodrop.model.lab_plan import LabPlan
from nodrop.plan.frame_sizes import find_max_frame_bytes
from nodrop.units import format_count

RING_SLOTS_MAX = 8192
"""Limit for net_af_packet: deeper rings are slower, and their frames leave the CPU's caches."""
SLOT_BYTES_MIN = 2048
SLOT_OVERHEAD_BYTES = 256
"""Upper bound of what the kernel writes before a frame."""


def plan_devices(config: Config, lab: LabPlan) -> tuple[str, ...]:
    """Return DPDK's arguments for each tester port. Raises ConfigError if they do not match the lab."""
    requested = config.engine.dpdk.devices
    if requested == "auto":
        return tuple(_on_interfaces(config, lab))
    port_count = len(lab.tester_interfaces)
    if len(requested) != port_count:
        raise ConfigError(
            f"engine.dpdk.devices: {format_count(len(requested), 'device')} for {port_count} tester ports; name a "
            "device for each"
        )
    if lab.sut != "wire" and not are_on_interfaces(requested, lab.tester_interfaces):
        named = " and ".join(lab.tester_interfaces)
        raise ConfigError(
            f"engine.dpdk.devices: not on {named}, between which {lab.sut} is ({' '.join(requested)}); write --sut "
            "wire to measure what connects them, or name devices on those interfaces "
            f"(net_af_packet0,iface={lab.tester_interfaces[0]})"
        )
    return requested


def _on_interfaces(config: Config, lab: LabPlan) -> Iterator[str]:
    driver = config.engine.dpdk.driver
    for number, interface in enumerate(lab.tester_interfaces):
        device = f"{driver}{number},iface={interface}"
        yield f"{device},{_ring(config)}" if driver == "net_af_packet" else device


def _ring(config: Config) -> str:
    """Return ring arguments: slots that hold a frame, in blocks of full pages, bypassing the qdisc as other backends
    do."""
    slot_bytes = SLOT_BYTES_MIN
    while slot_bytes < find_max_frame_bytes(config) + SLOT_OVERHEAD_BYTES:
        slot_bytes *= 2
    slots = 2 ** (min(config.engine.queue_slots, RING_SLOTS_MAX).bit_length() - 1)
    return f"framesz={slot_bytes},blocksz={max(4096, slot_bytes)},framecnt={slots},qdisc_bypass=1"
