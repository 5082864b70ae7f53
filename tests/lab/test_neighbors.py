"""ARP and neighbor discovery: kernel and tester resolve each other without static entries, also during trials."""

import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import get_args

import pytest
from tests.conftest import skip_or_fail
from tests.lab.bench import Fault, bench, changed_lab
from tests.lab.test_suts import internet_checksum
from tests.waiting import stretch

from nodrop.errors import GeneratorError
from nodrop.model.choices import Backend
from nodrop.plan import addressing
from nodrop.stage.dpdk import has_dpdk

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_root")]

LOAD_PPS = 500
"""Low enough for the kernel's queue of an unresolved neighbor to buffer 0.25 s of it."""
FRAME_BYTES = 128

COUNT_ANNOUNCEMENTS = """
import ctypes, select, signal, socket, struct, sys
interface, mac, ended = sys.argv[1], bytes.fromhex(sys.argv[2]), []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
SO_ATTACH_FILTER = 26
# ldh [12]; jeq ARP, accept; jeq IPv6, accept; ret 0; accept: ret -1
filter = ((0x28, 0, 0, 12), (0x15, 2, 0, 0x0806), (0x15, 1, 0, 0x86DD), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in filter))
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(filter), ctypes.addressof(code)))
packets.bind((interface, 0x0003))
print("listening", flush=True)
arp = nd = 0
while select.select([packets], [], [], 0.05)[0] or not ended:
    try:
        frame, (_, _, way, *_) = packets.recvfrom(2048, socket.MSG_DONTWAIT)
    except BlockingIOError:
        continue
    if way == socket.PACKET_OUTGOING or frame[6:12] != mac:
        continue
    arp += frame[12:14] == b"\\x08\\x06" and frame[:6] == b"\\xff" * 6 and frame[28:32] == frame[38:42]
    nd += frame[12:14] == b"\\x86\\xdd" and frame[20] == 58 and frame[54] == 136 and frame[58] == 0x20
print(arp, nd)
"""
"""Counts ARP announcements (RFC 5227) and unsolicited neighbor advertisements that a station sends."""


def mark_dpdk(*backends: str) -> list[object]:
    """Return the back ends as parameters; that of DPDK belongs to the suite of its name, which installs the library."""
    return [pytest.param(each, marks=pytest.mark.dpdk) if each == "dpdk" else each for each in backends]


def require_built_in(backend: str) -> None:
    if backend == "dpdk" and not has_dpdk():
        skip_or_fail("nodrop-engine was built without DPDK (apt-get install pkg-config libdpdk-dev; scripts/install)")


def ip_keys(version: int) -> dict[str, object]:
    return {"traffic.ip": version, "frame_bytes": FRAME_BYTES}


@pytest.mark.parametrize("backend", mark_dpdk("af_packet", "af_xdp", "dpdk"))
@pytest.mark.parametrize("version", [4, 6])
def test_a_router_that_forgets_its_neighbors_in_a_trial_asks_again_and_loses_nothing(
    version: int, backend: str
) -> None:
    require_built_in(backend)
    with bench(**{"sut": "router", "engine.backend": backend, **ip_keys(version)}) as lab:
        entries = lab.run("sut", "ip", f"-{version}", "neigh", "show", "nud", "reachable")
        for port in range(2):
            address, mac = addressing.build_tester_ip(1, port, version), addressing.build_tester_mac(port)
            assert f"{address} dev sut{port} lladdr {mac}" in entries
        assert "PERMANENT" not in lab.run("sut", "ip", "neigh", "show", "nud", "all")
        for port_facts, planned in zip(lab.measurer.ports, lab.plan.lab.forwarders[0].ports, strict=True):
            assert port_facts.next_hop is not None
            assert (port_facts.next_hop.address, port_facts.next_hop.mac) == (
                planned.addresses[version == 6],
                planned.mac,
            )
        flush = ("ip", f"-{version}", "neigh", "flush", "all", "nud", "reachable")
        result = lab.measure_faults(LOAD_PPS, Fault(300, lambda: lab.run("sut", *flush)), end_count=700)
    assert result.offered_count == result.received_count > LOAD_PPS / 4
    assert all(counts.answered_count > 0 for counts in result.neighbors)


@pytest.mark.parametrize("sut", ["bridge", "router"])
def test_announcements_come_at_their_interval_and_count_as_no_test_frame(sut: str) -> None:
    mac = addressing.build_tester_mac(0).replace(":", "")
    with bench(sut=sut, **{"neighbors.announce_every": "0.1s"}) as lab:
        command = lab.inside("sut", sys.executable, "-c", COUNT_ANNOUNCEMENTS, "sut0", mac)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as counting:
            assert counting.stdout
            assert counting.stdout.readline() == "listening\n"
            start_s = time.monotonic()
            announced = 0.0
            while announced < 3:  # a tester that other work keeps off its CPU leaves announcements out
                result = lab.measure(LOAD_PPS, 1.0)
                assert result.offered_count == result.received_count
                announced += result.neighbors[0].announced_count / 2
            counting.terminate()
            arp, nd = map(int, counting.stdout.read().split())
    assert announced <= min(arp, nd)
    assert max(arp, nd) <= (time.monotonic() - start_s) / 0.1 + 2


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(("backend", "tags"), [("af_packet", (100,)), ("af_xdp", (100,)), ("af_packet", (7, 100))])
def test_the_tester_is_found_in_its_vlan_and_nowhere_else(
    version: int, backend: str, tags: tuple[int, ...], require_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    tcpdump, tshark, capture = require_tool("tcpdump"), require_tool("tshark"), tmp_path / "replies.pcap"
    keys = {"sut": "bridge", "engine.backend": backend, "traffic.vlan": tags[-1], **ip_keys(version)}
    keys |= {"traffic.qinq": tags[0]} if len(tags) > 1 else {}
    with bench(**keys, **{"neighbors.resolve": True}) as lab:
        macs = [port.next_hop.mac for port in lab.measurer.ports if port.next_hop]
        assert macs == [addressing.build_tester_mac(1), addressing.build_tester_mac(0)]
        options = ("-i", "sut0", "-Q", "in", "--immediate-mode", "-s", "0", "-Z", "root", "-w", capture)
        with subprocess.Popen(lab.inside("sut", tcpdump, *options), stderr=subprocess.PIPE, text=True) as capturing:
            assert capturing.stderr
            assert "listening" in capturing.stderr.readline()
            for request_tags in (tags, (*tags[:-1], 101), tags[1:] and (8, 100)):
                lab.run("sut", sys.executable, "-c", SEND, "sut0", neighbor_request(version, request_tags).hex())
            time.sleep(0.5)
            capturing.terminate()
            capturing.wait(stretch(10))
    fields = (
        "ieee8021ad.id",
        "vlan.id",
        "arp.src.hw_mac",
        "arp.src.proto_ipv4",
        "icmpv6.nd.na.target_address",
        "icmpv6.opt.linkaddr",
    )
    columns = [word for field in (*fields, "icmpv6.checksum.status") for word in ("-e", field)]
    command = [tshark, "-n", "-r", capture, "-Y", "arp.opcode == 2 or icmpv6.type == 136", "-T", "fields", *columns]
    replies = subprocess.run(
        command, capture_output=True, text=True, timeout=stretch(60), check=True
    ).stdout.splitlines()
    mac, address = addressing.build_tester_mac(0), addressing.build_tester_ip(1, 0, version)
    inner = [mac, address, "", "", ""] if version == 4 else ["", "", address, mac, "1"]
    assert [line.split("\t") for line in replies] == [["", *map(str, tags)][-2:] + inner]


SEND = """
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packets.bind((sys.argv[1], 0))
packets.send(bytes.fromhex(sys.argv[2]))
"""


def neighbor_request(version: int, tags: tuple[int, ...]) -> bytes:
    """Return a request for the address of the tester's first station, in these VLANs or untagged, a separate link."""
    kinds = (0x88A8, 0x8100)[-len(tags) :] if tags else ()
    shim = b"".join(kind.to_bytes(2) + tag.to_bytes(2) for kind, tag in zip(kinds, tags, strict=True))
    sender, target = bytes.fromhex("020000000099"), ip_address(addressing.build_tester_ip(1, 0, version)).packed
    if version == 4:
        arp = bytes.fromhex("0001080006040001") + sender + ip_address("198.18.9.9").packed + bytes(6) + target
        return b"\xff" * 6 + sender + shim + b"\x08\x06" + arp + bytes(18)
    group = bytes.fromhex("ff0200000000000000000001ff") + target[-3:]
    addresses = ip_address("2001:2::99").packed + group
    message = bytes.fromhex("8700000000000000") + target + bytes.fromhex("0101") + sender
    sum_ = internet_checksum(addresses + (32).to_bytes(4) + (58).to_bytes(4) + message)
    message = message[:2] + sum_.to_bytes(2) + message[4:]
    packet = bytes.fromhex("6000000000203aff") + addresses + message
    return b"\x33\x33\xff" + target[-3:] + sender + shim + b"\x86\xdd" + packet


@pytest.mark.parametrize("version", [4, 6])
def test_a_next_hop_that_keeps_silent_ends_the_run_with_its_name(version: int) -> None:
    keys = {"sut": "router", "neighbors.timeout": "100ms", "neighbors.tries": 2, **ip_keys(version)}
    address = addressing.build_sut_ips(1, 0)[version == 6]
    message = f"tester0: no reply to 2 requests for {address} by .* in 0.2 s"
    with changed_lab(keys, "ip addr flush dev sut0") as lab, pytest.raises(GeneratorError, match=message):
        lab.measurer.__enter__()
    assert GeneratorError.exit_code == 4


@pytest.mark.parametrize("backend", mark_dpdk(*get_args(Backend)))
def test_a_router_with_a_mac_address_nobody_planned_is_found(backend: str) -> None:
    require_built_in(backend)
    mac = "02:00:00:00:00:77"
    keys: dict[str, object] = {"sut": "router", "engine.backend": backend}
    with changed_lab(keys, f"ip link set sut0 address {mac}") as lab, lab.measurer as measurer:
        near, far = (port.next_hop for port in measurer.ports)
        assert near and far
        assert (near.mac, far.mac) == (mac, addressing.build_sut_mac(1))
        measurer.check_path()
        result = lab.measure(LOAD_PPS, 0.5)
    # No frame would pass to another address. A busy machine may lose some while the router resolves the tester's.
    assert result.received_count > result.offered_count / 2 > 0
