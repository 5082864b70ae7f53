"""The ends of every service chain: by which port and tag the tester reaches it, and who is there."""

from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.model.base import Value
from nodrop.model.layer import Vlan
from nodrop.model.plan import LabPlan
from nodrop.plan import addressing
from nodrop.plan.lab import entrance_mac

LEFT, RIGHT = 0, 1
"""The side traffic goes forward from, and the one it goes to."""


class ChainEnd(Value):
    """One end of a chain, as the tester sees it."""

    chain: int
    side: int
    """LEFT or RIGHT."""
    port: int
    """Index of the tester's port."""
    tags: tuple[Vlan, ...] = ()
    """VLAN tags of its frames there, outermost first."""
    tester_mac: str
    """Source of what the tester sends there."""
    next_mac: str
    """Destination of what the tester sends there, unless that is asked for."""
    tester_ips: tuple[str, str]
    """The tester's first address there: IPv4, IPv6."""
    networks: tuple[addressing.IPNetwork, ...]
    """Networks behind the tester's port that are this chain's: IPv4, IPv6."""
    sut_ips: tuple[str, str]
    """The SUT's addresses there, where it has any: IPv4, IPv6."""


def chain_ends(config: Config, lab: LabPlan) -> tuple[tuple[ChainEnd, ChainEnd], ...]:
    """Left and right end of every chain, in order."""
    return tuple(_pairs(config, lab))


def _pairs(_config: Config, lab: LabPlan) -> Iterator[tuple[ChainEnd, ChainEnd]]:
    for chain in range(lab.chain_count):
        left, right = (_end(lab, chain, side) for side in (LEFT, RIGHT))
        yield left, right


def _end(lab: LabPlan, chain: int, side: int) -> ChainEnd:
    chains, place = lab.chain_count, 2 * chain + side
    ipv4, ipv6 = addressing.sut_ips(chains, place)
    return ChainEnd(
        chain=chain,
        side=side,
        port=place,
        tester_mac=addressing.tester_mac(place),
        next_mac=entrance_mac(lab, place),
        tester_ips=(addressing.tester_ip(chains, place, 4), addressing.tester_ip(chains, place, 6)),
        networks=addressing.networks(chains, place),
        sut_ips=(ipv4, ipv6),
    )
