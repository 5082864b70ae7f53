"""A SUT that is already there: nothing is brought up; the tester's ports are interfaces that somebody named.

They are looked for in the network namespace that nodrop runs in. Ports of a TRex server are not looked at: it does.
"""

import os
import socket
from collections.abc import Sequence
from typing import Any, Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage import links
from nodrop.stage.lab_inspection import chain_facts

IFF_UP = 1
"""Source: <linux/if.h>, netdevice(7)."""
LINK_LOCAL_SCOPE = 253
"""RT_SCOPE_LINK, of the addresses that interfaces give themselves (rtnetlink(7))."""


def read_port_macs(names: tuple[str, ...]) -> tuple[str, ...]:
    """The interfaces' own MAC addresses. Raises StageError when one is not there."""
    with links.netlink_for("interfaces of the tester") as netlink:
        return tuple(str(_link(netlink, name).get("address")) for name in names)


class ExternalStage:
    """See `nodrop.stage.base.Stage`."""

    def __init__(self, plan: LabPlan) -> None:
        self._plan = plan
        self._names = plan.tester_interfaces if plan.tester_is_here else ()
        self._facts: StageFacts | None = None

    def __enter__(self) -> Self:
        """Make sure that traffic can be sent there. Raises StageError with what was asked, found and what to do."""
        plan = self._plan
        if self._names:
            with links.netlink_for("interfaces of the tester") as netlink:
                for name in self._names:
                    _check(netlink, name, plan)
        self._facts = StageFacts(
            name="external",
            sut=plan.sut_text,
            privilege="root" if os.geteuid() == 0 else "nobody",
            tester_pid=os.getpid(),
            sut_pid=0,
            sut_shares_tester_cpu=False,
            interfaces=links.read_interfaces(self._names, "tester"),
            chains=tuple(chain_facts(plan)),
        )
        return self

    def __exit__(self, *exc: object) -> None:
        """Leave everything as it is."""

    @property
    def facts(self) -> StageFacts:
        """What is there."""
        if not self._facts:
            raise StageError("facts of the external SUT asked, it was not looked at; enter the stage first")
        return self._facts

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002 - there is nothing to gain by it
        """It stands as it stands."""
        return False

    def check_alive(self) -> None:
        """Raise StageError when a port is gone."""
        for name in self._names:
            try:
                socket.if_nametoindex(name)
            except OSError:
                raise StageError(f"ports: {name} was there when the run began and is gone; bring it back") from None


def _link(netlink: Any, name: str) -> Any:
    try:
        index = socket.if_nametoindex(name)
    except OSError:
        there = ", ".join(sorted(other for _, other in socket.if_nameindex()))
        raise StageError(
            f"ports: {name} asked, no such interface in this network namespace, which has {there}; name one of these, "
            "or run nodrop where it is (ip netns exec)"
        ) from None
    return netlink.get_links(index)[0]


def _check(netlink: Any, name: str, plan: LabPlan) -> None:
    link = _link(netlink, name)
    if not link["flags"] & IFF_UP:
        raise StageError(f"ports: {name} asked, it is down; set it up first: ip link set {name} up")
    if link.get("IFLA_CARRIER") == 0:
        raise StageError(f"ports: {name} asked, nothing is at the other end of its link; plug it in, or name another")
    if link.get("mtu") < plan.mtu_bytes:
        raise StageError(
            f"ports: {name} asked with packets of up to {plan.mtu_bytes} bytes, its MTU is {link.get('mtu')}; send "
            f"smaller frames, or: ip link set {name} mtu {plan.mtu_bytes}"
        )
    if plan.takes_addressed_ports:
        return
    addresses = [
        str(address.get("address"))
        for address in netlink.get_addr(index=link["index"])
        if address["scope"] != LINK_LOCAL_SCOPE
    ]
    if addresses:
        raise _refusal(name, f"it has the IP address {addresses[0]}")
    if any(_leads_by(route, link["index"]) for route in netlink.get_routes(table=254)):
        raise _refusal(name, "a route of this host leads by it")


def _leads_by(route: Any, index: int) -> bool:
    """Those of link-local addresses lead nowhere else."""
    return bool(route.get("oif") == index and not str(route.get("dst") or "").startswith("fe80:"))


def _refusal(name: str, found: str) -> StageError:
    return StageError(
        f"ports: {name} asked, {found}, so somebody may be using it, and test traffic would be in the way; name an "
        "interface that is for tests alone, or write allow_addressed_ports: true (--set allow_addressed_ports=true)"
    )
