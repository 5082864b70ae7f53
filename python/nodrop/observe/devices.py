"""The devices on the path of a chain, from one tester port to the other, with their interfaces."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from nodrop.model.lab_plan import LabPlan

DeviceKind = Literal["edge", "router", "forwarder"]


class Device(NamedTuple):
    """A device that receives frames on one interface and sends them on another."""

    kind: DeviceKind
    entry: str
    """As in counter names: `sut/sut0`."""
    exit: str
    shared: tuple[bool, bool]
    """Whether frames of other chains pass its entry, and its exit."""


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
    return [Device(what, leave, entry, shared[::-1]) for what, entry, leave, shared in reversed(eastward)]


def _iter_eastward_devices(lab: LabPlan, chain: int) -> Iterator[Device]:
    several = lab.chain_count > 1
    if lab.edges:
        edge = lab.edges[0]
        yield Device("edge", f"sut/{edge.trunk}", f"sut/{edge.ports[chain].interface}", (several, False))
    if lab.routers:
        outer, inner = lab.routers[0].ports[chain]
        yield _build_router(lab, 0, outer.interface, inner.interface)
    for forwarder in lab.of_chain(chain) if lab.forwarders else ():
        near, far = (port.interface for port in forwarder.ports)
        yield Device("forwarder", f"sut/{near}", f"sut/{far}", (False, False))
    if lab.routers:
        outer, inner = lab.routers[1].ports[chain]
        yield _build_router(lab, 1, inner.interface, outer.interface)
    if lab.edges:
        edge = lab.edges[1]
        yield Device("edge", f"sut/{edge.ports[chain].interface}", f"sut/{edge.trunk}", (False, several))


def _build_router(lab: LabPlan, side: int, entry: str, exit: str) -> Device:
    place = lab.routers[side].namespace
    return Device("router", f"{place}/{entry}", f"{place}/{exit}", (False, False))
