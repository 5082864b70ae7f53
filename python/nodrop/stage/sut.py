"""Installation of each kind of SUT in its namespaces, and its links to the tester."""

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
from nodrop.stage.antagonist import running_antagonists
from nodrop.stage.links import Namespaces
from nodrop.stage.ovs import open_vswitch
from nodrop.stage.sut_process import SutChild
from nodrop.stage.vnf import FORWARDERS, build_edge_commands, build_vnf_commands, start_all
from nodrop.system import ethtool

KERNEL_SUTS: dict[SutKind, Callable[[LabPlan], None]] = {
    "bridge": kernel.create_bridges,
    "router": kernel.configure_router,
}
ON_SENDER_CPU: frozenset[SutKind] = frozenset({"bridge", "router", "xdp"})
"""SUTs that forward on the CPU of the sender: on a veth path the kernel forwards within the sending call."""


class InstalledSut(NamedTuple):
    """The processes of an installed SUT."""

    processes: tuple[SutChild, ...]
    """Processes of the SUT, VNFs first."""
    antagonists: tuple[SutChild, ...]


@contextlib.contextmanager
def install_sut(plan: LabPlan, pids: Namespaces) -> Iterator[InstalledSut]:
    """Install the SUT in its network namespaces, whose links are up, and start the antagonists.

    Raises: StageError with the problem and its fix.
    """
    for router in plan.routers:
        with namespace.inside_network_of(pids[router.namespace]):
            kernel.enable_routing(itertools.chain.from_iterable(router.ports))
    if plan.sut in KERNEL_SUTS:
        with namespace.inside_network_of(pids["sut"]):
            KERNEL_SUTS[plan.sut](plan)
    with contextlib.ExitStack() as stack:
        commands = [*build_vnf_commands(plan, pids["sut"])] if plan.sut in FORWARDERS else []
        children = stack.enter_context(start_all([*commands, *build_edge_commands(plan, pids["sut"])], plan))
        if plan.sut_softirq_core is not None:
            steer_receiving(plan.sut_softirq_core, plan.sut_interfaces, pids["sut"])
        switches = stack.enter_context(open_vswitch(plan, pids["sut"])) if plan.sut == "ovs" else ()
        noisy = stack.enter_context(running_antagonists(plan.antagonists))
        yield InstalledSut((*children, *switches), noisy)


def wire_links(plan: LabPlan, pids: Namespaces) -> None:
    """Create all links between namespaces and between forwarders, and bring both ends up."""
    links.disable_ipv6()
    if plan.sut == "wire":
        links.connect_pairs(plan)
        links.bring_up((links.LOOPBACK, *plan.tester_interfaces))
        return
    inside = namespace.inside_network_of
    for place in plan.namespaces:
        with inside(pids[place]):
            links.disable_ipv6()
    links.connect_sut(plan, pids)
    for place in plan.namespaces:
        with inside(pids[place]):
            links.connect_inside(plan, place, pids)
    for place in plan.namespaces:
        with inside(pids[place]):
            links.bring_up(plan.interfaces(place))
    links.bring_up((links.LOOPBACK, *plan.tester_interfaces))
    _enable_xdp_redirect(plan, pids["sut"])


def _enable_xdp_redirect(plan: LabPlan, sut_pid: int) -> None:
    """Let veth ports accept frames that an XDP program redirects to their peers: that needs NAPI, which GRO enables."""
    with namespace.inside_network_of(sut_pid):
        if plan.sut_takes_xdp:
            _enable_gro(plan.sut_interfaces)
        if plan.sut == "xdp":
            _enable_gro(port.interface for edge in plan.edges for port in edge.ports)
    if plan.sut == "xdp":
        _enable_gro(plan.tester_interfaces)


def _enable_gro(interfaces: Iterator[str] | tuple[str, ...]) -> None:
    for name in interfaces:
        ethtool.enable_gro(name)


MASK_BITS = 32


def steer_receiving(core: int, interfaces: Sequence[str], sut_pid: int) -> None:
    """Have the kernel receive frames of these SUT interfaces on one CPU (receive packet steering). Raises StageError.

    sysfs shows the network namespace that it was mounted in, so a child in its own mount namespace writes the masks.

    Source: Linux, Documentation/networking/scaling.rst.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        _write_rps_mask(core, interfaces, sut_pid, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        message = answer.read().decode()
    os.waitpid(pid, 0)
    if message:
        raise StageError(
            f"vnf.softirq_core: cannot steer receiving to CPU {core} ({message}); omit the key, or run as root on a "
            "kernel with CONFIG_RPS"
        )


def _write_rps_mask(core: int, interfaces: Sequence[str], sut_pid: int, writer: int) -> None:
    try:
        namespace.set_network_of(sut_pid)
        namespace.unshare_mounts()
        namespace.mount_sysfs("/sys")
        for interface in interfaces:
            for queue in Path("/sys/class/net", interface, "queues").glob("rx-*"):
                (queue / "rps_cpus").write_text(_format_mask(core))
    except OSError as error:
        os.write(writer, f"{error.filename or 'sysfs'}: {error.strerror}".encode())
    finally:
        os._exit(0)


def _format_mask(core: int) -> str:
    """Return the mask of one CPU as the kernel reads it: hexadecimal, 32 bits per group."""
    groups = core // MASK_BITS
    return ",".join([f"{1 << core % MASK_BITS:x}", *["0" * (MASK_BITS // 4)] * groups])
