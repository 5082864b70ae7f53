"""Addresses in a lab: MAC addresses by port, IP networks by chain and side.

Source: RFC 2544 appendix C.2.2 (198.18.0.0/15 is for benchmarks), RFC 5180 section 8 (2001:2::/48 likewise).
"""

import ipaddress

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

SIDES = (
    (ipaddress.IPv4Network("198.18.0.0/16"), ipaddress.IPv6Network("2001:2::/49")),
    (ipaddress.IPv4Network("198.19.0.0/16"), ipaddress.IPv6Network("2001:2:0:8000::/49")),
)
"""Networks behind the even ports and behind the odd ports, divided among all chains."""


BETWEEN, OF_ROUTER, BEHIND_ROUTER = range(3)
"""Kinds of inner stations: on a link between forwarders, a path router on its link to a chain, and the chain on that
link."""
INNER_IPS_EACH = 1024
FIRST_INNER_IPS = ipaddress.IPv4Address("169.254.0.1"), ipaddress.IPv6Address("fe80::1")


def get_end_index(chain: int, side: int) -> int:
    """Return the index of a chain's left (0) or right (1) end; even indices are left."""
    return 2 * chain + side


def build_tester_mac(port: int) -> str:
    """Return the tester's MAC address at a port.

    It is locally administered and no interface's address: the kernel would pass frames to an interface's own address to
    its IP stack, on the sender's CPU.
    """
    return f"02:6e:64:00:00:{port:02x}"


def build_sut_mac(place: int) -> str:
    """Return the SUT's MAC address at an end of a chain."""
    return f"02:6e:64:00:01:{place:02x}"


def build_inner_mac(end: int, kind: int = BETWEEN) -> str:
    """Return the MAC address at one end of a link inside the SUT."""
    return f"02:6e:64:00:{2 + kind:02x}:{end:02x}"


def build_inner_station_mac(mac: str) -> str:
    """Return the MAC address inside a tunnel for a station outside of it."""
    return f"02:6e:65{mac[8:]}"


def test_networks(chain_count: int, place: int) -> tuple[IPNetwork, ...]:
    """Return the networks behind the tester at an end of a chain, one per address family, of equal size for each
    chain."""
    bits = (chain_count - 1).bit_length()
    chain, side = divmod(place, 2)
    return tuple(_get_part(network, bits, chain) for network in SIDES[side])


def build_tester_ip(chain_count: int, place: int, version: int = 4) -> str:
    """Return the first address of the network behind the tester at an end of a chain."""
    return str(next(network[1] for network in test_networks(chain_count, place) if network.version == version))


def build_sut_ips(chain_count: int, place: int) -> tuple[str, ...]:
    """Return the SUT's addresses at an end of a chain: the last but one of each network."""
    return tuple(str(network[-2]) for network in test_networks(chain_count, place))


def build_inner_ips(end: int, kind: int = BETWEEN) -> tuple[str, ...]:
    """Return the link-local addresses at one end of a link inside the SUT (RFC 3927, RFC 4291 2.5.6)."""
    return tuple(str(first + INNER_IPS_EACH * kind + end) for first in FIRST_INNER_IPS)


def _get_part(network: IPNetwork, bits: int, number: int) -> IPNetwork:
    """Return one of 2**bits equal parts of a network, without creating the others."""
    prefix = network.prefixlen + bits
    first = int(network.network_address) + (number << (network.max_prefixlen - prefix))
    return ipaddress.ip_network((first, prefix))
