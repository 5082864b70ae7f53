"""The tester's stations and next hops on its links, for every generator."""

from collections.abc import Mapping
from typing import Any

from nodrop.model.neighbor import NeighborPlan, NextHop, Station
from nodrop.model.traffic import ReplaySource, Stream, Traffic

NextHops = Mapping[tuple[int, int], NextHop]
"""Next hops by port and chain."""


def stations_by_port(plan: NeighborPlan) -> dict[int, list[Station]]:
    """Return the distinct stations of each port."""
    found: dict[int, list[Station]] = {}
    for link in plan.links:
        known = found.setdefault(link.port, [])
        if link.station not in known:
            known.append(link.station)
    return found


def next_hop_queries(plan: NeighborPlan) -> dict[tuple[int, int], tuple[int, int, str]]:
    """Return the queries for next hops by port and chain: port, index of the asking station, address."""
    its = stations_by_port(plan)
    return {
        (link.port, link.chain): (link.port, its[link.port].index(link.station), link.next_hop)
        for link in plan.links
        if link.next_hop
    }


def resolve_request(plan: NeighborPlan) -> dict[str, Any]:
    """Return the request that has the engine resolve all next hops."""
    requested = [
        {"port": port, "station": station, "address": address}
        for port, station, address in dict.fromkeys(next_hop_queries(plan).values())
    ]
    return {"op": "resolve", "questions": requested, "timeout_s": plan.timeout_s, "tries": plan.tries}


def parse_next_hops(plan: NeighborPlan, reply: Mapping[str, Any]) -> dict[tuple[int, int], NextHop]:
    """Return the engine's reply by port and chain."""
    macs = {(answer["port"], answer["station"], answer["address"]): answer["mac"] for answer in reply["answers"]}
    return {
        (port, chain): NextHop(address=question[2], mac=macs[question], chain=chain)
        for (port, chain), question in next_hop_queries(plan).items()
    }


def address_to_next_hops(traffic: Traffic, next_hops: NextHops) -> Traffic:
    """Return the traffic with each stream addressed to the next hop of its port and chain."""

    def one(stream: Stream) -> Stream:
        next_hop = next_hops.get((stream.tx_port, stream.chain))
        if next_hop is None:
            return stream
        ethernet = stream.ethernet.replace(dst=next_hop.mac)
        return stream.replace(layers=(ethernet, *stream.layers[1:]))

    return traffic.replace(streams=tuple(map(one, traffic.streams)))


def stream_request(stream: Stream) -> dict[str, Any]:
    """Return a stream as the engine's requests describe it."""
    requested = stream.model_dump(exclude={"chain", "rx_vlan", "share", "replay"})
    if stream.replay is None:
        return requested
    source = stream.replay.model_dump(include={*ReplaySource.model_fields})
    layers = requested["layers"] if stream.replay.macs == "port" else []
    return requested | {"sizes": [], "layers": layers, "replay": source}
