"""Memory modules and their capabilities. Source: ETSI GS NFV-PER 001 clause 8.1.1.2."""

from collections import Counter
from typing import TypeVar

from nodrop.host.dimms import EDAC, Dimm, Dimms, read_edac_dimms, read_firmware_dimms
from nodrop.host.inputs import Source
from nodrop.host.smbios import TABLE
from nodrop.model.chd import MemoryCapabilities, MemoryModule
from nodrop.model.observation import Observation

T = TypeVar("T")
_BUS_BYTES = 8
"""Width of a channel; DDR5 has two subchannels of half the width."""


def describe_memory(source: Source) -> MemoryCapabilities:
    """Describe memory by SMBIOS; EDAC supplies what SMBIOS omits or shows to root only."""
    listed, counted = read_firmware_dimms(source), read_edac_dimms(source)
    dimms = listed or counted
    if dimms is None:
        return _build_unknown(source)
    present = tuple(each for each in dimms.slots if each.size_bytes != 0)
    speed = _observe_speed(source, present, dimms.source)
    populated = _observe_populated(source, present, counted, dimms.source)
    return MemoryCapabilities(
        kind=_observe_kind(source, present, dimms.source),
        speed_mtps=speed,
        ecc=_observe(source, _select_first(dimms.has_ecc, counted.has_ecc if counted else None), dimms.source),
        channels_populated_count=populated,
        channels_count=_observe_channels(source, dimms, counted),
        balanced=_observe_balanced(source, dimms, counted),
        bandwidth_bytes_per_s=_observe_bandwidth(source, populated, speed),
        modules=tuple(_build_module(source, each) for each in present),
    )


def _build_unknown(source: Source) -> MemoryCapabilities:
    firmware, counters = (
        source.tree.failure_reason(TABLE) or "no memory is listed",
        source.tree.failure_reason(EDAC) or "no module is listed",
    )
    reason = f"SMBIOS: {firmware}; EDAC: {counters}"
    return MemoryCapabilities(
        kind=source.moment.unknown(reason, TABLE),
        speed_mtps=source.moment.unknown(reason, TABLE),
        ecc=source.moment.unknown(reason, TABLE),
        channels_populated_count=source.moment.unknown(reason, TABLE),
        channels_count=source.moment.unknown(reason, TABLE),
        balanced=source.moment.unknown(reason, TABLE),
        bandwidth_bytes_per_s=source.moment.unknown(reason, TABLE),
    )


def _observe_kind(source: Source, present: tuple[Dimm, ...], path: str) -> Observation[str]:
    kinds = sorted({each.kind for each in present if each.kind})
    return _observe(source, " ".join(kinds) or None, path)


def _observe_speed(source: Source, present: tuple[Dimm, ...], path: str) -> Observation[int]:
    """Return the configured speed of the slowest module, which limits all."""
    set_up = [each.speed_mtps for each in present if each.speed_mtps]
    rated = [each.rated_mtps for each in present if each.rated_mtps]
    if set_up:
        mixed = "the slowest of several" if len(set(set_up)) > 1 else ""
        return source.moment.reported(min(set_up), path, mixed)
    if rated:
        return source.moment.inferred(min(rated), path, "as rated; the firmware does not say what is configured")
    return _observe(source, None, path)


def _observe_populated(source: Source, present: tuple[Dimm, ...], counted: Dimms | None, path: str) -> Observation[int]:
    for slots, origin in ((present, path), (counted.slots if counted else (), EDAC)):
        channels = {each.channel for each in slots if each.size_bytes}
        if channels and None not in channels:
            return source.moment.inferred(len(channels), origin, "by the names of slots that have modules")
    return source.moment.unknown("the slots' names do not tell their channels", path)


def _observe_channels(source: Source, dimms: Dimms, counted: Dimms | None) -> Observation[int]:
    if dimms.channel_count is not None:
        return source.moment.inferred(dimms.channel_count, dimms.source, "by the names of all slots")
    if counted and counted.channel_count is not None:
        return source.moment.reported(counted.channel_count, f"{EDAC}/mc*/max_location")
    return source.moment.unknown("the slots' names do not tell their channels", dimms.source)


def _observe_balanced(source: Source, dimms: Dimms, counted: Dimms | None) -> Observation[bool]:
    """Return whether all channels have the same capacity: an unequal one cannot be fully interleaved."""
    for each in filter(None, (dimms, counted)):
        if each.channel_count is None or any(slot.channel is None or slot.size_bytes is None for slot in each.slots):
            continue
        mib_by_channel: Counter[str] = Counter()
        for slot in each.slots:
            mib_by_channel[slot.channel or ""] += (slot.size_bytes or 0) >> 20
        empty = each.channel_count - sum(size > 0 for size in mib_by_channel.values())
        sizes = sorted({size for size in mib_by_channel.values() if size})
        reason = f"{empty} channels are empty" if empty else f"channels of {' and '.join(map(str, sizes))} MiB"
        return source.moment.inferred(not empty and len(sizes) == 1, each.source, reason)
    return source.moment.unknown("the slots' names do not tell their channels", dimms.source)


def _observe_bandwidth(source: Source, channels: Observation[int], speed: Observation[int]) -> Observation[float]:
    if channels.value is None or speed.value is None:
        return source.moment.unknown(f"{channels.why if channels.value is None else speed.why}", channels.source)
    total = float(channels.value * speed.value * 1_000_000 * _BUS_BYTES)
    return source.moment.inferred(total, channels.source, f"{channels.value} channels of {speed.value} MT/s by 8 bytes")


def _build_module(source: Source, each: Dimm) -> MemoryModule:
    return MemoryModule(
        slot=each.slot,
        size_bytes=_observe(source, each.size_bytes, each.source),
        kind=_observe(source, each.kind, each.source),
        speed_mtps=_observe(source, each.speed_mtps, each.source),
        rated_mtps=_observe(source, each.rated_mtps, each.source),
        channel=source.moment.unknown("the slot's name does not tell", each.source)
        if each.channel is None
        else source.moment.inferred(each.channel, each.source, "by the slot's name, as socket/channel"),
        rank_count=_observe(source, each.rank_count, each.source),
        part=_observe(source, each.part or None, each.source),
    )


def _observe(source: Source, value: T | None, path: str) -> Observation[T]:
    if value is None:
        return source.moment.unknown("not reported", path)
    return source.moment.reported(value, path)


def _select_first(value: T | None, other: T | None) -> T | None:
    return other if value is None else value
