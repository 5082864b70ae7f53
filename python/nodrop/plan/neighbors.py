"""Who the tester is on its links, and whom it asks for a MAC address."""

import itertools
from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.layer import Vlan
from nodrop.model.neighbor import Link, NeighborPlan, Station
from nodrop.model.plan import LabPlan, SutKind
from nodrop.model.traffic import Stream, Traffic
from nodrop.plan import addressing
from nodrop.plan.chains import TRANSPARENT

ROUTES: frozenset[SutKind] = frozenset({"router", "vnf-l3"})
"""SUTs that have addresses of their own, and ask for the tester's."""
TAG_COUNT_MAX = 2


def plan_neighbors(config: Config, lab: LabPlan, traffic: Traffic) -> NeighborPlan:
    """A station wherever somebody may ask for one; questions where that is how MAC addresses are to be found.

    Raises: ConfigError when nobody could answer.
    """
    asked = config.neighbors
    resolves = lab.sut in ROUTES if asked.resolve is None else asked.resolve
    if resolves and lab.sut not in ROUTES | TRANSPARENT:
        raise ConfigError(
            f"neighbors.resolve: true asked, {lab.sut} has no addresses and rewrites those of frames, so nobody could "
            "answer; leave it out"
        )
    needed = resolves or lab.sut in ROUTES or asked.announce_every is not None
    return NeighborPlan(
        links=tuple(_links(lab, traffic, resolves)) if needed else (),
        announce_every_s=asked.announce_every,
        timeout_s=asked.timeout,
        tries=asked.tries,
    )


def _links(lab: LabPlan, traffic: Traffic, resolves: bool) -> Iterator[Link]:
    chains = lab.chain_count
    for port in range(2 * chains):
        streams = [stream for stream in traffic.streams if stream.tx_port == port]
        asks = resolves and any(stream.replay is None or stream.replay.macs == "port" for stream in streams)
        yield Link(
            port=port,
            station=Station(
                mac=addressing.tester_mac(port),
                addresses=tuple(addressing.tester_ip(chains, port, version) for version in (4, 6)),
                tags=_tags((streams or traffic.streams)[0]),
            ),
            next_hop=_next_hop(lab, streams[0]) if asks else None,
        )


def _tags(stream: Stream) -> tuple[Vlan, ...]:
    """Those its frames begin with; of a VLAN that changes, the first."""
    tags = itertools.takewhile(lambda layer: isinstance(layer, Vlan), stream.layers[1:])
    return tuple(tag for tag in tags if isinstance(tag, Vlan))[:TAG_COUNT_MAX]


def _next_hop(lab: LabPlan, stream: Stream) -> str:
    """The router on the link, or through what is none the tester at the far end."""
    chains, port = lab.chain_count, stream.tx_port
    version = 6 if stream.ip and stream.ip.kind == "ipv6" else 4
    if lab.sut in ROUTES:
        return addressing.sut_ips(chains, port)[0 if version == 4 else 1]
    return addressing.tester_ip(chains, port ^ 1, version)
