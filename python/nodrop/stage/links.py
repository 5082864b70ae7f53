"""The lab's links: veth pairs between network namespaces.

All functions work in the network namespace of the calling process.
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

LOOPBACK = "lo"
"""Interface by which programs in a namespace reach each other at 127.0.0.1; down in a new namespace."""

Namespaces = Mapping[str, int]
"""A process in each network namespace of a lab, except the tester's."""


def disable_ipv6() -> None:
    """Disable IPv6 on interfaces created later, if /proc/sys is writable; `set_up` covers the rest."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1", encoding="utf-8")


def connect_sut(plan: LabPlan, pids: Namespaces) -> None:
    """Create one veth pair per tester port, with its far end in the SUT's entrance namespace; all stay down."""
    with netlink_for("create veth pairs") as netlink:
        for port, (near, far) in enumerate(zip(plan.tester_interfaces, plan.sut_interfaces, strict=True)):
            _add_pair(netlink, plan, near, {"ifname": far, "net_ns_pid": pids[plan.entrance_namespace(port)]})


def connect_pairs(plan: LabPlan) -> None:
    """Create a veth pair for every two tester ports; all stay down."""
    with netlink_for("create veth pairs") as netlink:
        for near, far in zip(plan.tester_interfaces[::2], plan.tester_interfaces[1::2], strict=True):
            _add_pair(netlink, plan, near, {"ifname": far})


def connect_inside(plan: LabPlan, namespace: str, pids: Namespaces) -> None:
    """Create the links that start in this process's namespace; all stay down."""
    with netlink_for("create veth pairs") as netlink:
        for link in plan.links:
            if link.near.namespace == namespace:
                peer = {"ifname": link.far.interface, "net_ns_pid": pids[link.far.namespace]}
                _add_pair(netlink, plan, link.near.interface, peer)


def _add_pair(netlink: Any, plan: LabPlan, near: str, peer: dict[str, Any]) -> None:
    netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer | {"mtu": plan.mtu_bytes})


def bring_up(names: tuple[str, ...]) -> None:
    """Bring interfaces up without any address."""
    names_text = ", ".join(names[:NAMED_MAX]) + (" and others" if len(names) > NAMED_MAX else "")
    with netlink_for(f"bring interfaces {names_text} up") as netlink:
        for name in names:
            set_up(netlink, name)


def read_interfaces(names: tuple[str, ...], namespace: str) -> tuple[InterfaceFacts, ...]:
    """Return the facts of the named interfaces, in that order."""
    with netlink_for("read interfaces") as netlink:
        links = {link.get("ifname"): link for link in netlink.get_links()}
    return tuple(_build_interface_facts(links[name], name, namespace) for name in names)


def _build_interface_facts(link: Any, name: str, namespace: str) -> InterfaceFacts:
    return InterfaceFacts(
        name=name,
        namespace=namespace,
        driver=ethtool.read_driver_name(name),
        mac=link.get("address"),
        mtu_bytes=link.get("mtu"),
        link_speed_bps=ethtool.link_speed_bps(name),
    )


def set_up(netlink: Any, name: str) -> None:
    """Bring an interface up without an automatic address."""
    index = find_index(name)
    generation = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", ADDRESS_GENERATION_NONE)]}
    # a kernel without IPv6 rejects the attribute and assigns no address either
    with contextlib.suppress(_get_netlink_error()):
        netlink.link("set", index=index, IFLA_AF_SPEC={"attrs": [("AF_INET6", generation)]})
    netlink.link("set", index=index, state="up")


def find_index(name: str) -> int:
    """Return the index of an interface in this network namespace."""
    return socket.if_nametoindex(name)


@contextlib.contextmanager
def netlink_for(action: str) -> Iterator[Any]:
    """Open a netlink socket; the kernel's errors become a StageError that says what could not be done."""
    from pyroute2 import IPRoute

    try:
        with IPRoute() as netlink:
            yield netlink
    except _get_netlink_error() as error:
        raise StageError(
            f"cannot {action}: {error}; load the required modules (`modprobe -a veth bridge`) or run a kernel that "
            "has them"
        ) from error


def _get_netlink_error() -> type[Exception]:
    from pyroute2 import NetlinkError

    error: type[Exception] = NetlinkError
    return error
