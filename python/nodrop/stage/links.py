"""The lab's wires: veth pairs between two network namespaces, and what the kernel says of them.

Every function works in the network namespace the calling process is in.
"""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nodrop.errors import StageError
from nodrop.model.facts import InterfaceFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.system import ethtool

ADDRESS_GENERATION_NONE = 1
"""IN6_ADDR_GEN_MODE_NONE: no link-local address, hence no router solicitation and no duplicate address detection."""
NAMED_MAX = 4
"""Interfaces named in an error message."""

Namespaces = Mapping[str, int]
"""A process in every network namespace of a lab but the tester's."""


def disable_ipv6() -> None:
    """Keep IPv6 off the interfaces to come, where /proc/sys may be written; `connect` sees to the rest."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")


def connect_sut(plan: LabPlan, pids: Namespaces) -> None:
    """Make one veth pair per tester port, its far end born where the SUT begins; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for port, (near, far) in enumerate(zip(plan.tester_interfaces, plan.sut_interfaces, strict=True)):
            peer = {"ifname": far, "net_ns_pid": pids[plan.entrance_namespace(port)], "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def connect_pairs(plan: LabPlan) -> None:
    """Make the tester's ports, two by two, the ends of veth pairs; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for near, far in zip(plan.tester_interfaces[::2], plan.tester_interfaces[1::2], strict=True):
            peer = {"ifname": far, "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def connect_inside(plan: LabPlan, namespace: str, pids: Namespaces) -> None:
    """Make the links that begin in this namespace, where the process is; nothing is up yet."""
    with netlink_for("veth pairs") as netlink:
        for link in plan.links:
            if link.near.namespace == namespace:
                peer = {
                    "ifname": link.far.interface,
                    "net_ns_pid": pids[link.far.namespace],
                    "mtu": plan.mtu_bytes,
                }
                netlink.link("add", ifname=link.near.interface, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def bring_up(names: tuple[str, ...]) -> None:
    """Set interfaces up, without an address of any kind."""
    names_text = ", ".join(names[:NAMED_MAX]) + (" and others" if len(names) > NAMED_MAX else "")
    with netlink_for(f"interfaces {names_text} up") as netlink:
        for name in names:
            set_up(netlink, name)


def read_interfaces(names: tuple[str, ...], namespace: str) -> tuple[InterfaceFacts, ...]:
    """Facts of the named interfaces, in that order."""
    with netlink_for("facts of interfaces") as netlink:
        found = {link.get("ifname"): link for link in netlink.get_links()}
    return tuple(_interface_facts(found[name], name, namespace) for name in names)


def _interface_facts(link: Any, name: str, namespace: str) -> InterfaceFacts:
    return InterfaceFacts(
        name=name,
        namespace=namespace,
        driver=ethtool.driver_name(name),
        mac=link.get("address"),
        mtu_bytes=link.get("mtu"),
        link_speed_bps=ethtool.link_speed_bps(name),
    )


def set_up(netlink: Any, name: str) -> None:
    """Set an interface up that gives itself no address."""
    index = index_of(name)
    generation = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", ADDRESS_GENERATION_NONE)]}
    with contextlib.suppress(_netlink_error()):  # a kernel without IPv6 has nothing to silence
        netlink.link("set", index=index, IFLA_AF_SPEC={"attrs": [("AF_INET6", generation)]})
    netlink.link("set", index=index, state="up")


def index_of(name: str) -> int:
    """The interface's index in this network namespace."""
    return socket.if_nametoindex(name)


@contextlib.contextmanager
def netlink_for(asked: str) -> Iterator[Any]:
    """A netlink socket; what the kernel refuses becomes a StageError that says what was asked."""
    from pyroute2 import IPRoute

    try:
        with IPRoute() as netlink:
            yield netlink
    except _netlink_error() as error:
        raise StageError(
            f"{asked} asked, the kernel says: {error}; load the modules it needs (`modprobe -a veth bridge`) "
            "or run a kernel that has them"
        ) from error


def _netlink_error() -> type[Exception]:
    from pyroute2 import NetlinkError

    error: type[Exception] = NetlinkError
    return error
