"""The stage of an external SUT: it checks the tester's interfaces and changes nothing.

The interfaces are in nodrop's own network namespace. The ports of a TRex server are checked by the server.
"""

import os
import socket
from typing import Any, Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage import links
from nodrop.stage.base import FixedChains
from nodrop.stage.lab_inspection import read_chain_facts
from nodrop.stage.process_identity import ProcessIdentity, identify_process, is_running
from nodrop.stage.sut_processes import find_sut_processes

IFF_UP = 1
"""Source: <linux/if.h>, netdevice(7)."""
LINK_LOCAL_SCOPE = 253
"""RT_SCOPE_LINK, the scope of automatic link-local addresses (rtnetlink(7))."""


def read_port_macs(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the MAC addresses of interfaces. Raises StageError if one does not exist."""
    with links.netlink_for("read the tester's interfaces") as netlink:
        return tuple(str(_find_link(netlink, name).get("address")) for name in names)


class ExternalStage(FixedChains):
    """See `nodrop.stage.base.Stage`."""

    def __init__(self, plan: LabPlan) -> None:
        self._plan = plan
        self._names = plan.tester_interfaces if plan.tester_is_here else ()
        self._facts: StageFacts | None = None
        self._sut: tuple[ProcessIdentity, ...] = ()

    def __enter__(self) -> Self:
        """Check that the tester's interfaces can send. Raises StageError with the problem and its fix."""
        plan = self._plan
        if self._names:
            with links.netlink_for("read the tester's interfaces") as netlink:
                for name in self._names:
                    _check(netlink, name, plan)
        processes = find_sut_processes(plan)
        self._sut = tuple(map(identify_process, plan.sut_pids))
        self._facts = StageFacts(
            name="external",
            sut=plan.sut_text,
            privilege="root" if os.geteuid() == 0 else "nobody",
            tester_pid=os.getpid(),
            sut_pid=0,
            sut_processes=processes,
            sut_shares_tester_cpu=False,
            interfaces=links.read_interfaces(self._names, "tester"),
            chains=tuple(read_chain_facts(plan)),
        )
        return self

    def __exit__(self, *exc: object) -> None:
        """Change nothing."""

    @property
    def facts(self) -> StageFacts:
        """Facts of the interfaces."""
        if not self._facts:
            raise StageError("the external SUT has no facts before its stage is entered; enter the stage first")
        return self._facts

    def check_alive(self) -> None:
        """Raise StageError if an interface no longer exists, or a process that the plan names."""
        for name in self._names:
            try:
                socket.if_nametoindex(name)
            except OSError:
                raise StageError(f"ports: {name} disappeared during the run; restore it") from None
        for process in self._sut:
            if not is_running(process):
                raise StageError(
                    f"sut_pids: process {process.pid} of the SUT ended during the run; see its log, and start it again"
                )


def _find_link(netlink: Any, name: str) -> Any:
    try:
        index = socket.if_nametoindex(name)
    except OSError:
        interfaces = ", ".join(sorted(other for _, other in socket.if_nameindex()))
        raise StageError(
            f"ports: {name} does not exist in this network namespace (interfaces: {interfaces}); name one of these, "
            "or run nodrop in its namespace (ip netns exec)"
        ) from None
    return netlink.get_links(index)[0]


def _check(netlink: Any, name: str, plan: LabPlan) -> None:
    link = _find_link(netlink, name)
    if not link["flags"] & IFF_UP:
        raise StageError(f"ports: {name} is down; bring it up: ip link set {name} up")
    if link.get("IFLA_CARRIER") == 0:
        raise StageError(f"ports: {name} has no link; connect its other end, or name another interface")
    if link.get("mtu") < plan.mtu_bytes:
        raise StageError(
            f"ports: the MTU of {name} is too small for packets of {plan.mtu_bytes} bytes ({link.get('mtu')}); send "
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
        raise _build_refusal(name, f"has the IP address {addresses[0]}")
    if any(_leads_by(route, link["index"]) for route in netlink.get_routes(table=254)):
        raise _build_refusal(name, "carries a route of this host")


def _leads_by(route: Any, index: int) -> bool:
    """Return whether a route uses an interface; routes to link-local addresses do not count."""
    return bool(route.get("oif") == index and not str(route.get("dst") or "").startswith("fe80:"))


def _build_refusal(name: str, reason: str) -> StageError:
    return StageError(
        f"ports: {name} {reason}, so other traffic may use it; name an interface that is for tests only, or set "
        "allow_addressed_ports: true (--set allow_addressed_ports=true)"
    )
