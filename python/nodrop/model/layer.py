"""Headers of a frame, outermost first. The engine derives next protocols, lengths, checksums, and the bottom of an MPLS
stack."""

import ipaddress
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from nodrop.model.base import Value

Byte = Annotated[int, Field(ge=0, le=255)]
Port = Annotated[int, Field(ge=0, le=65535)]


class Ethernet(Value):
    """IEEE 802.3."""

    kind: Literal["ethernet"] = "ethernet"
    src: str
    dst: str
    header_bytes: ClassVar[int] = 14


class Vlan(Value):
    """A C-tag (IEEE 802.1Q), or an S-tag in front of one (IEEE 802.1ad)."""

    kind: Literal["vlan", "qinq"] = "vlan"
    id: int = Field(ge=0, le=4095)
    pcp: int = Field(default=0, ge=0, le=7)
    dei: bool = False
    header_bytes: ClassVar[int] = 4


class Mpls(Value):
    """An entry of a label stack (RFC 3032)."""

    kind: Literal["mpls"] = "mpls"
    label: int = Field(ge=0, lt=2**20)
    tc: int = Field(default=0, ge=0, le=7)
    ttl: Byte = 64
    header_bytes: ClassVar[int] = 4


class Ipv4(Value):
    """RFC 791, without options."""

    kind: Literal["ipv4"] = "ipv4"
    src: str
    dst: str
    dscp: int = Field(default=0, ge=0, le=63)
    ttl: Byte = 64
    header_bytes: ClassVar[int] = 20


class Ipv6(Value):
    """RFC 8200, without extension headers."""

    kind: Literal["ipv6"] = "ipv6"
    src: str
    dst: str
    dscp: int = Field(default=0, ge=0, le=63)
    flow_label: int = Field(default=0, ge=0, lt=2**20)
    hop_limit: Byte = 64
    header_bytes: ClassVar[int] = 40


class Udp(Value):
    """RFC 768."""

    kind: Literal["udp"] = "udp"
    src_port: Port
    dst_port: Port
    header_bytes: ClassVar[int] = 8


class Tcp(Value):
    """RFC 9293, without options or state."""

    kind: Literal["tcp"] = "tcp"
    src_port: Port
    dst_port: Port
    flags: Byte = 0x10
    """ACK only."""
    sequence: int = Field(default=0, ge=0, lt=2**32)
    header_bytes: ClassVar[int] = 20


class IcmpEcho(Value):
    """An echo request of ICMP or ICMPv6, by the IP version below."""

    kind: Literal["icmp_echo"] = "icmp_echo"
    identifier: int = Field(default=0, ge=0, le=65535)
    sequence: int = Field(default=0, ge=0, le=65535)
    header_bytes: ClassVar[int] = 8


class Vxlan(Value):
    """RFC 7348; an inner Ethernet header follows."""

    kind: Literal["vxlan"] = "vxlan"
    vni: int = Field(ge=0, lt=2**24)
    header_bytes: ClassVar[int] = 8


class Gre(Value):
    """RFC 2784, with a key (RFC 2890)."""

    kind: Literal["gre"] = "gre"
    key: int = Field(ge=0, lt=2**32)
    header_bytes: ClassVar[int] = 8


class Arp(Value):
    """RFC 826 for IPv4 over Ethernet."""

    kind: Literal["arp"] = "arp"
    operation: int = Field(default=1, ge=1, le=2)
    sender_mac: str
    sender_ip: str
    target_mac: str
    target_ip: str
    header_bytes: ClassVar[int] = 28


class Nd(Value):
    """A neighbor solicitation or advertisement (RFC 4861)."""

    kind: Literal["nd"] = "nd"
    advertises: bool = False
    target: str
    mac: str
    header_bytes: ClassVar[int] = 32


Layer = Annotated[
    Ethernet | Vlan | Mpls | Ipv4 | Ipv6 | Udp | Tcp | IcmpEcho | Vxlan | Gre | Arp | Nd, Field(discriminator="kind")
]


def make_ip_layer(src: str, dst: str, dscp: int = 0) -> Ipv4 | Ipv6:
    """Return the IP header between two addresses, of their version."""
    version = ipaddress.ip_address(src).version
    return Ipv4(src=src, dst=dst, dscp=dscp) if version == 4 else Ipv6(src=src, dst=dst, dscp=dscp)
