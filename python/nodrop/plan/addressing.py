"""Who has which address in a lab: MAC addresses by port, IP networks by chain and side.

Source: RFC 2544 appendix C.2.2 (198.18.0.0/15 is for benchmarks), RFC 5180 section 8 (2001:2::/48 likewise).
"""

import ipaddress

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

SIDES = (
    (ipaddress.IPv4Network("198.18.0.0/16"), ipaddress.IPv6Network("2001:2::/49")),
    (ipaddress.IPv4Network("198.19.0.0/16"), ipaddress.IPv6Network("2001:2:0:8000::/49")),
)
"""What is behind the even ports, and what is behind the odd ones; all chains share it."""


def tester_mac(port: int) -> str:
    """Locally administered, and no interface's own: the kernel would take frames to its own address up into its IP
    stack, on the sender's CPU.
    """
    return f"02:6e:64:00:00:{port:02x}"


def sut_mac(port: int) -> str:
    """The station that the SUT is on the link to a tester port."""
    return f"02:6e:64:00:01:{port:02x}"


def inner_mac(end: int) -> str:
    """The station at one end of a link between forwarders."""
    return f"02:6e:64:00:02:{end:02x}"


def carried_mac(mac: str) -> str:
    """The station inside of a tunnel that belongs to one outside."""
    return f"02:6e:65{mac[8:]}"


def networks(chain_count: int, port: int) -> tuple[IPNetwork, ...]:
    """The networks behind a tester port, one of each address family: an equal part for each chain."""
    bits = (chain_count - 1).bit_length()
    chain, side = divmod(port, 2)
    ipv4, ipv6 = SIDES[side]
    return list(ipv4.subnets(bits))[chain], list(ipv6.subnets(bits))[chain]


def tester_ip(chain_count: int, port: int, version: int = 4) -> str:
    """The first address of the network behind a tester port."""
    return str(next(network[1] for network in networks(chain_count, port) if network.version == version))


def sut_ips(chain_count: int, port: int) -> tuple[str, ...]:
    """The SUT's addresses on the link to a tester port: the last but one of each network."""
    return tuple(str(network[-2]) for network in networks(chain_count, port))


def inner_ips(end: int) -> tuple[str, ...]:
    """Addresses at one end of a link between forwarders, without meaning beyond it (RFC 3927, RFC 4291 2.5.6)."""
    return f"169.254.0.{end + 1}", f"fe80::{end + 1:x}"
