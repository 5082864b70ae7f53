"""The frame that every generator sends: UDP over IPv4 over Ethernet, to a MAC that no interface has."""

import ipaddress
import struct
from dataclasses import dataclass, replace
from pathlib import Path

HEADER_BYTES = 14 + 20 + 8
FCS_BYTES = 4


@dataclass(frozen=True)
class Frame:
    """Addresses and size of the frame, equal for every generator that can set them.

    No interface has these MACs: frames for the port's own MAC would enter the kernel's IP stack, on the sender's CPU.
    """

    frame_bytes: int
    """Size including the FCS, as in RFC 1242 3.5."""
    src_mac: str = "02:00:00:00:0a:01"
    dst_mac: str = "02:00:00:00:0a:02"
    src_ip: str = "198.18.0.1"
    dst_ip: str = "198.19.0.1"
    src_udp_port: int = 1024
    dst_udp_port: int = 9

    @property
    def buffer_bytes(self) -> int:
        """The size without the FCS, as software handles it."""
        return self.frame_bytes - FCS_BYTES

    def reverse(self) -> "Frame":
        """Return the frame of the opposite direction."""
        return replace(self, src_mac=self.dst_mac, dst_mac=self.src_mac, src_ip=self.dst_ip, dst_ip=self.src_ip)

    def to_bytes(self) -> bytes:
        """Return the frame without its FCS. UDP checksum 0 means that there is no checksum (RFC 768)."""
        payload = bytes(self.buffer_bytes - HEADER_BYTES)
        udp = struct.pack("!HHHH", self.src_udp_port, self.dst_udp_port, 8 + len(payload), 0)
        macs = bytes.fromhex((self.dst_mac + self.src_mac).replace(":", ""))
        return macs + b"\x08\x00" + self._ipv4(len(udp) + len(payload)) + udp + payload

    def _ipv4(self, content_bytes: int) -> bytes:
        addresses = b"".join(ipaddress.IPv4Address(address).packed for address in (self.src_ip, self.dst_ip))
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + content_bytes, 0, 0, 64, 17, 0) + addresses
        return header[:10] + struct.pack("!H", _internet_checksum(header)) + header[12:]

    def write_trafgen(self, path: Path) -> Path:
        """Write the frame as a configuration file of trafgen; return its path."""
        path.write_text("{ " + ", ".join(f"{byte:#04x}" for byte in self.to_bytes()) + " }\n")
        return path


def _internet_checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
