"""The lab's wires: veth pairs between two network namespaces, and what the kernel says of them.

Every function works in the network namespace the calling process is in.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodrop.errors import StageError
from nodrop.model.facts import InterfaceFacts
from nodrop.model.plan import LabPlan
from nodrop.stage import ethtool

ADDRESS_GENERATION_NONE = 1
"""IN6_ADDR_GEN_MODE_NONE: no link-local address, hence no router solicitation and no duplicate address detection."""


def silence() -> None:
    """Keep IPv6 off the interfaces to come, where /proc/sys may be written; `connect` sees to the rest."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")


def connect(plan: LabPlan, sut_pid: int) -> None:
    """Make one veth pair per tester port, its far end born in the SUT's namespace; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for near, far in zip(plan.tester_interfaces, plan.sut_interfaces, strict=True):
            peer = {"ifname": far, "net_ns_pid": sut_pid, "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def loop(plan: LabPlan) -> None:
    """Make the tester's ports, two by two, the ends of veth pairs; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for near, far in zip(plan.tester_interfaces[::2], plan.tester_interfaces[1::2], strict=True):
            peer = {"ifname": far, "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def connect_inside(plan: LabPlan) -> None:
    """Make the links between forwarders; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for near, far in plan.inner_links:
            peer = {"ifname": far, "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def bring_up(names: tuple[str, ...]) -> None:
    """Set interfaces up, without an address of any kind."""
    with netlink_for(f"interfaces {', '.join(names)} up") as netlink:
        for name in names:
            set_up(netlink, name)


def read_interfaces(names: tuple[str, ...], namespace: str) -> tuple[InterfaceFacts, ...]:
    """Facts of the named interfaces, in that order."""
    with netlink_for("facts of interfaces") as netlink:
        return tuple(_read_interface(netlink, name, namespace) for name in names)


def _read_interface(netlink: Any, name: str, namespace: str) -> InterfaceFacts:
    link = netlink.get_links(index_of(netlink, name))[0]
    return InterfaceFacts(
        name=name,
        namespace=namespace,
        driver=ethtool.driver(name),
        mac=link.get("address"),
        mtu_bytes=link.get("mtu"),
        link_speed_bps=ethtool.link_speed_bps(name),
    )


def set_up(netlink: Any, name: str) -> None:
    """Set an interface up that gives itself no address."""
    index = index_of(netlink, name)
    generation = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", ADDRESS_GENERATION_NONE)]}
    with contextlib.suppress(_netlink_error()):  # a kernel without IPv6 has nothing to silence
        netlink.link("set", index=index, IFLA_AF_SPEC={"attrs": [("AF_INET6", generation)]})
    netlink.link("set", index=index, state="up")


def index_of(netlink: Any, name: str) -> int:
    """The interface's index in this network namespace."""
    return int(netlink.link_lookup(ifname=name)[0])


@contextlib.contextmanager
def netlink_for(asked: str) -> Iterator[Any]:
    """A netlink socket; what the kernel refuses becomes a StageError that says what was asked."""
    from pyroute2 import IPRoute  # noqa: PLC0415  costs 150 ms, so only who wires a lab pays for it

    try:
        with IPRoute() as netlink:
            yield netlink
    except _netlink_error() as error:
        raise StageError(
            f"{asked} asked, the kernel says: {error}; load the modules it needs (`modprobe -a veth bridge`) "
            "or run a kernel that has them"
        ) from error


def _netlink_error() -> type[Exception]:
    from pyroute2 import NetlinkError  # noqa: PLC0415

    error: type[Exception] = NetlinkError
    return error
