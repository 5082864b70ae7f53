"""What is put between the ports: each kind of SUT, installed in its namespace."""

import contextlib
from collections.abc import Callable, Iterator

from nodrop.model.plan import LabPlan, SutKind
from nodrop.stage import ethtool, kernel, links, namespace
from nodrop.stage.child import Child
from nodrop.stage.ovs import open_vswitch
from nodrop.stage.vnf import FORWARDERS, vnfs

IN_THE_KERNEL: dict[SutKind, Callable[[LabPlan], None]] = {"bridge": kernel.bridges, "router": kernel.router}
ON_THE_SENDERS_CPU: frozenset[SutKind] = frozenset({"bridge", "router", "xdp"})
"""What the kernel forwards on a veth path, it forwards on the CPU that sends."""


@contextlib.contextmanager
def installed(plan: LabPlan, keeper: int) -> Iterator[tuple[Child, ...]]:
    """The SUT in the network namespace of process `keeper`, whose links stand and are up; gives its processes.

    Raises: StageError with what was asked, found and what to do.
    """
    if plan.sut in IN_THE_KERNEL:
        with namespace.inside_network_of(keeper):
            IN_THE_KERNEL[plan.sut](plan)
        yield ()
    elif plan.sut in FORWARDERS:
        if plan.sut == "xdp":
            _accept_redirected(plan.tester_interfaces)
        with vnfs(plan, keeper) as children:
            yield children
    elif plan.sut == "ovs":
        with open_vswitch(plan, keeper) as children:
            yield children
    else:
        yield ()


def _accept_redirected(interfaces: tuple[str, ...]) -> None:
    """Let these ends take what an XDP program sends to the others: a veth port does with NAPI; GRO switches that on."""
    for name in interfaces:
        ethtool.switch_on_gro(name)


def wire(plan: LabPlan, keeper: int) -> None:
    """Links between the two namespaces and between forwarders, up at both ends."""
    links.silence()
    if plan.sut == "wire":
        links.loop(plan)
        links.bring_up(plan.tester_interfaces)
        return
    with namespace.inside_network_of(keeper):
        links.silence()
    links.connect(plan, keeper)
    with namespace.inside_network_of(keeper):
        links.connect_inside(plan)
        links.bring_up((*plan.sut_interfaces, *plan.inner_interfaces))
        if plan.sut_takes_xdp:
            _accept_redirected(plan.sut_interfaces)
    links.bring_up(plan.tester_interfaces)
