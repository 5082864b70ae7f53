"""Learning frames through TRex's ports: each chain and direction proven by frames of its own."""

from nodrop.generator.path_check import direction_check, faults, no_path
from nodrop.generator.stations import NextHops
from nodrop.generator.trex.relay import Relay
from nodrop.generator.trex.session import TrexSession
from nodrop.model.neighbor import NeighborPlan
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan

CHECK_TIMEOUT_S = 3.0


def check(
    session: TrexSession,
    plan: TrexPlan,
    traffic: Traffic,
    *,
    neighbors: NeighborPlan,
    names: tuple[str, ...],
    next_hops: NextHops,
) -> tuple[DirectionCheck, ...]:
    """Send learning frames along every stream, which is addressed to its next hop already.

    Uses ports that the session holds and that have no streams, in service mode; their stations answer meanwhile.

    Raises: NoPath naming each chain and direction at fault; GeneratorError.
    """
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask({"op": "check", "timeout_s": CHECK_TIMEOUT_S}, CHECK_TIMEOUT_S)
    pairs = zip(traffic.streams, reply["directions"], strict=True)
    checks = tuple(direction_check(stream, direction) for stream, direction in pairs)
    found = faults(traffic, checks, names, next_hops)
    if found:
        raise no_path(found, traffic, checks, next_hops)
    return checks
