"""Evaluation of learning frames: the chains and directions that fail, and where their frames arrived instead."""

from collections.abc import Mapping, Sequence

from nodrop.errors import NoPathError
from nodrop.generator.engine_process import Reply
from nodrop.generator.stations import NextHops
from nodrop.model.result import CheckArrival, DirectionCheck
from nodrop.model.traffic import Stream, Traffic

NAMED_MAX = 8
"""Directions named in an error."""

_OwnedArrival = tuple[CheckArrival, int]
"""An arrival and the chain that owns its port and VLAN, or its source MAC address."""


def to_direction_check(stream: Stream, direction: Reply) -> DirectionCheck:
    """Return the engine's counts of a stream."""
    return DirectionCheck(
        stream_id=stream.stream_id,
        chain=stream.chain,
        tx_port=stream.tx_port,
        rx_port=stream.rx_port,
        sent_count=direction["sent_count"],
        received_count=direction["received_count"],
        arrivals=direction["arrivals"],
    )


def find_faults(
    traffic: Traffic, checks: Sequence[DirectionCheck], interfaces: Sequence[str], next_hops: NextHops
) -> list[str]:
    """Return a sentence for each direction whose frames did not arrive, or arrived on another chain."""
    labels = _Labels(traffic, interfaces, next_hops)
    found = []
    for stream, check in zip(traffic.streams, checks, strict=True):
        fault = _describe_fault(stream, check, labels)
        if fault:
            next_hop = next_hops.get((stream.tx_port, stream.chain))
            answered = f" (its next hop {next_hop.address} answered, as {next_hop.mac})" if next_hop else ""
            found.append(f"{labels.direction(stream)}: {fault}{answered}")
    found = list(dict.fromkeys(found))
    more = [f"and {len(found) - NAMED_MAX} more"] if len(found) > NAMED_MAX else []
    return found[:NAMED_MAX] + more


def no_path_error(
    found: Sequence[str], traffic: Traffic, checks: Sequence[DirectionCheck], next_hops: NextHops
) -> NoPathError:
    """Return the error for these faults; it lists the chains on which no frame arrived."""
    macs = _mac_owners(traffic, next_hops)
    pairs = zip(traffic.streams, checks, strict=True)
    silent = {
        stream.chain
        for stream, check in pairs
        if not check.received_count or _arrivals_via_other_chains(stream, check, macs)
    }
    return NoPathError(
        f"no end-to-end connectivity: {'; '.join(found)}; check that the SUT forwards frames in that direction and "
        "that its MAC and VLAN settings match the traffic",
        tuple(sorted(silent)),
    )


def _describe_fault(stream: Stream, check: DirectionCheck, labels: "_Labels") -> str | None:
    """Return what is wrong with a stream's arrivals; None if nothing is."""
    sent = f"{check.sent_count} learning frames sent"
    expected_at = stream.rx_port, stream.rx_vlan
    strays = [(seen, labels.owner(seen)) for seen in check.arrivals if (seen.port, seen.vlan) != expected_at]
    strays = [(seen, owner) for seen, owner in strays if owner is not None and owner != stream.chain]
    if check.received_count == 0:
        elsewhere = ", ".join(f"{seen.count} arrived at {labels.place(seen)}" for seen in check.arrivals)
        return f"{sent}, none arrived" + (f" there; {elsewhere}" if elsewhere else "")
    others = _arrivals_via_other_chains(stream, check, labels.macs)
    if others:
        theirs = ", ".join(f"{seen.count} from {seen.src}, which is chain {owner}'s" for seen, owner in others)
        return f"{sent}, none arrived through its own chain; {theirs}"
    if strays:
        leaked = ", ".join(
            f"{seen.count} arrived at {labels.place(seen)}, which is chain {owner}'s" for seen, owner in strays
        )
        expected = f" (VLAN {stream.rx_vlan} expected)" if stream.rx_vlan is not None else ""
        return f"{sent}, {leaked}{expected}"
    return None


def _mac_owners(traffic: Traffic, next_hops: NextHops) -> dict[tuple[int, str], int]:
    """Return the chain that owns a MAC address on a port's link, if only one does."""
    owners: dict[tuple[int, str], set[int]] = {}
    for stream in traffic.streams:
        next_hop = next_hops.get((stream.tx_port, stream.chain))
        mac = next_hop.mac if next_hop else stream.ethernet.dst
        owners.setdefault((stream.tx_port, mac.lower()), set()).add(stream.chain)
    return {place: min(chains) for place, chains in owners.items() if len(chains) == 1}


def _arrivals_via_other_chains(
    stream: Stream, check: DirectionCheck, macs: Mapping[tuple[int, str], int]
) -> list[_OwnedArrival]:
    """Return arrivals forwarded by other chains, e.g. flooded by a switch, if the stream's own chain forwarded none."""
    here = [(seen, macs.get((seen.port, seen.src.lower()))) for seen in check.arrivals if seen.port == stream.rx_port]
    if any(owner in (None, stream.chain) for _, owner in here):
        return []
    return [(seen, owner) for seen, owner in here if owner is not None]


class _Labels:
    """Names of chains, directions and ports for users."""

    def __init__(self, traffic: Traffic, interfaces: Sequence[str], next_hops: NextHops) -> None:
        self._interfaces = interfaces
        self.macs = _mac_owners(traffic, next_hops)
        self._left = {stream.chain: stream.tx_port for stream in reversed(traffic.streams)}
        self._several = len(self._left) > 1
        self._owners = {
            (stream.rx_port, stream.rx_vlan): stream.chain for stream in traffic.streams if stream.rx_vlan is not None
        }

    def direction(self, stream: Stream) -> str:
        """Return `chain 3, left to right (tester0 to tester1)`."""
        way = "left to right" if stream.tx_port == self._left[stream.chain] else "right to left"
        ends = f"{self._interfaces[stream.tx_port]} to {self._interfaces[stream.rx_port]}"
        vlan = f", VLAN {stream.rx_vlan} there" if stream.rx_vlan is not None else ""
        return f"chain {stream.chain}, {way} ({ends}{vlan})" if self._several else f"{way} ({ends}{vlan})"

    def owner(self, seen: CheckArrival) -> int | None:
        """Return the chain whose frames arrive on this port and VLAN; None if no VLAN tells."""
        return None if seen.vlan is None else self._owners.get((seen.port, seen.vlan))

    def place(self, seen: CheckArrival) -> str:
        """Return `tester1 in VLAN 100`."""
        vlan = "" if seen.vlan is None else f" in VLAN {seen.vlan}"
        return f"{self._interfaces[seen.port]}{vlan}"
