"""Offsets of the headers in a frame, and their checksums (RFC 791, RFC 768, RFC 9293, RFC 1071)."""

from typing import NamedTuple

UDP, TCP, ICMP, ICMPV6 = 17, 6, 1, 58
TAGS = (0x8100, 0x88A8, 0x9100)
MPLS = 0x8847
HEADER_BYTES = {UDP: 8, TCP: 20, ICMP: 8, ICMPV6: 8}


class Headers(NamedTuple):
    """Offsets in a frame."""

    version: int
    """Offset of the IP header."""
    ip: int
    transport: int
    protocol: int
    payload: int
    """Offset of the transport header."""


def parse(frame: bytes) -> Headers | None:
    """Find the outermost IP header and its transport; return None without one."""
    place = 12
    kind = int.from_bytes(frame[place : place + 2], "big")
    while kind in TAGS:
        place += 4
        kind = int.from_bytes(frame[place : place + 2], "big")
    place += 2
    if kind == MPLS:
        while not frame[place + 2] & 1:
            place += 4
        place += 4
        kind = {4: 0x0800, 6: 0x86DD}.get(frame[place] >> 4, 0)
    if kind == 0x0800:
        transport, protocol, version = place + 4 * (frame[place] & 15), frame[place + 9], 4
    elif kind == 0x86DD:
        transport, protocol, version = place + 40, frame[place + 6], 6
    else:
        return None
    return Headers(version, place, transport, protocol, transport + HEADER_BYTES.get(protocol, 0))


def total(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = data + b"\0" if len(data) % 2 else data
    value = sum(int.from_bytes(padded[place : place + 2], "big") for place in range(0, len(padded), 2))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value ^ 0xFFFF


def fix_ipv4(frame: bytearray, ip: int) -> None:
    """Correct the checksum of an IPv4 header."""
    frame[ip + 10 : ip + 12] = b"\0\0"
    header = bytes(frame[ip : ip + 4 * (frame[ip] & 15)])
    frame[ip + 10 : ip + 12] = total(header).to_bytes(2, "big")


def fix_transport(frame: bytearray, ip: int, transport: int, protocol: int) -> None:
    """Correct the checksum of UDP, TCP or ICMPv6 over an IP header."""
    if frame[ip] >> 4 == 4:
        end = ip + int.from_bytes(frame[ip + 2 : ip + 4], "big")
        addresses = bytes(frame[ip + 12 : ip + 20])
    else:
        end = ip + 40 + int.from_bytes(frame[ip + 4 : ip + 6], "big")
        addresses = bytes(frame[ip + 8 : ip + 40])
    place = transport + {UDP: 6, TCP: 16}.get(protocol, 2)
    frame[place : place + 2] = b"\0\0"
    length = end - transport
    pseudo = addresses + bytes((0, protocol)) + length.to_bytes(2, "big")
    value = total(pseudo + bytes(frame[transport:end]))
    frame[place : place + 2] = (value or 0xFFFF if protocol == UDP else value).to_bytes(2, "big")
