"""Neighbors resolved and paths checked through a TRex server's ports: an engine whose frames TRex pushes and captures.

The server is a stand-in of a few sockets that serves these requests only; the engine is the real one.
Source: TRex RPC server specification, service, push_pkts, capture.
"""

import base64
import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from tests.conftest import skip_or_fail
from tests.traffic import plain_stream

from nodrop.errors import GeneratorError, NoPathError
from nodrop.generator.engine_process import EngineProcess
from nodrop.generator.trex import relay
from nodrop.generator.trex.packet_io import capture_filter
from nodrop.model.layer import Ethernet, Ipv4, Udp, Vlan
from nodrop.model.neighbor import NeighborLink, NeighborPlan, Station
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan

NAMES = ("left0", "right0")
NOBODY = NeighborPlan()
Forward = Callable[[int, bytes], list[tuple[int, bytes]]]
"""Forwarding of a frame that a port sends: the ports at which it arrives, and its form there."""


class Server:
    """Ports 4 and 5 of a TRex server on a SUT."""

    def __init__(self, forward: Forward) -> None:
        self.calls: list[str] = []
        self._forward = forward
        self._captured: list[dict[str, Any]] | None = None

    def port(self, number: int) -> "Port":
        """Return an acquired port."""
        return Port(self, number)

    def call(self, method: str, *, command: str, **params: Any) -> Any:
        """Serve `capture`, the only request to the server itself."""
        assert method == "capture"
        if command != "fetch":
            self.calls.append(command)
        if command == "start":
            self._captured = []
            assert params["rx"] == [4, 5]
            return {"capture_id": 7, "start_ts": 0.0}
        assert params["capture_id"] == 7
        if command == "remove":
            self._captured = None
        if command != "fetch":
            return {}
        assert self._captured is not None
        pkts, self._captured = self._captured[: params["pkt_limit"]], self._captured[params["pkt_limit"] :]
        return {"pkts": pkts, "pending": len(self._captured)}

    def send(self, number: int, frame: bytes) -> None:
        """Send a frame of a port through the SUT."""
        for port, arrived in self._forward(number - 4, frame):
            assert self._captured is not None
            self._captured.append(
                {"binary": base64.b64encode(arrived).decode(), "port": port + 4, "origin": "RX", "ts": 0.0}
            )


class Port:
    """A port of the server."""

    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number

    def call(self, method: str, **params: Any) -> Any:
        """Serve `service` and `push_pkts`."""
        if method == "service":
            self._server.calls.append(f"service {params['enabled']} on {self._number}")
            return {}
        assert method == "push_pkts"
        assert len(params["pkts"]) * params["ipg_usec"] <= 1_000_000
        for packet in params["pkts"]:
            assert packet["use_port_src_mac"] is packet["use_port_dst_mac"] is False
            self._server.send(self._number, base64.b64decode(packet["binary"]))
        return {"sent": len(params["pkts"]), "ts": 0.0}


def chains(count: int) -> Traffic:
    """Return both directions of so many chains, by VLAN: 100, 101... on the left, 200, 201... on the right."""

    def stream(chain: int, way: int) -> Any:
        macs = [f"02:00:00:00:{chain:02x}:{end:02x}" for end in (way, 1 - way)]
        layers = (
            Ethernet(src=macs[0], dst=macs[1]),
            Vlan(id=100 * (way + 1) + chain),
            Ipv4(src="198.18.0.1", dst="198.19.0.1"),
            Udp(src_port=1024, dst_port=9),
        )
        rx_vlan = 100 * (2 - way) + chain
        return plain_stream(2 * chain + way, way, 1 - way, chain=chain, layers=layers, rx_vlan=rx_vlan)

    return Traffic(streams=tuple(stream(chain, way) for chain in range(count) for way in (0, 1)))


def forward_across(port: int, frame: bytes, *, shift: int = 0) -> list[tuple[int, bytes]]:
    """Forward to the other side, into the chain's VLAN there."""
    vlan = int.from_bytes(frame[14:16], "big") + (100 if port == 0 else -100) + shift
    return [(1 - port, frame[:14] + vlan.to_bytes(2, "big") + frame[16:])]


def run_check(server: Server, traffic: Traffic) -> Any:
    """Return the report of the check."""
    plan = TrexPlan(ports=(4, 5))
    return relay.check_path(server, plan, traffic, neighbors=NOBODY, names=NAMES, next_hops={})  # type: ignore[arg-type]


def test_every_chain_and_direction_is_proven_by_frames_of_its_own() -> None:
    server = Server(forward_across)
    result = run_check(server, chains(3))
    assert [(one.chain, one.tx_port, one.received_count > 0) for one in result] == [
        (chain, way, True) for chain in range(3) for way in (0, 1)
    ]
    assert {arrival.vlan for arrival in result[2].arrivals} == {201}
    assert server.calls == [
        "service True on 4",
        "service True on 5",
        "start",
        "stop",
        "remove",
        "service False on 4",
        "service False on 5",
    ]


def test_a_dead_direction_is_named_with_its_chain() -> None:
    def forward(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return [] if (port, frame[15]) == (1, 201) else forward_across(port, frame)

    with pytest.raises(
        NoPathError, match=r"chain 1, right to left \(right0 to left0, VLAN 101 there\): .* none arrived"
    ) as no:
        run_check(Server(forward), chains(2))
    assert no.value.chains == (1,)


def test_frames_of_one_chain_do_not_prove_another() -> None:
    def forward(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        shift = 1 if (port, frame[15]) == (0, 100) else 0
        return forward_across(port, frame, shift=shift)

    with pytest.raises(NoPathError, match=r"arrived at right0 in VLAN 201, which is chain 1's \(VLAN 200 expected\)"):
        run_check(Server(forward), chains(2))


def test_next_hops_are_asked_for_and_stations_answer_meanwhile() -> None:
    station = Station(mac="02:00:00:00:00:0a", addresses=("198.18.0.10",), tags=(Vlan(id=100),))
    plan = NeighborPlan(links=(NeighborLink(port=0, chain=0, station=station, next_hop="198.18.0.1"),), timeout_s=2.0)
    router = bytes.fromhex("020000000099")
    sent: list[bytes] = []

    def arp(operation: int, target: bytes) -> bytes:
        header = bytes.fromhex("02000000000a") + router + bytes.fromhex("8100 0064 0806 0001 0800 0604")
        addresses = router + bytes((198, 18, 0, 1)) + bytes.fromhex("02000000000a") + target
        return (header + operation.to_bytes(2, "big") + addresses).ljust(60, b"\0")

    def forward(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        sent.append(frame)
        own = bytes((198, 18, 0, 10))
        asks = frame[16:18] == b"\x08\x06" and frame[24:26] == b"\0\1"
        # The router sends a request of its own before it answers.
        return [(port, arp(1, own)), (port, arp(2, own))] if asks else []

    result = relay.resolve_next_hops(
        Server(forward),  # type: ignore[arg-type]
        TrexPlan(ports=(4, 5)),
        chains(1),
        neighbors=plan,
        names=NAMES,
    )
    assert result[0, 0].mac == "02:00:00:00:00:99"
    assert sent[0][:18].hex() == "ffffffffffff02000000000a810000640806"


def test_a_next_hop_that_keeps_silent_is_named_with_trex_port() -> None:
    station = Station(mac="02:00:00:00:00:0a", addresses=("198.18.0.10",))
    link = NeighborLink(port=1, chain=0, station=station, next_hop="198.18.0.1")
    plan = NeighborPlan(links=(link,), timeout_s=0.2, tries=2)
    with pytest.raises(GeneratorError, match=r"right0: no reply to .* for 198.18.0.1"):
        relay.resolve_next_hops(
            Server(lambda *_: []),  # type: ignore[arg-type]
            TrexPlan(ports=(4, 5)),
            chains(1),
            neighbors=plan,
            names=NAMES,
        )


def test_what_is_captured_is_written_as_libpcap_takes_it() -> None:
    try:
        ctypes.CDLL("libpcap.so.0.8")
    except OSError:
        skip_or_fail("libpcap is not installed: apt install libpcap0.8")
    station = Station(mac="02:00:00:00:00:0a", addresses=("198.18.0.10",))
    text = capture_filter(chains(2), NeighborPlan(links=(NeighborLink(port=0, station=station),)))
    assert text.index("0x806") < text.index("ether[42:4]"), "an ARP frame of 42 bytes ends before the signature"
    engine = EngineProcess(None, lambda: None)
    try:
        assert engine.request({"op": "compile", "filter": text}, 10)["instruction_count"] > 0
    finally:
        engine.end()
