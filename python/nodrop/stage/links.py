"""The lab's wires: veth pairs between two network namespaces, the kernel bridge, and what the kernel says of them.

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

BRIDGE = "br0"

ADDRESS_GENERATION_NONE = 1
"""IN6_ADDR_GEN_MODE_NONE: no link-local address, hence no router solicitation and no duplicate address detection."""

BRIDGE_AGEING_CENTISECONDS = 24 * 3600 * 100
"""A bridge that forgets an address during a one-way run starts to flood and is not the same SUT any more."""


def silence() -> None:
    """Keep IPv6 off the interfaces to come, where /proc/sys may be written; `connect` sees to the rest."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")


def connect(plan: LabPlan, sut_pid: int) -> None:
    """Make one veth pair per tester port, its far end born in the SUT's namespace; nothing is up yet."""
    with _netlink("veth pairs") as netlink:
        for near, far in zip(plan.tester_interfaces, plan.sut_interfaces, strict=True):
            peer = {"ifname": far, "net_ns_pid": sut_pid, "mtu": plan.mtu_bytes}
            netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer=peer)


def loop(plan: LabPlan) -> None:
    """Make the tester's two ports the ends of one veth pair; nothing is up yet."""
    near, far = plan.tester_interfaces
    with _netlink("a veth pair") as netlink:
        netlink.link("add", ifname=near, kind="veth", mtu=plan.mtu_bytes, peer={"ifname": far, "mtu": plan.mtu_bytes})


def bring_up(names: tuple[str, ...]) -> None:
    """Set interfaces up, without an address of any kind."""
    with _netlink(f"interfaces {', '.join(names)} up") as netlink:
        for name in names:
            _set_up(netlink, name)


def bridge(plan: LabPlan) -> None:
    """Join the SUT's interfaces by a Linux bridge that learns, and says nothing of its own accord."""
    with _netlink("a Linux bridge") as netlink:
        netlink.link(
            "add",
            ifname=BRIDGE,
            kind="bridge",
            mtu=plan.mtu_bytes,
            br_stp_state=0,
            br_forward_delay=0,
            br_mcast_snooping=0,
            br_ageing_time=BRIDGE_AGEING_CENTISECONDS,
        )
        for name in plan.sut_interfaces:
            netlink.link("set", index=_index(netlink, name), master=_index(netlink, BRIDGE))
        _set_up(netlink, BRIDGE)


def read_interfaces(names: tuple[str, ...], namespace: str) -> tuple[InterfaceFacts, ...]:
    """Facts of the named interfaces, in that order."""
    with _netlink("facts of interfaces") as netlink:
        return tuple(_read_interface(netlink, name, namespace) for name in names)


def _read_interface(netlink: Any, name: str, namespace: str) -> InterfaceFacts:
    link = netlink.get_links(_index(netlink, name))[0]
    return InterfaceFacts(
        name=name,
        namespace=namespace,
        driver=ethtool.driver(name),
        mac=link.get("address"),
        mtu_bytes=link.get("mtu"),
        link_speed_bps=ethtool.link_speed_bps(name),
    )


def _set_up(netlink: Any, name: str) -> None:
    index = _index(netlink, name)
    generation = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", ADDRESS_GENERATION_NONE)]}
    with contextlib.suppress(_netlink_error()):  # a kernel without IPv6 has nothing to silence
        netlink.link("set", index=index, IFLA_AF_SPEC={"attrs": [("AF_INET6", generation)]})
    netlink.link("set", index=index, state="up")


def _index(netlink: Any, name: str) -> int:
    return int(netlink.link_lookup(ifname=name)[0])


@contextlib.contextmanager
def _netlink(asked: str) -> Iterator[Any]:
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
