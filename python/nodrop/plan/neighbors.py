"""The tester's stations on its links, and the next hops that it resolves."""

import itertools
from collections.abc import Iterator, Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Vlan
from nodrop.model.neighbor import NeighborLink, NeighborPlan, Station
from nodrop.model.traffic import Stream, Traffic
from nodrop.plan.bras import plan_announcement
from nodrop.plan.chain_ends import TRANSPARENT, ChainEnd, plan_chain_ends
from nodrop.plan.tunnel import build_tunnel_tags, build_vtep_ip, build_vtep_next_hop

ROUTING_SUTS: frozenset[SutKind] = frozenset({"router", "vnf-l3"})
"""SUTs that have addresses, and resolve the tester's."""
ANSWERING_SUTS = ROUTING_SUTS | TRANSPARENT
"""SUTs that answer, or let the tester's other end answer."""
REMOTE_SUTS: frozenset[SutKind] = frozenset({"ext", "openstack"})
"""SUTs behind networks that nodrop does not know."""
TAG_COUNT_MAX = 2
DEFAULT_ANNOUNCE_S = 1.0
"""Interval of announcements of ports that neighbors would forget: a port that only receives, as with NFVbench's
trickle, and TRex's ports in front of a router, which do not answer during a trial."""


def plan_neighbors(config: Config, lab: LabPlan, traffic: Traffic) -> NeighborPlan:
    """Return a station wherever neighbors may resolve one, and next hops to resolve.

    Raises: ConfigError if nothing could answer.
    """
    section = config.neighbors
    resolves = _resolves(config, lab)
    needed = resolves or _routes(lab) or lab.sut in REMOTE_SUTS or section.announce_every is not None
    return NeighborPlan(
        links=tuple(_list_links(config, lab, traffic, resolves)) if needed else (),
        announce_every_s=section.announce_every
        or (DEFAULT_ANNOUNCE_S if _is_forgotten(config, lab, resolves) else None),
        timeout_s=section.timeout,
        tries=section.tries,
        announcement=plan_announcement(config, lab),
    )


def _resolves(config: Config, lab: LabPlan) -> bool:
    """Return whether MAC addresses are resolved. Raises ConfigError if nothing could answer."""
    resolve = config.neighbors.resolve
    if resolve is None:
        is_known = config.macs is not None and config.tunnel.kind == "none"
        if lab.cloud:  # it tells the MAC addresses of its VMs
            return lab.cloud.has_routers or config.tunnel.kind != "none"
        return lab.sut in ROUTING_SUTS or (lab.sut == "ext" and not is_known and _ext_has_addresses(config))
    if resolve and lab.sut not in ANSWERING_SUTS and not (lab.cloud and (_routes(lab) or config.tunnel.kind != "none")):
        raise ConfigError(
            f"neighbors.resolve: {lab.sut} has no addresses and rewrites those of frames, so nothing would answer "
            "(true); remove it"
        )
    return resolve


def _is_forgotten(config: Config, lab: LabPlan, resolves: bool) -> bool:
    """Return whether a port sends no test frames to a SUT that must learn it, or answers no requests."""
    is_silent = config.generator == "trex" and (resolves or _routes(lab))
    return is_silent or (lab.sut in REMOTE_SUTS and not config.bidirectional)


def _routes(lab: LabPlan) -> bool:
    """Return whether the SUT has addresses, and resolves the tester's."""
    return lab.sut in ROUTING_SUTS or (lab.cloud is not None and lab.cloud.routes)


def _ext_has_addresses(config: Config) -> bool:
    """Return whether addresses of an external SUT are configured; else frames go to the other port's MAC."""
    return config.gateways.sut is not None or config.tunnel.kind != "none"


def _list_links(config: Config, lab: LabPlan, traffic: Traffic, resolves: bool) -> Iterator[NeighborLink]:
    """Yield one link for each end of each chain."""
    by_chain: dict[int, list[Stream]] = {}
    for stream in traffic.streams:
        by_chain.setdefault(stream.chain, []).append(stream)
    for ends in plan_chain_ends(config, lab):
        streams = by_chain.get(ends[0].chain, [])
        for near, far in (ends, ends[::-1]):
            leaving = [stream for stream in streams if stream.tx_port == near.port]
            sends_requests = resolves and any(
                stream.replay is None or stream.replay.macs == "port" for stream in leaving
            )
            yield NeighborLink(
                port=near.port,
                chain=near.chain,
                station=Station(
                    mac=near.tester_mac,
                    addresses=_list_tester_addresses(config, near),
                    tags=_list_tags(config, near, leaving or streams),
                ),
                next_hop=_find_next_hop(config, lab, (near, far), leaving[0]) if sends_requests else None,
            )


def _list_tester_addresses(config: Config, end: ChainEnd) -> tuple[str, ...]:
    """Return the tester's addresses, IPv4 first."""
    return end.tester_ips if config.tunnel.kind == "none" else (build_vtep_ip(config, end),)


def _list_tags(config: Config, end: ChainEnd, streams: Sequence[Stream]) -> tuple[Vlan, ...]:
    """Return the chain's tags, or those its frames begin with; for a varying VLAN, the first."""
    if config.tunnel.kind != "none":
        return build_tunnel_tags(config, end)
    if end.tags or not streams:
        return end.tags
    tags = itertools.takewhile(lambda layer: isinstance(layer, Vlan), streams[0].layers[1:])
    return tuple(tag for tag in tags if isinstance(tag, Vlan))[:TAG_COUNT_MAX]


def _find_next_hop(config: Config, lab: LabPlan, ends: tuple[ChainEnd, ChainEnd], stream: Stream) -> str:
    """Return the router on the link, or for a transparent SUT the tester at the far end."""
    near, far = ends
    is_v6 = stream.ip is not None and stream.ip.kind == "ipv6"
    if config.tunnel.kind != "none" and (not _routes(lab) or lab.cloud or config.tunnel.gateways):
        return build_vtep_next_hop(config, near, far)
    if _routes(lab) or (config.gateways.sut is not None and not is_v6):
        return near.sut_ips[is_v6]
    if lab.sut == "ext" and not _ext_has_addresses(config):
        raise ConfigError(
            "gateways.sut: missing, the addresses of an external SUT are unknown; write them for the left and the "
            "right, or macs, or neighbors.resolve: false"
        )
    return _list_tester_addresses(config, far)[is_v6]
