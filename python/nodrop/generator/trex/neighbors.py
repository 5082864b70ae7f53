"""Next hops of TRex's ports, asked for by ARP and neighbour discovery; and announcements that its ports send."""

import time
from collections.abc import Sequence

from nodrop.generator.stations import next_hops, questions, resolve_request, stations
from nodrop.generator.trex.frames import announcements
from nodrop.generator.trex.packet_io import push
from nodrop.generator.trex.relay import Relay
from nodrop.generator.trex.session import PortHandle, TrexSession
from nodrop.model.neighbor import NeighborPlan, NextHop
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan

SETTLE_S = 0.1


def resolve(
    session: TrexSession, plan: TrexPlan, traffic: Traffic, *, neighbors: NeighborPlan, names: tuple[str, ...]
) -> dict[tuple[int, int], NextHop]:
    """Who the frames of each port and chain are sent to; stations answer meanwhile.

    Uses ports that the session holds and that have no streams, in service mode.

    Raises: GeneratorError naming who kept silent.
    """
    if not questions(neighbors):
        return {}
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask(resolve_request(neighbors), neighbors.timeout_s * neighbors.tries)
    return next_hops(neighbors, reply)


def announced(neighbors: NeighborPlan) -> dict[int, tuple[bytes, ...]]:
    """By tester port, the frames in which its stations announce their addresses; none where they are not to.

    Source: RFC 5227 section 3, RFC 4861 section 7.2.6.
    """
    if neighbors.announce_every_s is None:
        return {}
    each = [(port, station) for port, its in stations(neighbors).items() for station in its]
    told = announcements([station for _, station in each])
    found: dict[int, tuple[bytes, ...]] = {}
    for (port, _), frames in zip(each, told, strict=True):
        found[port] = found.get(port, ()) + frames
    return found


def announce(port: PortHandle, frames: Sequence[bytes]) -> None:
    """Announce addresses once, and let the frames arrive."""
    push(port, frames)
    time.sleep(SETTLE_S)
