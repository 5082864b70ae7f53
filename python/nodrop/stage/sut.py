"""What is put between the ports: each kind of SUT, installed in its namespace, and what joins it to the tester."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.choices import SutKind
from nodrop.model.lab_plan import LabPlan
from nodrop.stage import kernel, links, namespace
from nodrop.stage.antagonist import antagonists
from nodrop.stage.links import Namespaces
from nodrop.stage.ovs import open_vswitch
from nodrop.stage.sut_process import Child
from nodrop.stage.vnf import FORWARDERS, edges, started, vnfs
from nodrop.system import ethtool

IN_THE_KERNEL: dict[SutKind, Callable[[LabPlan], None]] = {"bridge": kernel.bridges, "router": kernel.router}
ON_THE_SENDERS_CPU: frozenset[SutKind] = frozenset({"bridge", "router", "xdp"})
"""What the kernel forwards on a veth path, it forwards on the CPU that sends."""


class Installed(NamedTuple):
    """What runs in a lab."""

    processes: tuple[Child, ...]
    """Of the SUT, VNFs first."""
    antagonists: tuple[Child, ...]


@contextlib.contextmanager
def installed(plan: LabPlan, pids: Namespaces) -> Iterator[Installed]:
    """The SUT in its network namespaces, whose links stand and are up, with what disturbs it.

    Raises: StageError with what was asked, found and what to do.
    """
    for router in plan.routers:
        with namespace.inside_network_of(pids[router.namespace]):
            kernel.route_between(itertools.chain.from_iterable(router.ports))
    if plan.sut in IN_THE_KERNEL:
        with namespace.inside_network_of(pids["sut"]):
            IN_THE_KERNEL[plan.sut](plan)
    with contextlib.ExitStack() as stack:
        wanted = [*vnfs(plan, pids["sut"])] if plan.sut in FORWARDERS else []
        children = stack.enter_context(started([*wanted, *edges(plan, pids["sut"])], plan))
        if plan.sut_softirq_core is not None:
            receive_on(plan.sut_softirq_core, plan.sut_interfaces, pids["sut"])
        switches = stack.enter_context(open_vswitch(plan, pids["sut"])) if plan.sut == "ovs" else ()
        noisy = stack.enter_context(antagonists(plan.antagonists))
        yield Installed((*children, *switches), noisy)


def wire(plan: LabPlan, pids: Namespaces) -> None:
    """Links between all namespaces and between forwarders, up at both ends."""
    links.silence()
    if plan.sut == "wire":
        links.loop(plan)
        links.bring_up(plan.tester_interfaces)
        return
    inside = namespace.inside_network_of
    for place in plan.namespaces:
        with inside(pids[place]):
            links.silence()
    links.connect(plan, pids)
    for place in plan.namespaces:
        with inside(pids[place]):
            links.connect_inside(plan, place, pids)
    for place in plan.namespaces:
        with inside(pids[place]):
            links.bring_up(plan.interfaces(place))
    links.bring_up(plan.tester_interfaces)
    _prepare_for_xdp(plan, pids["sut"])


def _prepare_for_xdp(plan: LabPlan, sut_pid: int) -> None:
    """Let ends of links take what an XDP program sends to the others: a veth port does with NAPI, which GRO brings."""
    with namespace.inside_network_of(sut_pid):
        if plan.sut_takes_xdp:
            _switch_on_gro(plan.sut_interfaces)
        if plan.sut == "xdp":
            _switch_on_gro(port.interface for edge in plan.edges for port in edge.ports)
    if plan.sut == "xdp":
        _switch_on_gro(plan.tester_interfaces)


def _switch_on_gro(interfaces: Iterator[str] | tuple[str, ...]) -> None:
    for name in interfaces:
        ethtool.enable_gro(name)


MASK_BITS = 32


def receive_on(core: int, interfaces: Sequence[str], sut_pid: int) -> None:
    """Have the kernel receive what comes in by these interfaces of the SUT on one CPU. Raises StageError.

    sysfs shows the interfaces of the namespace it was mounted in, so a child with mounts of its own writes it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        _write(core, interfaces, sut_pid, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(pid, 0)
    if said:
        raise StageError(
            f"vnf.softirq_core: {core} asked, {said}; leave it out, or run as root, on a kernel with CONFIG_RPS"
        )


def _write(core: int, interfaces: Sequence[str], sut_pid: int, writer: int) -> None:
    try:
        namespace.set_network_of(sut_pid)
        namespace.unshare_mounts()
        namespace.mount_sysfs("/sys")
        for interface in interfaces:
            for queue in Path("/sys/class/net", interface, "queues").glob("rx-*"):
                (queue / "rps_cpus").write_text(_mask(core))
    except OSError as error:
        os.write(writer, f"{error.filename or 'sysfs'}: {error.strerror}".encode())
    finally:
        os._exit(0)


def _mask(core: int) -> str:
    """One CPU as the kernel reads it: hexadecimal, 32 to a group."""
    groups = core // MASK_BITS
    return ",".join([f"{1 << core % MASK_BITS:x}", *["0" * (MASK_BITS // 4)] * groups])
