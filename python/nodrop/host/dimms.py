"""Memory modules from SMBIOS and from the kernel's error counters (EDAC), which need no root.

Source: DMTF DSP0134 clauses 7.17, 7.18; Linux, Documentation/driver-api/edac.rst.
"""

import re
from collections import Counter
from typing import NamedTuple

from nodrop.host import smbios
from nodrop.host.inputs import Source
from nodrop.host.smbios import TABLE

EDAC = "/sys/devices/system/edac/mc"
_SYSTEM_MEMORY = 3
_KINDS = {
    0x0F: "SDRAM",
    0x12: "DDR",
    0x13: "DDR2",
    0x14: "DDR2",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x1F: "NVDIMM",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
}
_NO_SPEED = (0, 0xFFFF)
_EXTENDED_SIZE = 0x7FFF
_UNKNOWN_SIZE = 0xFFFF
_EDAC_KIND = re.compile(r"(LPDDR|DDR)-?(\d)|\b(HBM\d?|NVDIMM)\b", re.I)
_EDAC_CHANNEL = re.compile(r"channel (\d{1,3})")
_LAST_CHANNEL = re.compile(r"channel (\d{1,3})")
# how makers name slots: socket, then channel
_SOCKET = re.compile(r"(?i)(?:\bP|CPU|PROC(?:ESSOR)?|NODE|SOCKET)[ _-]?(\d{1,2})(?![0-9])")
_CHANNELS = (
    re.compile(r"(?i)channel[ _-]?([A-Z]|\d{1,2})(?![A-Za-z0-9])"),
    re.compile(r"(?i)\bMC[ _-]?(\d{1,2})(?![0-9])"),
    re.compile(r"(?i)DIMM[ _-]?([A-Z])\d?(?![A-Za-z0-9])"),
    re.compile(r"(?i)DIMM[ _-]?\d([A-Z])(?![A-Za-z0-9])"),
)


class Dimm(NamedTuple):
    """A memory slot and its module. None: not reported."""

    slot: str
    size_bytes: int | None
    """0: empty slot."""
    kind: str | None
    rated_mtps: int | None
    speed_mtps: int | None
    channel: str | None
    """Unique in the machine."""
    rank_count: int | None
    part: str
    source: str


class Dimms(NamedTuple):
    """All memory slots of a machine."""

    slots: tuple[Dimm, ...]
    has_ecc: bool | None
    channel_count: int | None
    """With or without modules."""
    source: str


def read_firmware_dimms(source: Source) -> Dimms | None:
    """Return the modules listed in SMBIOS; None: the tables cannot be read, or list no memory."""
    structures = smbios.read_structures(source)
    arrays = [each for each in structures if each.kind == smbios.MEMORY_ARRAY]
    # VMware's devices point at no array; only those of a known other one, such as flash, are left out
    other_arrays = {each.handle for each in arrays if each.read_byte(5) != _SYSTEM_MEMORY}
    devices = [
        each for each in structures if each.kind == smbios.MEMORY_DEVICE and each.read_word(4) not in other_arrays
    ]
    if not devices:
        return None
    slots = _with_unique_names(
        [_build_firmware_dimm(each) for each in devices], [each.read_text(0x11) for each in devices]
    )
    corrections = {each.read_byte(6) for each in arrays if each.handle not in other_arrays}
    channels = {each.channel for each in slots}
    return Dimms(
        slots,
        bool(corrections & {5, 6}) if corrections and not corrections & {None, 1, 2} else None,
        None if None in channels else len(channels),
        TABLE,
    )


def read_edac_dimms(source: Source) -> Dimms | None:
    """Return the modules listed by EDAC; None: no driver for the memory controllers is loaded."""
    tree, slots, channels = source.tree, [], 0
    modes: set[str] = set()
    for controller in tree.list_directory(EDAC):
        path = f"{EDAC}/{controller}"
        if not re.fullmatch(r"mc\d{1,4}", controller):
            continue
        last = _LAST_CHANNEL.search(tree.read_text(f"{path}/max_location") or "")
        channels += int(last[1]) + 1 if last else 0
        for name in tree.list_directory(path):
            if re.fullmatch(r"(?:dimm|rank)\d{1,4}", name) and (dimm := _build_edac_dimm(source, controller, name)):
                slots.append(dimm)
                modes.add((tree.read_text(f"{path}/{name}/dimm_edac_mode") or "").lower())
    if not slots:
        return None
    has_ecc = None if modes & {"", "unknown"} else bool(modes - {"none"})
    return Dimms(tuple(slots), has_ecc, channels or None, EDAC)


def _with_unique_names(slots: list[Dimm], banks: list[str]) -> tuple[Dimm, ...]:
    """Prefix slot names that occur several times with their bank."""
    names = Counter(each.slot for each in slots)
    return tuple(
        each._replace(slot=f"{bank} {each.slot}") if bank and names[each.slot] > 1 else each
        for each, bank in zip(slots, banks, strict=True)
    )


def _build_firmware_dimm(each: smbios.Structure) -> Dimm:
    locator, bank = each.read_text(0x10), each.read_text(0x11)
    ranks = (each.read_byte(0x1B) or 0) & 0xF
    part = each.read_text(0x1A)
    return Dimm(
        slot=locator or bank or f"handle {each.handle:#06x}",
        size_bytes=_decode_size_bytes(each),
        kind=_KINDS.get(each.read_byte(0x12) or 0),
        rated_mtps=_decode_mtps(each, 0x15, 0x54),
        speed_mtps=_decode_mtps(each, 0x20, 0x58),
        channel=parse_channel(locator, bank),
        rank_count=ranks or None,
        part="" if part.lower() in ("not specified", "unknown", "none", "no dimm") else part,
        source=TABLE,
    )


def _decode_size_bytes(each: smbios.Structure) -> int | None:
    size = each.read_word(0x0C)
    if size is None or size == _UNKNOWN_SIZE:
        return None
    if size == _EXTENDED_SIZE:
        return ((each.read_dword(0x1C) or 0) & 0x7FFF_FFFF) << 20 or None
    return (size & 0x7FFF) << (10 if size & 0x8000 else 20)


def _decode_mtps(each: smbios.Structure, offset: int, longer: int) -> int | None:
    speed = each.read_word(offset)
    if speed == _UNKNOWN_SIZE:
        speed = each.read_dword(longer)
    return None if speed in (None, *_NO_SPEED) else speed


def parse_channel(locator: str, bank: str) -> str | None:
    """Parse socket and channel from the names of a slot; None: not recognizable, as the names are not standardized."""
    for text in (bank, locator):
        for pattern in _CHANNELS:
            if match := pattern.search(text):
                socket = _SOCKET.search(text) or _SOCKET.search(locator)
                return f"{socket[1] if socket else 0}/{match[1].upper()}"
    return None


def _build_edac_dimm(source: Source, controller: str, name: str) -> Dimm | None:
    tree, path = source.tree, f"{EDAC}/{controller}/{name}"
    size = tree.read_number(f"{path}/size")
    place = _EDAC_CHANNEL.search(tree.read_text(f"{path}/dimm_location") or "")
    kind = _EDAC_KIND.search(tree.read_text(f"{path}/dimm_mem_type") or "")
    label = tree.read_text(f"{path}/dimm_label")
    if size is None or not 0 <= size < 1 << 30:
        return None
    return Dimm(
        slot=label or f"{controller} {name}",
        size_bytes=size << 20,
        kind=None if kind is None else (kind[3] or f"{kind[1]}{kind[2]}").upper(),
        rated_mtps=None,
        speed_mtps=None,
        channel=f"{controller[2:]}/{place[1]}" if place else None,
        rank_count=None,
        part="",
        source=f"{path}/size",
    )
