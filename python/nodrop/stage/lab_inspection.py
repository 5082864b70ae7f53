"""Facts of a lab, read once it is up."""

import os
from collections.abc import Iterator, Sequence

from nodrop.model.facts import ChainFacts, InterfaceFacts, StageFacts
from nodrop.model.lab_plan import ForwarderPort, LabPlan
from nodrop.stage import links, namespace
from nodrop.stage.holder_protocol import LabRequest
from nodrop.stage.links import Namespaces
from nodrop.stage.sut import ON_SENDER_CPU
from nodrop.stage.sut_process import SutChild
from nodrop.stage.vnf import FORWARDERS


def read_facts(request: LabRequest, privilege: str, pids: Namespaces, children: Sequence[SutChild]) -> StageFacts:
    """Return the facts of a lab with these namespaces and processes."""
    plan = request.plan
    return StageFacts(
        name=request.name,
        sut=plan.sut_text,
        privilege=privilege,
        tester_pid=os.getpid(),
        sut_pid=pids["sut"],
        sut_processes=tuple(child.fact for child in children),
        sut_shares_tester_cpu=plan.sut in ON_SENDER_CPU,
        interfaces=tuple(_list_interfaces(plan, pids)),
        chains=tuple(read_chain_facts(plan, children)),
        router_pids={place: pid for place, pid in pids.items() if place != "sut"},
    )


def read_chain_facts(plan: LabPlan, children: Sequence[SutChild] = ()) -> Iterator[ChainFacts]:
    """Yield every chain in order; where forwarders are processes, the VNFs are the first of `children`."""
    vnfs = children if plan.sut in FORWARDERS else ()
    for chain in range(plan.chain_count):
        forwarders = plan.of_chain(chain)
        first, count = chain * plan.hop_count, len(forwarders)
        ends = _find_ends(plan, chain)
        left, right = (plan.tester_interfaces[plan.port(chain, side)] for side in range(2))
        yield ChainFacts(
            chain=chain,
            tester_interfaces=(left, right),
            vlans=plan.vlans[chain] if plan.vlans else None,
            macs=(ends[0].mac, ends[1].mac) if ends else None,
            networks=(_list_prefixes(ends[0]), _list_prefixes(ends[1])) if ends else ((), ()),
            interfaces=tuple(port.interface for forwarder in forwarders for port in forwarder.ports),
            pids=tuple(child.pid for child in vnfs[first : first + count]),
            idle_interfaces=tuple(name for forwarder in forwarders for name in forwarder.idle_interfaces),
        )


def _find_ends(plan: LabPlan, chain: int) -> tuple[ForwarderPort, ForwarderPort] | None:
    """Return the outermost router or forwarder ports of a chain, left and right, if it has any."""
    if plan.routers:
        left, right = (router.ports[chain][0] for router in plan.routers)
        return left, right
    forwarders = plan.of_chain(chain)
    return (forwarders[0].ports[0], forwarders[-1].ports[1]) if forwarders else None


def _list_prefixes(port: ForwarderPort) -> tuple[str, ...]:
    return tuple(route.prefix for route in port.routes)


def _list_interfaces(plan: LabPlan, pids: Namespaces) -> Iterator[InterfaceFacts]:
    yield from links.read_interfaces(plan.tester_interfaces, "tester")
    for place in plan.namespaces:
        with namespace.inside_network_of(pids[place]):
            yield from links.read_interfaces(plan.interfaces(place), place)
