"""Address resolution and path checks over TRex's protocol, with the kernel as a router."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.traffic import plain_stream
from tests.waiting import await_true, stretch

from nodrop.errors import GeneratorError
from nodrop.generator.trex.measurer import TrexMeasurer
from nodrop.generator.trex.rpc import connection_error
from nodrop.model.layer import Ethernet, Udp, make_ip_layer
from nodrop.model.neighbor import NeighborLink, NeighborPlan, Station
from nodrop.model.traffic import SizeShare, Traffic
from nodrop.model.trex import TrexPlan

pytestmark = [pytest.mark.trex, pytest.mark.lab, pytest.mark.usefixtures("require_privilege", "require_root")]

MACS = ("02:00:00:00:00:0a", "02:00:00:00:00:0b")
TESTER = {4: ("198.18.0.10", "198.19.0.10"), 6: ("2001:2::10", "2001:2:1::10")}
ROUTER = {4: ("198.18.0.1", "198.19.0.1"), 6: ("2001:2::1", "2001:2:1::1")}
CREATE_ROUTER = """
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.default.rp_filter=0
ip link add left type veth peer name router0 && ip link add right type veth peer name router1
for each in left right router0 router1; do ip link set $each up || exit; done
ip addr add 198.18.0.1/24 dev router0 && ip addr add 198.19.0.1/24 dev router1
ip addr add 2001:2::1/64 dev router0 nodad && ip addr add 2001:2:1::1/64 dev router1 nodad
"""


@pytest.fixture(scope="module")
def namespace() -> Iterator[int]:
    """Yield the id of a process in a network namespace in which the kernel routes from `left` to `right`."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    try:
        time.sleep(0.2)
        inside = ["nsenter", "--target", str(holder.pid), "--net", "sh", "-ec", CREATE_ROUTER]
        subprocess.run(inside, check=True, timeout=stretch(30))
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


@pytest.fixture(scope="module")
def plan(namespace: int) -> Iterator[TrexPlan]:
    """Start a server on the ports `left` and `right`; yield the plan that uses it."""
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        rpc_port, publish_port = one.getsockname()[1], other.getsockname()[1]
    ports = ["--rpc-port", str(rpc_port), "--publish-port", str(publish_port)]
    command = [sys.executable, "-m", "tests.trex.server", "--interfaces", "left,right", "--netns-pid", str(namespace)]
    server = subprocess.Popen([*command, *ports])
    try:
        await_true(lambda: connection_error("127.0.0.1", rpc_port, 1.0) is None, "the server listens")
        yield TrexPlan(rpc_port=rpc_port, publish_port=publish_port)
    finally:
        server.terminate()
        server.wait(stretch(10))


def measurer(plan: TrexPlan, version: int, next_hops: tuple[str, ...]) -> TrexMeasurer:
    """Return a measurer for both directions through the router, whose MAC addresses it must resolve."""
    own = TESTER[version]
    streams = tuple(
        plain_stream(
            way,
            way,
            1 - way,
            layers=(
                Ethernet(src=MACS[way], dst="02:00:00:00:00:ff"),
                make_ip_layer(own[way], own[1 - way]),
                Udp(src_port=1024, dst_port=9),
            ),
            sizes=(SizeShare(frame_bytes=128),),
        )
        for way in (0, 1)
    )
    links = tuple(
        NeighborLink(port=port, station=Station(mac=MACS[port], addresses=(own[port],)), next_hop=next_hops[port])
        for port in (0, 1)
    )
    neighbors = NeighborPlan(links=links, timeout_s=1.0, tries=3)
    return TrexMeasurer(
        plan, Traffic(streams=streams), neighbors, check_alive=lambda: None, interfaces=("left", "right")
    )


@pytest.mark.parametrize("version", [4, 6])
def test_a_router_is_asked_for_asks_back_and_forwards(plan: TrexPlan, version: int) -> None:
    with measurer(plan, version, ROUTER[version]) as measuring:
        macs = {port.next_hop.mac for port in measuring.ports if port.next_hop}
        assert len(macs) == 2
        for check in measuring.check_path():
            assert check.received_count > 0
            assert {(seen.dst, seen.src in macs) for seen in check.arrivals} == {(MACS[check.rx_port], True)}


def test_a_router_that_is_not_there_is_named(plan: TrexPlan) -> None:
    with pytest.raises(GeneratorError, match=r"right: no reply to .* for 198\.19\.0\.77 by ARP"):
        measurer(plan, 4, ("198.18.0.1", "198.19.0.77")).__enter__()
