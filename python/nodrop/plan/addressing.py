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


BETWEEN, OF_ROUTER, BEHIND_ROUTER = range(3)
"""Where an inner station is: on a link between forwarders, a path's router on its link to a chain, the chain there."""
INNER_IPS_EACH = 1024
FIRST_INNER_IPS = ipaddress.IPv4Address("169.254.0.1"), ipaddress.IPv6Address("fe80::1")


def end_index(chain: int, side: int) -> int:
    """Number of a chain's left (0) or right (1) end; even ones are left."""
    return 2 * chain + side


def tester_mac(port: int) -> str:
    """Locally administered, and no interface's own: the kernel would take frames to its own address up into its IP
    stack, on the sender's CPU.
    """
    return f"02:6e:64:00:00:{port:02x}"


def sut_mac(place: int) -> str:
    """The station that the SUT is at an end of a chain."""
    return f"02:6e:64:00:01:{place:02x}"


def inner_mac(end: int, kind: int = BETWEEN) -> str:
    """The station at one end of a link inside the SUT."""
    return f"02:6e:64:00:{2 + kind:02x}:{end:02x}"


def inner_station_mac(mac: str) -> str:
    """The station inside of a tunnel that belongs to one outside."""
    return f"02:6e:65{mac[8:]}"


def test_networks(chain_count: int, place: int) -> tuple[IPNetwork, ...]:
    """The networks behind the tester at an end of a chain, one of each address family: an equal part for each chain."""
    bits = (chain_count - 1).bit_length()
    chain, side = divmod(place, 2)
    return tuple(_part(network, bits, chain) for network in SIDES[side])


def tester_ip(chain_count: int, place: int, version: int = 4) -> str:
    """The first address of the network behind the tester at an end of a chain."""
    return str(next(network[1] for network in test_networks(chain_count, place) if network.version == version))


def sut_ips(chain_count: int, place: int) -> tuple[str, ...]:
    """The SUT's addresses at an end of a chain: the last but one of each network."""
    return tuple(str(network[-2]) for network in test_networks(chain_count, place))


def inner_ips(end: int, kind: int = BETWEEN) -> tuple[str, ...]:
    """Addresses at one end of a link inside the SUT, without meaning beyond it (RFC 3927, RFC 4291 2.5.6)."""
    return tuple(str(first + INNER_IPS_EACH * kind + end) for first in FIRST_INNER_IPS)


def _part(network: IPNetwork, bits: int, number: int) -> IPNetwork:
    """One of 2**bits equal parts, without making the others."""
    prefix = network.prefixlen + bits
    first = int(network.network_address) + (number << (network.max_prefixlen - prefix))
    return ipaddress.ip_network((first, prefix))
