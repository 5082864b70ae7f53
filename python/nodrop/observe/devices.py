"""The devices on the path of a chain, from one tester port to the other, with their interfaces."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from nodrop.model.lab_plan import Balancer, Forwarder, LabPlan

DeviceKind = Literal["edge", "router", "forwarder", "balancer"]


class Device(NamedTuple):
    """A device, or several in parallel, that receive frames on some interfaces and send them on others."""

    kind: DeviceKind
    entries: tuple[str, ...]
    """As in counter names: `sut/sut0`."""
    exits: tuple[str, ...]
    shared: tuple[bool, bool] = (False, False)
    """Whether frames of other chains pass its entries, and its exits."""


def iter_chains_between(lab: LabPlan, tx_port: int, rx_port: int) -> Iterator[tuple[int, int]]:
    """Yield every chain that carries frames from one port to another, with the side that they enter on."""
    for chain in range(lab.chain_count):
        for side in range(2):
            if (lab.port(chain, side), lab.port(chain, 1 - side)) == (tx_port, rx_port):
                yield chain, side


def list_devices(lab: LabPlan, chain: int, side: int) -> list[Device]:
    """Return the devices in the order in which frames from this side pass them; empty for a wire."""
    eastward = list(_iter_eastward_devices(lab, chain))
    if side == 0:
        return eastward
    return [Device(kind, exits, entries, shared[::-1]) for kind, entries, exits, shared in reversed(eastward)]


def _iter_eastward_devices(lab: LabPlan, chain: int) -> Iterator[Device]:
    several = lab.chain_count > 1
    if lab.balancer:
        yield from _iter_pool_devices(lab.balancer, lab.forwarders)
        return
    if lab.edges:
        edge = lab.edges[0]
        yield Device("edge", (f"sut/{edge.trunk}",), (f"sut/{edge.ports[chain].interface}",), (several, False))
    if lab.routers:
        outer, inner = lab.routers[0].ports[chain]
        yield _build_router(lab, 0, outer.interface, inner.interface)
    for forwarder in lab.of_chain(chain) if lab.forwarders else ():
        near, far = (port.interface for port in forwarder.ports)
        yield Device("forwarder", (f"sut/{near}",), (f"sut/{far}",))
    if lab.routers:
        outer, inner = lab.routers[1].ports[chain]
        yield _build_router(lab, 1, inner.interface, outer.interface)
    if lab.edges:
        edge = lab.edges[1]
        yield Device("edge", (f"sut/{edge.ports[chain].interface}",), (f"sut/{edge.trunk}",), (False, several))


def _iter_pool_devices(balancer: Balancer, forwarders: Sequence[Forwarder]) -> Iterator[Device]:
    """Yield the balancer, the instances in parallel, and the balancer again."""
    left, right = ((f"sut/{trunk}",) for trunk in balancer.trunks)
    towards_left, towards_right = (tuple(f"sut/{ports[side]}" for ports in balancer.ports) for side in range(2))
    entries, exits = (tuple(f"sut/{each.ports[side].interface}" for each in forwarders) for side in range(2))
    yield Device("balancer", left, towards_left)
    yield Device("forwarder", entries, exits)
    yield Device("balancer", towards_right, right)


def _build_router(lab: LabPlan, side: int, entry: str, exit: str) -> Device:
    place = lab.routers[side].namespace
    return Device("router", (f"{place}/{entry}",), (f"{place}/{exit}",))
